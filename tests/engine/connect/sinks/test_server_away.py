"""Sinks whose server goes away while they write: it is waited for, and each row is there once, if they say so."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import nats
import psycopg
import pytest
import redis

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from tests.engine.connect.feeds.relay import Relay
from tests.engine.ended import ended
from whimbrel.connect.sinks import server_sink
from whimbrel.errors import SinkError

ROWS = 200


def half_by_half(more: threading.Event) -> wb.Stream:
    """Rows of which the second half comes when it is asked for."""
    async def rows() -> AsyncIterator[dict[str, int]]:
        for at in range(ROWS):
            while at >= ROWS // 2 and not more.is_set():  # noqa: ASYNC110 - another thread sets it
                await asyncio.sleep(0.01)
            yield {"at": at}

    return wb.feeds.iterator(rows, time="at", schema={"at": "int64"})


def on_nats(url: str, subject: str, found: list[int]) -> None:
    """Make the stream, or read it."""
    async def work() -> None:
        link = await nats.connect(url)
        log = link.jetstream()
        if not found:
            await log.add_stream(name=subject, subjects=[subject])
            found.append(-1)
        else:
            pull = await log.pull_subscribe(subject)
            while len(found) <= ROWS:
                found.extend(json.loads(each.data)["start"] for each in await pull.fetch(ROWS, timeout=PATIENCE_S))
            info = await log.stream_info(subject)
            assert info.state.messages == ROWS
        await link.close()

    asyncio.run(work())


def redis_rows(port: int) -> list[int]:
    with redis.Redis(port=port) as link:
        return [json.loads(fields[b"row"])["start"] for _, fields in link.xrange("out")]


def says_nothing(server: servers.Server, sink: wb.sinks.Sink, folder: Path) -> str:
    """What a run says whose server is frozen while half of its rows come; then it goes on."""
    more = threading.Event()
    run = half_by_half(more).start(to=sink, checkpoints=wb.Checkpoints(folder / "state", every="50ms"))
    until(lambda: run.metrics.settled_rows >= ROWS // 2 - 1)
    with server.frozen():
        more.set()
        until(lambda: run.metrics.sink)
        said = run.metrics.sink
    assert run.wait(PATIENCE_S)
    assert (run.state, run.error, run.metrics.sink) == ("finished", None, "")
    return said


def goes_on(server: servers.Server, sink: wb.sinks.Sink, folder: Path, how: signal.Signals = signal.SIGTERM) -> None:
    """A run whose server is away while half of its rows come."""
    more = threading.Event()
    run = half_by_half(more).start(to=sink, checkpoints=wb.Checkpoints(folder / "state", every="50ms"))
    until(lambda: run.metrics.settled_rows >= ROWS // 2 - 1)
    server.stop(how)
    more.set()
    until(lambda: run.metrics.sink)
    assert "its sink waits" in repr(run)
    server.start()
    assert run.wait(PATIENCE_S)
    assert (run.state, run.error, run.metrics.sink) == ("finished", None, "")


@pytest.mark.redis
def test_a_redis_sink_goes_on_when_its_server_does(tmp_path: Path) -> None:
    with servers.running(servers.redis(tmp_path / "redis")) as server:
        goes_on(server, wb.sinks.redis("out", f"redis://127.0.0.1:{server.port}"), tmp_path)
        assert redis_rows(server.port) == list(range(ROWS))


@pytest.mark.postgres
def test_a_postgres_sink_goes_on_when_its_server_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with servers.running(servers.postgres(tmp_path / "postgres")) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
        until(lambda: servers.accepts(url))
        goes_on(server, wb.sinks.postgres("out", url, key=["at"]), tmp_path, signal.SIGINT)
        with psycopg.connect(url) as link:
            assert link.execute("SELECT at FROM out ORDER BY at").fetchall() == [(at,) for at in range(ROWS)]
    assert capfd.readouterr().err == ""


@pytest.mark.nats
def test_a_nats_sink_goes_on_when_its_server_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with servers.running(servers.nats(tmp_path / "nats")) as server:
        url, found = f"nats://127.0.0.1:{server.port}", list[int]()
        on_nats(url, "out", found)
        goes_on(server, wb.sinks.nats("out", url), tmp_path)
        on_nats(url, "out", found)
        assert sorted(found) == list(range(-1, ROWS))
    assert capfd.readouterr().err == ""


@pytest.mark.mosquitto
def test_an_mqtt_sink_goes_on_when_its_broker_does(tmp_path: Path) -> None:
    with servers.running(servers.mosquitto(tmp_path / "mqtt")) as server:
        goes_on(server, wb.sinks.mqtt("out", f"mqtt://127.0.0.1:{server.port}"), tmp_path)


@pytest.mark.redis
def test_a_sink_waits_for_a_server_that_is_not_there_yet(tmp_path: Path) -> None:
    server = servers.redis(tmp_path / "redis")
    server.port = servers.free_port()
    (more := threading.Event()).set()
    run = half_by_half(more).start(to=wb.sinks.redis("out", f"redis://127.0.0.1:{server.port}"))
    until(lambda: run.metrics.sink)
    assert run.state == "running"
    with servers.running(server):
        assert run.wait(PATIENCE_S)
        assert (run.error, run.metrics.sink, redis_rows(server.port)) == (None, "", list(range(ROWS)))


@pytest.mark.postgres
def test_a_server_that_says_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_sink, "_ANSWER_S", 0.3)
    with servers.running(servers.postgres(tmp_path / "postgres")) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
        until(lambda: servers.accepts(url))
        said = says_nothing(server, wb.sinks.postgres("out", url, key=["start"]), tmp_path)
        assert said == "the server does not answer"
        with psycopg.connect(url) as link:
            assert link.execute("SELECT count(*) FROM out").fetchone() == (ROWS,)


@pytest.mark.parametrize("kind", [pytest.param("mqtt", marks=pytest.mark.mosquitto),
                                  pytest.param("postgres", marks=pytest.mark.postgres),
                                  pytest.param("redis", marks=pytest.mark.redis)])
def test_a_server_that_says_nothing_holds_up_neither_neighbours_nor_a_stop(kind: str, tmp_path: Path,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_sink, "_ANSWER_S", 0.3)
    monkeypatch.setattr(server_sink, "_GRACE_S", 0.3)
    program = servers.mosquitto if kind == "mqtt" else getattr(servers, kind)

    async def rows() -> AsyncIterator[dict[str, int]]:
        for at in itertools.count():
            yield {"at": at}
            await asyncio.sleep(0.01)

    with servers.running(program(tmp_path / kind)) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres" if kind == "postgres" else (
            f"{kind}://127.0.0.1:{server.port}")
        until(lambda: kind != "postgres" or servers.accepts(url))
        told: Any = {"key": ["start"]} if kind == "postgres" else {}
        feed = wb.feeds.iterator(rows, time="at", schema={"at": "int64"})
        waiting, going = wb.start(feed, feed.select("at"), to=[getattr(wb.sinks, kind)("out", url, **told), None])
        with server.frozen():
            until(lambda: waiting.metrics.sink == "the server does not answer")
            before = going.metrics.rows
            until(lambda: going.metrics.rows > before + 50)
            waiting.stop()
            going.stop()
            assert ended(waiting, PATIENCE_S)
            assert going.wait(PATIENCE_S)
            until(lambda: waiting.error is not None)
        assert (going.error, isinstance(waiting.error, SinkError)) == (None, True)


@pytest.mark.parametrize("kind", ["mqtt", "nats", "redis"])
def test_a_server_that_never_comes_ends_the_query(kind: str) -> None:
    sink = getattr(wb.sinks, kind)("out", f"{kind}://127.0.0.1:{servers.free_port()}")
    sink.patience_s = 0.1
    run = wb.from_arrow({"at": [1]}, time="at").start(to=sink)
    assert ended(run, PATIENCE_S)
    assert "out cannot be written" in str(run.error)


@pytest.mark.parametrize("kind", ["mqtt", "nats", "redis"])
def test_who_answers_for_a_server_that_is_away_is_not_the_server(kind: str) -> None:
    relay = Relay(servers.free_port())
    sink = getattr(wb.sinks, kind)("out", f"{kind}://127.0.0.1:{relay.port}")
    run = wb.from_arrow({"at": [1]}, time="at").start(to=sink)
    until(lambda: run.metrics.sink)
    assert run.state == "running"
    run.stop()
    assert ended(run, PATIENCE_S)
    relay.close()


class _Slow(Relay):
    """Hands 4 KiB on at a time, of what goes to the server."""

    def _hand_on(self, source: socket.socket, sink: socket.socket, counts: bool) -> None:
        if counts:
            super()._hand_on(source, sink, counts)
            return
        with source, contextlib.suppress(OSError):
            while data := source.recv(1 << 12):
                time.sleep(0.02)
                sink.sendall(data)


@pytest.mark.postgres
def test_a_slow_way_to_a_server_is_not_a_silent_one(tmp_path: Path) -> None:
    log = wb.from_arrow({"at": range(8_000)}, time="at")
    with servers.running(servers.postgres(tmp_path / "postgres")) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
        until(lambda: servers.accepts(url))
        relay = _Slow(server.port)
        sink = wb.sinks.postgres("out", url.replace(str(server.port), str(relay.port)), key=["start"])
        sink.patience_s = 0.8
        run = log.start(to=sink)
        assert run.wait(PATIENCE_S)
        relay.close()
        assert run.error is None
        with psycopg.connect(url) as link:
            assert link.execute("SELECT count(*) FROM out").fetchone() == (8_000,)


@pytest.mark.redis
def test_a_sink_that_waits_does_not_hold_up_its_neighbours(tmp_path: Path) -> None:
    server = servers.redis(tmp_path / "redis")
    server.port = servers.free_port()
    more, sink = threading.Event(), wb.sinks.redis("out", f"redis://127.0.0.1:{server.port}")
    sink.patience_s = 3600.0
    asked = half_by_half(more)
    waiting, going = wb.start(asked, asked.where(wb.col.at % 2 == 0), to=[sink, wb.sinks.parquet(tmp_path / "out")])
    until(lambda: any((tmp_path / "out").glob("rows-*.parquet")) and waiting.metrics.sink)
    with servers.running(server):
        more.set()
        assert waiting.wait(PATIENCE_S)
        assert (waiting.error, going.error, redis_rows(server.port)) == (None, None, list(range(ROWS)))


@pytest.mark.redis
@pytest.mark.mosquitto
@pytest.mark.parametrize("qos", [1, 2])
def test_messages_that_a_broker_refuses_are_not_taken_to_be_safe(qos: Literal[1, 2], tmp_path: Path) -> None:
    rules = tmp_path / "acl"
    rules.write_text("topic read #\n")
    rules.chmod(0o600)
    with servers.running(servers.mosquitto(tmp_path, f"acl_file {rules}\n")) as broker:
        run = wb.from_arrow({"at": [1, 2, 3]}, time="at").start(
            to=wb.sinks.mqtt("theirs", f"mqtt://127.0.0.1:{broker.port}", qos=qos))
        assert ended(run, PATIENCE_S)
        assert "theirs cannot be written: refused: Not authorized" in str(run.error)


@pytest.mark.parametrize("checkpointed", [True, False])
def test_a_stop_does_not_wait_and_patience_ends_and_the_hint_says_what_is_lost(tmp_path: Path,
                                                                              checkpointed: bool) -> None:
    told: Any = {"checkpoints": wb.Checkpoints(tmp_path / "state", every="50ms")} if checkpointed else {}
    more = threading.Event()
    with servers.running(servers.redis(tmp_path / "redis")) as server:
        sink = wb.sinks.redis("out", f"redis://127.0.0.1:{server.port}")
        sink.patience_s = 3600.0 if checkpointed else 0.3
        asked = half_by_half(more)
        run = asked.start(to=sink, **told)
        until(lambda: run.metrics.settled_rows >= ROWS // 2 - 1)
        server.stop()
        more.set()
        if checkpointed:
            until(lambda: run.metrics.sink)
            run.stop()
        assert ended(run, PATIENCE_S)
        assert isinstance(run.error, SinkError)
        assert ("start the run again" in run.error.hint, "begins anew" in run.error.hint) == (
            checkpointed, not checkpointed)
        server.start()
        if not checkpointed:
            with pytest.raises(SinkError, match="not of this run") as refused:
                asked.start(to=sink)
            assert "give another stream, or delete this one" in refused.value.hint
            return
        later = asked.start(to=sink, **told)
        assert later.wait(PATIENCE_S)
        assert (later.error, redis_rows(server.port)) == (None, list(range(ROWS)))


@pytest.mark.redis
def test_entries_whose_answer_was_cut_off_are_not_written_again(tmp_path: Path) -> None:
    with servers.running(servers.redis(tmp_path / "redis")) as server:
        relay = Relay(server.port)
        feed = half_by_half(more := threading.Event())
        run = feed.start(to=wb.sinks.redis("out", f"redis://127.0.0.1:{relay.port}"))
        until(lambda: run.metrics.settled_rows >= ROWS // 2 - 1)
        relay.cuts.extend((1, 300, 7))
        more.set()
        assert run.wait(PATIENCE_S)
        relay.close()
        assert (run.error, redis_rows(server.port), len(relay.cuts)) == (None, list(range(ROWS)), 0)
