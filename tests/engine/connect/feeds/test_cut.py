"""Connections that are cut within a message, by a relay before a real server: each row is delivered exactly once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nats
import psycopg
import pytest
import redis
from paho.mqtt import publish

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import reading, until, values
from tests.engine.connect.feeds.relay import Relay
from whimbrel.connect.feeds import Feed, FeedReader

ROWS = 2_000
CUTS = (9_001, 20_003, 7)
OPTIONS: Any = {"time": "at", "schema": {"at": "int64", "x": "int64"}, "retry_backoff_s": (0.02, 0.1)}


@contextmanager
def cut(server: int) -> Iterator[Relay]:
    """A relay that has cut all that it was to cut, in the end."""
    with contextlib.closing(Relay(server, *CUTS)) as relay:
        yield relay
        assert not relay.cuts


def received(found: FeedReader, column: str = "at") -> list[Any]:
    return values(found, ROWS, column)


def message(at: int) -> bytes:
    return b'{"at": %d, "x": %d}' % (at, 7 * at)


@pytest.mark.redis
@pytest.mark.fault("redis", "connection cut mid-message")
def test_redis(tmp_path: Path) -> None:
    with servers.running(servers.redis(tmp_path / "redis")) as server, cut(server.port) as relay:
        with redis.Redis(port=server.port) as connection, connection.pipeline() as writing:
            for at in range(ROWS):
                writing.xadd("rows", {"at": at, "x": 7 * at})
            writing.execute()
        with reading(wb.feeds.redis("rows", f"redis://127.0.0.1:{relay.port}", **OPTIONS)) as found:
            assert received(found) == list(range(ROWS))


@pytest.mark.nats
@pytest.mark.fault("nats", "connection cut mid-message")
def test_nats(tmp_path: Path) -> None:
    async def fill(port: int) -> None:
        connection = await nats.connect(f"nats://127.0.0.1:{port}")
        await connection.jetstream().add_stream(name="rows", subjects=["rows"])
        for at in range(ROWS):
            await connection.publish("rows", message(at))
        await connection.flush()
        await connection.close()

    with servers.running(servers.nats(tmp_path / "nats")) as server, cut(server.port) as relay:
        asyncio.run(fill(server.port))
        with reading(wb.feeds.nats("rows", f"nats://127.0.0.1:{relay.port}", **OPTIONS)) as found:
            assert received(found) == list(range(ROWS))


@pytest.mark.mosquitto
@pytest.mark.fault("mqtt", "connection cut mid-message")
def test_mqtt(tmp_path: Path) -> None:
    """What was not acknowledged comes again: at least once."""
    with servers.running(servers.mosquitto(tmp_path / "mqtt")) as server, cut(server.port) as relay:
        feed = wb.feeds.mqtt("rows", f"mqtt://127.0.0.1:{relay.port}", session="cut", **OPTIONS)
        asked = feed.node.op
        assert isinstance(asked, Feed)
        asked.connect(None).close()
        publish.multiple([("rows", message(at), 1, False) for at in range(ROWS)], "127.0.0.1", server.port)
        with reading(feed) as found:
            came: set[Any] = set()
            while len(came) < ROWS:
                came.update(values(found, 1, "at"))


@pytest.mark.postgres
@pytest.mark.fault("postgres", "connection cut mid-message")
@pytest.mark.fault("postgres_cdc", "connection cut mid-message")
def test_postgres(tmp_path: Path) -> None:
    with servers.running(servers.postgres(tmp_path / "postgres")) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
        until(lambda: servers.accepts(url))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE rows (at bigint PRIMARY KEY, x bigint)")
            connection.execute("CREATE PUBLICATION whimbrel FOR TABLE rows")
            slot: Any = {"slot": "cut", "publication": "whimbrel", **OPTIONS}
            with reading(wb.feeds.postgres_cdc("rows", url, **slot)) as found:  # which makes the slot
                next(found)
                until(lambda: found.state.connection == "live")
            connection.execute(
                f"INSERT INTO rows SELECT at, 7 * at FROM generate_series(0, {ROWS - 1}) AS at ORDER BY at")
        for feed in (lambda url: wb.feeds.postgres("rows", url, cursor="at", every=0.01, **OPTIONS),
                     lambda url: wb.feeds.postgres_cdc("rows", url, **slot)):
            with cut(server.port) as relay, reading(feed(url.replace(str(server.port), str(relay.port)))) as found:
                assert received(found) == list(range(ROWS))


@pytest.mark.fault("flight", "connection cut mid-message")
@pytest.mark.fault("websocket", "connection cut mid-message")
def test_what_is_served() -> None:
    log = wb.from_arrow({"at": list(range(ROWS)), "x": list(range(ROWS))}, time="at", name="log")
    with wb.serve(log, websocket=0, keep_rows=2 * ROWS) as served:
        assert served.run.wait(30)
        for url, feed in (
                (served.flight, lambda url: wb.feeds.flight(url, token=served.token, **OPTIONS)),
                (served.websocket, lambda url: wb.feeds.websocket(f"{url}/?token={served.token}", **OPTIONS))):
            assert url is not None
            port = url.rpartition(":")[2]
            with cut(int(port)) as relay, reading(feed(url.replace(port, str(relay.port)))) as found:
                assert received(found) == list(range(ROWS))
