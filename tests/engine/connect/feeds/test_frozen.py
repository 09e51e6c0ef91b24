"""Servers that are frozen: they keep their connections, and say nothing."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import nats
import psycopg
import pytest
import redis
from paho.mqtt import publish as mqtt

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import reading, until, values
from whimbrel.connect.feeds import mqtt as mqtt_feed
from whimbrel.connect.feeds import websocket
from whimbrel.connect.feeds.runtime import buffered_reader

QUICK: Any = {"time": "at", "schema": {"at": "int64"}, "retry_backoff_s": (0.02, 0.1), "idle_timeout": 1.0}

TALK = """
import sys
from itertools import count
from websockets.sync.server import serve
numbers = count(1)
def talk(link):
    link.send('{"at": %d}' % next(numbers))
    link.recv()
serve(talk, "127.0.0.1", int(sys.argv[1])).serve_forever()
"""


def feed_of(kind: str, port: int) -> wb.Stream:
    url = f"postgresql://test@127.0.0.1:{port}/postgres" if "postgres" in kind else f"{kind}://127.0.0.1:{port}"
    if "postgres" in kind:
        until(lambda: servers.accepts(url))
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE t (at bigint PRIMARY KEY)")
    own: dict[str, Any] = {
        "postgres": {"cursor": "at"}, "postgres_cdc": {"metadata_columns": []}, "mqtt": {"session": "me"}}
    made: wb.Stream = getattr(wb.feeds, kind)("t", url, **QUICK, **own.get(kind, {}))
    return made


def send(kind: str, port: int, at: int) -> None:
    row = b'{"at": %d}' % at
    if kind == "redis":
        with redis.Redis(port=port) as connection:
            connection.xadd("t", {"at": at})
    elif kind == "mqtt":
        mqtt.single("t", row, 1, hostname="127.0.0.1", port=port)
    elif kind == "nats":
        asyncio.run(on_nats(port, row))
    else:
        with psycopg.connect(f"postgresql://test@127.0.0.1:{port}/postgres") as database:
            database.execute("INSERT INTO t VALUES (%s)", (at,))


async def on_nats(port: int, *rows: bytes) -> None:
    connection = await nats.connect(f"nats://127.0.0.1:{port}")
    log = connection.jetstream()
    await log.add_stream(name="rows", subjects=["t"])
    for row in rows:
        await log.publish("t", row)
    await connection.close()


@pytest.mark.share(3)
@pytest.mark.fault("redis", "server frozen")
@pytest.mark.fault("mqtt", "server frozen")
@pytest.mark.fault("nats", "server frozen")
@pytest.mark.fault("postgres", "server frozen")
@pytest.mark.fault("postgres_cdc", "server frozen")
@pytest.mark.parametrize("kind", [
    pytest.param("redis", marks=pytest.mark.redis), pytest.param("mqtt", marks=pytest.mark.mosquitto),
    pytest.param("nats", marks=pytest.mark.nats), pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("postgres_cdc", marks=pytest.mark.postgres)])
def test_a_feed_whose_server_says_nothing_is_not_live(kind: str, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffered_reader, "_ANSWER_S", 0.3)
    monkeypatch.setattr(mqtt_feed, "_KEEPALIVE_S", 1)
    program = {"mqtt": servers.mosquitto, "postgres_cdc": servers.postgres}.get(kind) or getattr(servers, kind)
    with servers.running(program(tmp_path / kind)) as server:
        if kind == "nats":  # its stream is there before it is read
            asyncio.run(on_nats(server.port))
        with reading(feed_of(kind, server.port)) as found:
            next(found)
            until(lambda: found.state.connection == "live")
            send(kind, server.port, 1)
            assert values(found, 1, "at") == [1]
            with server.frozen():
                until(lambda: found.state.connection in ("connecting", "reconnecting"))
                assert found.idle_ticks is None
            send(kind, server.port, 2)
            assert values(found, 1, "at") == [2]


@pytest.mark.nats
def test_a_nats_server_that_answers_nobody_is_said_to(tmp_path: Path) -> None:
    with servers.running(servers.nats(tmp_path)) as server, server.frozen(), reading(
            feed_of("nats", server.port)) as found:
        next(found)
        until(lambda: "no answer for 5 s" in (found.state.error or ""))


@pytest.mark.fault("websocket", "server frozen")
def test_a_websocket_that_says_nothing_is_asked_whether_it_is_there(tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "_SILENCE_S", 0.2)
    monkeypatch.setattr(websocket, "_CLOSE_S", 0.1)
    with servers.running(servers.Server(sys.executable, lambda port, _: ["-c", TALK, str(port)], tmp_path)) as server, \
            reading(wb.feeds.websocket(f"ws://127.0.0.1:{server.port}", **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        with server.frozen():
            until(lambda: found.state.reconnects)
            assert found.state.error == "the server does not answer for 0 s"
        assert values(found, 1, "at") == [2]
        assert found.state.reconnects == 1
