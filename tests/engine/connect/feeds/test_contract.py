"""What every feed keeps: rows are as promised, faults are counted, connections come back, queues have an end."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, rows, until, values
from tests.engine.ended import ended
from whimbrel.connect.feeds import Feed
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.runtime.arrival_clock import ArrivalClock
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch
from whimbrel.errors import PlanError, SchemaError, SourceError
from whimbrel.plan import Node
from whimbrel.run import run_loop
from whimbrel.stream import Stream

FIELDS = {"at": "int64", "x": "int64"}


class Line(Client):
    """A connection of :class:`Wire`."""

    def __init__(self, wire: Wire, offset: int) -> None:
        self.wire, self.offset = wire, offset

    def receive(self, timeout_s: float) -> MessageBatch | None:
        if self.wire.cut.is_set():
            raise ConnectionError("cut")
        if self.offset < len(self.wire.messages):
            self.offset += 1
            return MessageBatch([self.wire.messages[self.offset - 1]], self.offset)
        if self.wire.ends:
            raise EOFError
        time.sleep(min(timeout_s, 0.01))
        return None

    def acknowledge(self, offset: int) -> None:
        self.wire.safe.append(offset)

    def close(self) -> None:
        self.wire.closed += 1


class Wire(Feed):
    """Messages in a list, which can be added to, and a connection that can be cut."""

    def __init__(self, *messages: bytes, ends: bool = True, **options: object) -> None:
        self.messages, self.ends, self.cut = list(messages), ends, threading.Event()
        self.safe: deque[int] = deque()
        self.connected, self.closed = 0, 0
        defaults = {"schema": FIELDS, "time": "at", "format": format_of("json", ""), "retry_backoff_s": (0.01, 0.05)}
        super().__init__("wire", **defaults | options)  # type: ignore[arg-type]

    def connect(self, offset: int | None) -> Client:
        if self.cut.is_set():
            raise ConnectionRefusedError("refused")
        self.connected += 1
        return Line(self, offset or 0)


def stream(wire: Wire) -> Stream:
    return Stream(Node(wire))


def row(at: int, x: int = 0) -> bytes:
    return b'{"at": %d, "x": %d}' % (at, x)


def test_rows_come_in_the_order_of_messages() -> None:
    table = stream(Wire(row(1, 10), row(2, 20))).collect()
    assert table.to_pydict() == {"start": [1, 2], "end": [2, 3], "at": [1, 2], "x": [10, 20]}


@pytest.mark.parametrize(("message", "why"), [
    (b"\xff\xfe garbage", "not a JSON object"), (b"", "not a JSON object"), (b"[1]", "not a JSON object"),
    (b'{"at": 5, "x": 1}{"at": 6, "x": 1}', "not one JSON object"), (b'{"at": "five", "x": 1}', "'at' must be int64"),
    (b'{"x": 1}', "no time: 'at' is null"), (b'{"at": 9223372036854775807, "x": 1}', "time out of range"),
    (b'{"at": 5, "x": {"deep": 1}}', "'x' must be int64"), (b'{"at": 5, "x": 1.5}', "'x' must be int64"),
    (b'{"at": 99999999999999999999, "x": 1}', "'at' must be int64"), (b'{"at": 5, "x": 01}', "not JSON"),
])
def test_a_bad_message_is_a_letter_and_the_others_are_rows(message: bytes, why: str) -> None:
    wire = Wire(row(1), message, row(7))
    with reading(stream(wire)) as found:
        assert values(found, 2, "at") == [1, 7]
        (reason, count), = found.state.dead_letters.items()
        assert (reason.startswith(why), count) == (True, 1)
    queue = wb.feeds.dead_letters(stream(wire)).collect()
    assert queue["message"].to_pylist() == [message]
    assert queue["size"].to_pylist() == [len(message)]


@pytest.mark.parametrize("extreme", [2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 2])
@pytest.mark.parametrize("first", [False, True])
def test_a_time_so_extreme_that_no_window_can_be_around_it_is_a_letter(extreme: int, first: bool) -> None:
    messages = [row(1), row(extreme), row(7)]
    wire = stream(Wire(*([messages[1], messages[0], messages[2]] if first else messages)))
    assert wire.tumbling_window(10).aggregate(n=wb.count()).collect()["n"].to_pylist() == [2]
    assert wb.feeds.dead_letters(wire).collect()["reason"].to_pylist() == ["time out of range"]


def test_an_end_so_extreme_that_it_cannot_be_shifted_is_a_letter() -> None:
    wire = stream(Wire(row(1, 2), row(2, 2**63 - 2), row(3, 2**63 - 1), row(4, 9), end="x"))
    assert wire.shift(10).collect()["at"].to_pylist() == [1, 3, 4]
    assert wb.feeds.dead_letters(wire).collect()["reason"].to_pylist() == ["end out of range"]


def test_of_many_dead_letters_the_newest_are_kept_and_all_are_counted() -> None:
    wire = Wire(*[b"bad"] * 5_500, row(1))
    with reading(stream(wire)) as found:
        rows(found, 1)
        assert sum(found.state.dead_letters.values()) == 5_500
    reasons = Counter(wb.feeds.dead_letters(stream(wire)).collect()["reason"].to_pylist())
    assert sorted(reasons.values()) == [1, 5_000]
    assert reasons["500 dead letters were evicted unread"] == 1


def test_a_schema_is_inferred_from_a_sample_and_then_enforced() -> None:
    wire = Wire(b'{"at": "2024-01-01T00:00:01", "x": 1.5}', b'{"at": "2024-01-01T00:00:02", "x": "text"}',
                b'{"at": 0, "x": 2.5}', schema=None)
    assert wire.schema.show() == "at: timestamp[s], x: double"
    with reading(stream(wire)) as found:
        assert values(found, 9, "x") == [1.5]
        assert sum(found.state.dead_letters.values()) == 2


def test_what_is_no_object_is_nothing_to_infer_a_schema_from() -> None:
    """The parser ends the process over a null that comes first."""
    wire = Wire(b"null", b"\xff\x00\x01", b'{"at": 1, "x": 1.5}', schema=None)
    assert wire.schema.show() == "at: int64, x: double"
    with pytest.raises(SchemaError, match="Cannot infer a schema from the messages: not a JSON object"):
        Wire(b"null", schema=None)


@pytest.mark.parametrize(("times", "type_"), [
    (("2024-01-01T00:00:00.123Z", "2024-01-01T00:00:01Z"), "timestamp[ms, tz=UTC]"),
    (("2024-01-01T00:00:00+02:00",), "timestamp[s, tz=UTC]"),
    (("2024-01-01 00:00:00.123456",), "timestamp[us]"), (("2024-01-01T00:00:00Z", "soon"), "string")])
def test_times_with_fractions_are_inferred(times: tuple[str, ...], type_: str) -> None:
    messages = [b'{"at": %d, "x": "%s"}' % (at, time.encode()) for at, time in enumerate(times)]
    wire = Wire(*messages, schema=None)
    assert wire.schema.show() == f"at: int64, x: {type_}"
    assert stream(wire).collect()["x"].null_count == 0


@pytest.mark.parametrize("nothing", [b"null", b"[]", b'{"deep": null}'])
def test_a_column_without_a_value_in_the_sample_must_be_said(nothing: bytes) -> None:
    with pytest.raises(SchemaError, match=r"Cannot infer the type of 'x': no message(.|\n)*schema="):
        Wire(b'{"at": 1, "x": %s}' % nothing, schema=None)


@pytest.mark.parametrize("at", [b"5", b'"2024-01-01T00:00:00.5Z"'])
def test_a_letter_names_the_column_that_is_wrong(at: bytes) -> None:
    wire = stream(Wire(b'{"at": %s, "x": "one"}' % at, schema={"at": "timestamp[ms]", "x": "int64"}))
    assert wire.collect().num_rows == 0
    assert "'x'" in wb.feeds.dead_letters(wire).collect()["reason"].to_pylist()[0]


def test_without_a_message_the_schema_must_be_said() -> None:
    with pytest.raises(SchemaError, match="no message arrived"):
        Wire(schema=None, schema_sample_s=0.05)


def test_a_broker_that_is_not_there_is_named_when_a_schema_is_needed() -> None:
    class Nobody(Wire):
        def connect(self, offset: int | None) -> Client:
            raise ConnectionRefusedError("refused by kafka://ann:secret@host")

    with pytest.raises(SourceError, match="refused by") as raised:
        Nobody(schema=None)
    assert "secret" not in str(raised.value)


def test_a_lost_connection_is_made_again_where_it_was_and_the_state_says_so() -> None:
    wire = Wire(row(1), ends=False)
    with reading(stream(wire)) as found:
        rows(found, 1)
        wire.cut.set()
        until(lambda: found.state.connection == "reconnecting" and found.state.attempts >= 3)
        state = found.state
        assert 0 <= state.retry_in_s <= 0.05
        assert str(state).startswith("reconnecting in 0 s (attempt ")
        assert state.reconnects == 1
        wire.messages.append(row(2))
        wire.cut.clear()
        assert values(found, 1, "at") == [2]
        assert (found.state.connection, found.state.attempts) == ("live", 0)
    assert wire.connected == wire.closed == 2


def test_the_client_is_held_back_while_the_queue_is_full() -> None:
    wire = Wire(*(row(at) for at in range(1000)), queue_rows=10)
    with reading(stream(wire)) as found:
        next(found)
        until(lambda: found.state.queued_rows >= 10)
        time.sleep(0.05)
        assert found.state.queued_rows <= 10
        assert len(rows(found, 2000)) >= 1
        assert found.state.rows == 1000
        assert found.state.backpressure_s > 0


@pytest.mark.parametrize(("rule", "name"), [
    (wb.feeds.Sample(0.1), "sample 0.1"), (wb.feeds.Conflate("x"), "conflate by x"),
])
def test_what_is_shed_is_counted(rule: wb.feeds.Overload, name: str) -> None:
    wire = Wire(*(row(at, at % 3) for at in range(1000)), queue_rows=20, overload=rule)
    with reading(stream(wire)) as found:
        next(found)
        until(lambda: found.state.connection == "ended")
        assert found.state.queued_rows <= 20
        kept = sum(map(len, rows(found, 2000)))
        shed = found.state.shed[name]
        assert shed > 900
        assert 1000 - shed - 20 <= kept <= 1000 - shed


def test_conflation_keeps_the_newest_of_each_key() -> None:
    wire = Wire(*(row(at, at % 3) for at in range(100)), queue_rows=3, overload=wb.feeds.Conflate("x"))
    with reading(stream(wire)) as found:
        next(found)
        until(lambda: found.state.connection == "ended")
        assert values(found, 100, "at")[-3:] == [97, 98, 99]


def test_a_rule_for_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(PlanError, match=r"Conflate\(key\) must name a column, got 'y'"):
        Wire(overload=wb.feeds.Conflate("y"))
    with pytest.raises(PlanError, match="key must be a non-empty string, got 5"):
        wb.feeds.Conflate(5)  # type: ignore[arg-type]


def test_a_row_ahead_of_the_clock_is_refused() -> None:
    now = int(time.time())
    wire = Wire(row(now - 5), row(now + 10_000), row(now), max_ahead=100)
    with reading(stream(wire)) as found:
        assert values(found, 9, "at") == [now - 5, now]
        assert found.state.dead_letters == {"time is ahead of the clock, as seconds since 1970": 1}


@pytest.mark.fault("any feed", "clock jumps both ways")
def test_the_arrival_clock_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ArrivalClock()
    first, wall = clock.now_ns(), time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: wall() - 3600 * 10**9)
    back = clock.now_ns()
    assert first <= back < first + 60 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: wall() + 3600 * 10**9)
    assert clock.now_ns() >= first + 3600 * 10**9


@pytest.mark.fault("any feed", "clock jumps both ways")
def test_rows_are_stamped_in_their_order_while_the_clock_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = time.time_ns
    wire = Wire(ends=False, schema={"at": "timestamp[ms]", "x": "int64"}, arrival_column="seen", max_ahead="1m")
    with stream(wire).start() as run:
        for number, hours in enumerate((0, -1, 2, 0)):
            monkeypatch.setattr(time, "time_ns", lambda hours=hours: wall() + hours * 3600 * 10**9)
            wire.messages.append(row(wall() // 10**6 + number))
            until(lambda number=number: run.metrics.rows == number + 1)  # type: ignore[misc]
        seen = run.snapshot().table["seen"].to_pylist()
        assert len(seen) == 4
        assert seen == sorted(seen)
        assert (run.metrics.late_dropped, run.metrics.feeds["wire"].dead_letters) == (0, {})


def test_rows_are_stamped_with_their_arrival() -> None:
    feed = stream(Wire(b'{"at": 1000, "x": 1}', schema={"at": "timestamp[ms]", "x": "int64"}, arrival_column="seen"))
    table = feed.collect()
    assert table.schema.field("seen").type == pa.timestamp("ms")
    assert abs(table["seen"].to_pylist()[0].timestamp() - time.time()) < 86_400
    assert feed.sources[0].arrival == "seen"


def settled(run: wb.Run) -> list[object]:
    table = run.snapshot().table
    return table["start"].to_pylist()[:run.snapshot().settled]


def test_time_advances_where_a_feed_is_idle() -> None:
    wire = Wire(row(10), ends=False, idle_timeout=0.1)
    run = stream(wire).tumbling_window(11).aggregate(n=wb.count()).start()
    until(lambda: settled(run) == [0], "for the window to settle without further rows")
    assert run.metrics.feeds["wire"].connection in ("idle", "live")
    wire.messages.append(row(3))
    until(lambda: run.metrics.late_dropped == 1)
    run.stop()


def timed(*messages: bytes, **options: object) -> Stream:
    schema = {"at": "timestamp[ms]", "x": "int64"}
    return stream(Wire(*messages, ends=False, idle_timeout=0.1, schema=schema, **options))


def counted(rows: Stream) -> Stream:
    return rows.where(wb.col.x >= 0).tumbling_window(10).aggregate(n=wb.count())


def with_late_rows(rows: Stream) -> Sequence[wb.Run]:
    return wb.start(counted(rows), wb.late_rows(rows))


@pytest.mark.parametrize("ask", [
    lambda: [counted(timed(row(19), reorder_latency=5)).start()],
    lambda: counted(timed(row(19))).at_latencies(0, 5).start(),
    lambda: counted(timed(row(19)).union(timed(row(11)))).at_latencies(0, 5).start(),
    lambda: counted(timed(row(19)).union(timed())).at_latencies(0, 5).start(),
    lambda: with_late_rows(timed(row(19), row(1), late="side_output")),
], ids=["sorted later", "latencies", "latencies of two feeds", "latencies, one feed without rows", "late rows"])
def test_time_advances_for_all_queries_of_an_idle_feed(ask: Callable[[], Sequence[wb.Run]]) -> None:
    runs = ask()
    until(lambda: all(run.metrics.settled_rows == 1 for run in runs))
    for run in runs:
        run.stop()


def test_a_quiet_partition_does_not_hold_up_others_and_comes_late() -> None:
    wire = Wire(row(1, 1), row(100, 2), ends=False, idle_timeout=0.1, partition=wb.PartitionWatermarks("x",
                                                                                                       max_lag=10_000))
    at = iter(range(101, 10_000))
    with stream(wire).start() as run:
        until(lambda: wire.messages.append(row(next(at), 2)) or run.metrics.settled_rows > 2)  # type: ignore[func-returns-value]
        wire.messages.append(row(2, 1))
        until(lambda: run.metrics.late_dropped == 1)


def test_a_quiet_feed_does_not_hold_up_others() -> None:
    quiet, busy = Wire(row(1), ends=False, idle_timeout=0.1), Wire(row(1, 5), row(2, 6), ends=False, idle_timeout=0.1)
    run = stream(busy).union(stream(quiet)).start()
    until(lambda: run.metrics.settled_rows == 3)
    run.stop()


def test_a_feed_that_never_had_a_row_does_not_hold_up_others() -> None:
    empty, busy = Wire(ends=False, idle_timeout=0.1), Wire(row(1), row(2), ends=False)
    run = stream(busy).union(stream(empty)).tumbling_window(1).aggregate(n=wb.count()).start()
    until(lambda: settled(run) == [1])
    empty.messages += [row(1), row(2)]
    until(lambda: run.metrics.late_dropped == 1)
    run.stop()


def test_a_feed_is_idle_after_a_restart_too(tmp_path: Path) -> None:
    messages = [row(1), row(10)]
    for expected in (1, 2):
        quiet, busy = Wire(row(10), ends=False, idle_timeout=0.1), Wire(*messages, ends=False)
        run = stream(busy).union(stream(quiet)).tumbling_window(10).aggregate(n=wb.count()).start(
            checkpoints=wb.Checkpoints(tmp_path, every="10ms"))
        until(lambda: run.metrics.settled_rows == expected)  # noqa: B023
        run.stop()
        run.wait(PATIENCE_S)
        messages.append(row(20))


def test_time_advances_after_a_history_where_its_feed_is_idle() -> None:
    log = wb.from_arrow(pa.table({"at": pa.array([1, 2, 9], pa.timestamp("ms")), "x": [1, 2, 3]}), time="at")
    quiet = Wire(ends=False, idle_timeout=0.1, schema={"at": "timestamp[ms]", "x": "int64"})
    run = log.then(stream(quiet), keys=["x"], dedup_window=10).tumbling_window(10).aggregate(n=wb.count()).start()
    until(lambda: run.metrics.settled_rows == 1)
    run.stop()


def test_what_a_lost_connection_held_back_is_not_late() -> None:
    wire, links = Wire(row(10), ends=False, idle_timeout=1.0), ["reconnecting"]
    with reading(stream(wire)) as found:
        rows(found, 1)
        until(lambda: found.state.connection == "idle")
        wire.cut.set()
        until(lambda: found.state.connection == "reconnecting")
        wire.cut.clear()
        until(lambda: links.append(found.state.connection) or links[-1] != "reconnecting")  # type: ignore[func-returns-value]
        assert links[-1] == "live"


def test_feeds_of_one_name_are_distinguished() -> None:
    with stream(Wire(row(1), row(2))).union(stream(Wire(row(3)))).start() as run:
        assert run.wait(PATIENCE_S)
        assert {name: state.rows for name, state in run.metrics.feeds.items()} == {"wire": 2, "wire (2)": 1}


def test_metrics_count_all_rows_once_a_feed_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_loop, "_IDLE_S", float("inf"))  # they are not checked from time to time
    wire = Wire(ends=False)
    with stream(wire).start() as run:
        for at in range(5):
            wire.messages.append(row(at))
            until(lambda at=at: run.metrics.rows == run.metrics.feeds["wire"].rows == at + 1)  # type: ignore[misc]


def test_time_does_not_advance_by_default_where_a_feed_is_idle() -> None:
    wire = Wire(row(10), ends=False)
    with reading(stream(wire)) as found:
        rows(found, 1)
        assert found.idle_ticks is None


def test_the_broker_learns_what_is_safe() -> None:
    wire = Wire(row(1), row(2), ends=False)
    with reading(stream(wire)) as found:
        rows(found, 2)
        next(found)
        until(lambda: 2 in wire.safe)


def test_a_fault_that_no_trying_mends_fails_the_query() -> None:
    class Broken(Wire):
        def connect(self, offset: int | None) -> Client:
            raise RuntimeError("the topic password=hunter2 is not yours")

    run = stream(Broken()).start()
    assert ended(run, PATIENCE_S)
    assert run.state == "failed"
    assert "cannot be read" in str(run.error)
    assert "hunter2" not in str(run.error)


def test_a_checkpoint_contains_the_offset(tmp_path: object) -> None:
    wire = Wire(*(row(at, 1) for at in range(10)), ends=False)
    query = stream(wire).tumbling_window(5).aggregate(total=wb.sum(wb.col.x))
    run = query.start()
    until(lambda: run.metrics.rows == 10)
    run.checkpoint(f"{tmp_path}/point")
    run.stop()
    wire.messages += [row(at, 1) for at in range(10, 12)]
    wire.ends = True
    later = wb.restore(f"{tmp_path}/point", query)
    assert later.wait(PATIENCE_S)
    assert later.metrics.rows == 12
    assert later.snapshot().table["total"].to_pylist() == [5, 2]


def test_a_row_number_alone_is_no_offset() -> None:
    wire = Wire(row(1))
    with pytest.raises(SourceError, match="cannot resume at row 5"):
        wire.read(["at"], 5)
