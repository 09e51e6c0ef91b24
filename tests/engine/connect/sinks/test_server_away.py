"""Sinks whose server goes away while they write: it is waited for, and each row is there once, if they say so."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Literal

import nats
import psycopg
import pytest
import redis

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, until, values
from tests.engine.connect.feeds.relay import Relay
from tests.engine.ended import ended
from whimbrel.connect.sinks import nats as nats_sink
from whimbrel.connect.sinks import redis as redis_sink
from whimbrel.connect.sinks import retrying_sink
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


def then_one_by_one(count: int) -> wb.Stream:
    """So many rows at once, and then one after the other."""
    async def rows() -> AsyncIterator[dict[str, int]]:
        for at in itertools.count():
            if at >= count:
                await asyncio.sleep(0.01)
            yield {"at": at}

    return wb.feeds.iterator(rows, time="at", schema={"at": "int64"})


def program_of(kind: str) -> Callable[[Path], servers.Server]:
    return servers.mosquitto if kind == "mqtt" else getattr(servers, kind)


def sink_of(kind: str, server: servers.Server) -> wb.sinks.Sink:
    """A sink of a server that is ready for its rows."""
    url = f"{kind}://127.0.0.1:{server.port}"
    if kind == "nats":
        on_nats(url, "out", [])
    if kind != "postgres":
        return getattr(wb.sinks, kind)("out", url)
    url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
    until(lambda: servers.accepts(url))
    return wb.sinks.postgres("out", url, key=["start"])


def holds_up_nobody(server: servers.Server, sink: wb.sinks.Sink, trouble: str) -> None:
    """A run whose server is frozen, and one that was started with it."""
    feed = then_one_by_one(0)
    waiting, going = wb.start(feed, feed.select("at"), sinks=[sink, None])
    until(lambda: going.metrics.rows > 50)
    with server.frozen():
        until(lambda: waiting.metrics.sink_error == trouble)
        before = going.metrics.rows
        until(lambda: going.metrics.rows > before + 50)
        waiting.stop()
        assert ended(waiting, PATIENCE_S)
        before = going.metrics.rows
        until(lambda: going.metrics.rows > before + 50)
        going.stop()
        assert going.wait(PATIENCE_S)
    assert (going.error, isinstance(waiting.error, SinkError)) == (None, True)


def says_nothing(server: servers.Server, sink: wb.sinks.Sink, folder: Path) -> str:
    """What a run says whose server is frozen while half of its rows come; then it resumes."""
    more = threading.Event()
    run = half_by_half(more).start(sink=sink, checkpoints=wb.Checkpoints(folder / "state", every="50ms"))
    until(lambda: run.metrics.settled_rows >= ROWS // 2 - 1)
    with server.frozen():
        more.set()
        until(lambda: run.metrics.sink_error)
        said = run.metrics.sink_error
    assert run.wait(PATIENCE_S)
    assert (run.state, run.error, run.metrics.sink_error) == ("finished", None, "")
    return said


def goes_on(server: servers.Server, sink: wb.sinks.Sink, folder: Path, how: signal.Signals = signal.SIGTERM) -> None:
    """A run whose server is away while half of its rows come."""
    more = threading.Event()
    run = half_by_half(more).start(sink=sink, checkpoints=wb.Checkpoints(folder / "state", every="50ms"))
    until(lambda: run.metrics.settled_rows >= ROWS // 2 - 1)
    server.stop(how)
    more.set()
    until(lambda: run.metrics.sink_error)
    assert "its sink waits" in repr(run)
    server.start()
    assert run.wait(PATIENCE_S)
    assert (run.state, run.error, run.metrics.sink_error) == ("finished", None, "")


@pytest.mark.redis
def test_a_redis_sink_resumes_when_its_server_does(tmp_path: Path) -> None:
    with servers.running(servers.redis(tmp_path / "redis")) as server:
        goes_on(server, wb.sinks.redis("out", f"redis://127.0.0.1:{server.port}"), tmp_path)
        assert redis_rows(server.port) == list(range(ROWS))


@pytest.mark.postgres
def test_a_postgres_sink_resumes_when_its_server_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with servers.running(servers.postgres(tmp_path / "postgres")) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
        until(lambda: servers.accepts(url))
        goes_on(server, wb.sinks.postgres("out", url, key=["at"]), tmp_path, signal.SIGINT)
        with psycopg.connect(url) as link:
            assert link.execute("SELECT at FROM out ORDER BY at").fetchall() == [(at,) for at in range(ROWS)]
    assert capfd.readouterr().err == ""


@pytest.mark.nats
def test_a_nats_sink_resumes_when_its_server_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with servers.running(servers.nats(tmp_path / "nats")) as server:
        url, found = f"nats://127.0.0.1:{server.port}", list[int]()
        on_nats(url, "out", found)
        goes_on(server, wb.sinks.nats("out", url), tmp_path)
        on_nats(url, "out", found)
        assert sorted(found) == list(range(-1, ROWS))
    assert capfd.readouterr().err == ""


@pytest.mark.mosquitto
def test_an_mqtt_sink_resumes_when_its_broker_does(tmp_path: Path) -> None:
    with servers.running(servers.mosquitto(tmp_path / "mqtt")) as server:
        goes_on(server, wb.sinks.mqtt("out", f"mqtt://127.0.0.1:{server.port}"), tmp_path)


@pytest.mark.redis
def test_a_sink_waits_for_a_server_that_is_not_there_yet(tmp_path: Path) -> None:
    server = servers.redis(tmp_path / "redis")
    server.port = servers.free_port()
    (more := threading.Event()).set()
    run = half_by_half(more).start(sink=wb.sinks.redis("out", f"redis://127.0.0.1:{server.port}"))
    until(lambda: run.metrics.sink_error)
    assert run.state == "running"
    with servers.running(server):
        assert run.wait(PATIENCE_S)
        assert (run.error, run.metrics.sink_error, redis_rows(server.port)) == (None, "", list(range(ROWS)))


@pytest.mark.postgres
def test_a_server_that_says_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying_sink, "_ANSWER_S", 0.3)
    with servers.running(servers.postgres(tmp_path / "postgres")) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
        until(lambda: servers.accepts(url))
        said = says_nothing(server, wb.sinks.postgres("out", url, key=["start"]), tmp_path)
        assert said == "the server does not answer"
        with psycopg.connect(url) as link:
            assert link.execute("SELECT count(*) FROM out").fetchone() == (ROWS,)


@pytest.mark.parametrize("kind", [pytest.param("mqtt", marks=pytest.mark.mosquitto),
                                  pytest.param("nats", marks=pytest.mark.nats),
                                  pytest.param("postgres", marks=pytest.mark.postgres),
                                  pytest.param("redis", marks=pytest.mark.redis)])
def test_a_server_that_says_nothing_holds_up_neither_neighbours_nor_a_stop(kind: str, tmp_path: Path,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying_sink, "_ANSWER_S", 0.3)
    monkeypatch.setattr(retrying_sink, "_GRACE_S", 0.3)
    with servers.running(program_of(kind)(tmp_path / kind)) as server:
        holds_up_nobody(server, sink_of(kind, server), "the server does not answer")


@pytest.mark.redis
@pytest.mark.parametrize("held_rows", [ROWS // 2, 1_000_000])
def test_a_query_that_is_stopped_alone_waits_no_longer_for_its_server(held_rows: int,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying_sink, "_GRACE_S", 0.3)
    monkeypatch.setattr(retrying_sink, "_MAX_ROWS", held_rows)  # when it holds so many, all queries wait
    sink = wb.sinks.redis("out", f"redis://127.0.0.1:{servers.free_port()}")
    sink.retry_timeout_s = 3600.0
    feed = then_one_by_one(ROWS)
    waiting, going = wb.start(feed, feed.select("at"), sinks=[sink, None])
    until(lambda: sink._talk is not None and sink._talk.held_rows >= ROWS // 2)
    waiting.stop()
    assert ended(waiting, PATIENCE_S)
    assert isinstance(waiting.error, SinkError)
    assert " rows are not acknowledged" in waiting.error.what
    before = going.metrics.rows
    until(lambda: going.metrics.rows > before)
    assert going.error is None
    going.stop()


@pytest.mark.redis
def test_a_run_that_is_stopped_asks_once_more_whether_its_server_is_back(tmp_path: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying_sink, "_GRACE_S", 1.0)
    monkeypatch.setattr(retrying_sink, "_FIRST_S", 3600.0)
    monkeypatch.setattr(retrying_sink, "_MAX_S", 3600.0)
    monkeypatch.setattr(retrying_sink, "_MAX_ROWS", ROWS // 4)  # when it holds so many, the run waits
    with servers.running(servers.redis(tmp_path / "redis")) as server:
        sink = wb.sinks.redis("out", f"redis://127.0.0.1:{server.port}")
        sink.retry_timeout_s = 3600.0
        run = half_by_half(more := threading.Event()).start(sink=sink)
        until(lambda: len(redis_rows(server.port)) >= ROWS // 2 - 1)
        server.stop(signal.SIGKILL)
        more.set()
        until(lambda: run.metrics.sink_error and sink._talk is not None
              and sink._talk.silent_s > retrying_sink._GRACE_S)
        server.start()
        run.stop()
        assert run.wait(PATIENCE_S)
        assert (run.error, redis_rows(server.port)) == (None, list(range(ROWS)))


@pytest.mark.parametrize(("kind", "after_bytes", "times"), [
    pytest.param("mqtt", 800, 12, marks=pytest.mark.mosquitto), pytest.param("nats", 3_000, 30, marks=pytest.mark.nats),
    pytest.param("redis", 500, 40, marks=pytest.mark.redis)])
def test_the_timeout_restarts_when_some_rows_were_acknowledged(kind: str, after_bytes: int, times: int, tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    for library in (retrying_sink, nats_sink, redis_sink):
        monkeypatch.setattr(library, "_TOGETHER", 10)
    with servers.running(program_of(kind)(tmp_path / kind)) as server:
        sink_of(kind, server)
        relay = Relay(server.port, *[after_bytes] * times)
        sink = getattr(wb.sinks, kind)("out", f"{kind}://127.0.0.1:{relay.port}")
        sink.retry_timeout_s = 3.0 if kind == "mqtt" else 1.5
        run = wb.from_arrow({"at": range(3_000)}, time="at").start(sink=sink)
        assert run.wait(PATIENCE_S)
        relay.close()
        assert (run.error, len(relay.cuts)) == (None, 0)
        assert kind != "redis" or redis_rows(server.port) == list(range(3_000))


@pytest.mark.parametrize("kind", ["mqtt", "nats", "redis"])
def test_a_server_that_never_comes_ends_the_query(kind: str) -> None:
    sink = getattr(wb.sinks, kind)("out", f"{kind}://127.0.0.1:{servers.free_port()}")
    sink.retry_timeout_s = 0.1
    run = wb.from_arrow({"at": [1]}, time="at").start(sink=sink)
    assert ended(run, PATIENCE_S)
    assert "Cannot write to out" in str(run.error)


@pytest.mark.parametrize("kind", ["mqtt", "nats", "redis"])
def test_who_answers_for_a_server_that_is_away_is_not_the_server(kind: str) -> None:
    relay = Relay(servers.free_port())
    sink = getattr(wb.sinks, kind)("out", f"{kind}://127.0.0.1:{relay.port}")
    run = wb.from_arrow({"at": [1]}, time="at").start(sink=sink)
    until(lambda: run.metrics.sink_error)
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


@pytest.mark.redis
def test_a_slow_way_to_a_server_does_not_hold_up_neighbours(tmp_path: Path) -> None:
    with servers.running(servers.redis(tmp_path / "redis")) as server, redis.Redis(port=server.port) as link:
        relay = _Slow(server.port)
        feed = then_one_by_one(20_000)
        sink = wb.sinks.redis("out", f"redis://127.0.0.1:{relay.port}")
        slow, going = wb.start(feed, feed.select("at"), sinks=[sink, None])
        until(lambda: going.metrics.rows > 20_200)
        assert link.xlen("out") < 20_000
        slow.stop()
        going.stop()
        relay.close()


@pytest.mark.redis
def test_a_run_that_is_stopped_does_not_wait_until_its_server_has_all_that_it_missed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying_sink, "_GRACE_S", 1.0)  # a server that answers more seldom counts as silent
    for library in (retrying_sink, redis_sink):
        monkeypatch.setattr(library, "_TOGETHER", 50)
    with servers.running(servers.redis(tmp_path / "redis")) as server, redis.Redis(port=server.port) as link:
        relay = _Slow(server.port, 5_000)
        run = then_one_by_one(20_000).start(sink=wb.sinks.redis("out", f"redis://127.0.0.1:{relay.port}"))
        until(lambda: run.metrics.settled_rows > 20_000 and link.xlen("out") > 0 and not relay.cuts)
        run.stop()
        assert ended(run, PATIENCE_S)
        assert isinstance(run.error, SinkError)
        assert re.search(r"the run was stopped before all rows were sent again; [\d,]+ ", run.error.what)
        assert link.xlen("out") < 20_000
        relay.close()


@pytest.mark.postgres
def test_a_slow_way_to_a_server_is_not_a_silent_one(tmp_path: Path) -> None:
    log = wb.from_arrow({"at": range(8_000)}, time="at")
    with servers.running(servers.postgres(tmp_path / "postgres")) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
        until(lambda: servers.accepts(url))
        relay = _Slow(server.port)
        sink = wb.sinks.postgres("out", url.replace(str(server.port), str(relay.port)), key=["start"])
        sink.retry_timeout_s = 2.0  # of some four seconds; a machine may be busy for one
        run = log.start(sink=sink)
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
    sink.retry_timeout_s = 3600.0
    asked = half_by_half(more)
    waiting, going = wb.start(asked, asked.where(wb.col.at % 2 == 0), sinks=[sink, wb.sinks.parquet(tmp_path / "out")])
    until(lambda: any((tmp_path / "out").glob("rows-*.parquet")) and waiting.metrics.sink_error)
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
            sink=wb.sinks.mqtt("theirs", f"mqtt://127.0.0.1:{broker.port}", qos=qos))
        assert ended(run, PATIENCE_S)
        assert "Cannot write to theirs: refused: Not authorized" in str(run.error)


@pytest.mark.parametrize("checkpointed", [True, False])
def test_a_stop_does_not_wait_and_patience_ends_and_the_hint_says_what_is_lost(tmp_path: Path,
                                                                              checkpointed: bool) -> None:
    options: Any = {"checkpoints": wb.Checkpoints(tmp_path / "state", every="50ms")} if checkpointed else {}
    more = threading.Event()
    with servers.running(servers.redis(tmp_path / "redis")) as server:
        sink = wb.sinks.redis("out", f"redis://127.0.0.1:{server.port}")
        sink.retry_timeout_s = 3600.0 if checkpointed else 0.3
        asked = half_by_half(more)
        run = asked.start(sink=sink, **options)
        until(lambda: run.metrics.settled_rows >= ROWS // 2 - 1)
        server.stop()
        more.set()
        if checkpointed:
            until(lambda: run.metrics.sink_error)
            run.stop()
        assert ended(run, PATIENCE_S)
        assert isinstance(run.error, SinkError)
        assert ("Start the run again" in run.error.hint, "starts again" in run.error.hint) == (
            checkpointed, not checkpointed)
        server.start()
        if not checkpointed:
            with pytest.raises(SinkError, match="of another run") as refused:
                asked.start(sink=sink)
            assert "another stream, or delete this one" in refused.value.hint
            return
        later = asked.start(sink=sink, **options)
        assert later.wait(PATIENCE_S)
        assert (later.error, redis_rows(server.port)) == (None, list(range(ROWS)))


@pytest.mark.redis
def test_entries_whose_answer_was_cut_off_are_not_written_again(tmp_path: Path) -> None:
    with servers.running(servers.redis(tmp_path / "redis")) as server:
        relay = Relay(server.port)
        feed = half_by_half(more := threading.Event())
        run = feed.start(sink=wb.sinks.redis("out", f"redis://127.0.0.1:{relay.port}"))
        until(lambda: run.metrics.settled_rows >= ROWS // 2 - 1)
        relay.cuts.extend((1, 300, 7))
        more.set()
        assert run.wait(PATIENCE_S)
        relay.close()
        assert (run.error, redis_rows(server.port), len(relay.cuts)) == (None, list(range(ROWS)), 0)


@pytest.mark.soak
@pytest.mark.mosquitto
@pytest.mark.parametrize("qos", [1, 2])
def test_more_rows_at_once_than_an_mqtt_client_has_numbers_for_all_come(qos: Literal[1, 2], tmp_path: Path) -> None:
    count = 70_000
    with servers.running(servers.mosquitto(tmp_path / "mqtt")) as server:
        url = f"mqtt://127.0.0.1:{server.port}"
        feed = wb.feeds.mqtt("out", url, time="start", schema={"start": "int64"}, session="all")
        with reading(feed) as found:  # from now on the broker keeps what comes
            next(found)
            until(lambda: found.state.connection == "live")
        run = wb.from_arrow({"at": range(count)}, time="at").start(sink=wb.sinks.mqtt("out", url, qos=qos))
        assert run.wait(4 * PATIENCE_S)
        assert run.error is None
        with reading(feed) as found:
            assert values(found, count, "start") == list(range(count))
            assert next(found) is None
