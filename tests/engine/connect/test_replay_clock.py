"""A clock that replays follow: how time goes by, stands, and comes in spans."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate, islice

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from tests.engine.connect.test_replay import INFINITE, StoppedClock, log, replay
from whimbrel.batch import Batch
from whimbrel.connect import ArrowSource, Replay, ReplayClock
from whimbrel.errors import PlanError
from whimbrel.optimize import optimize
from whimbrel.run import Pipeline
from whimbrel.run.source_reader import SourceReader

SEEN = st.lists(st.integers(0, 9), min_size=1, max_size=40).map(lambda waits: list(accumulate(waits)))


def count_rows(reading: Iterator[Batch | None], times: int) -> int:
    """How many rows come when one asks so many times."""
    return sum(len(batch or ()) for batch in islice(reading, times))


def test_a_paused_clock_gives_nothing_before_it_is_stepped_or_resumed() -> None:
    machine = StoppedClock()
    clock = ReplayClock(10, paused=True, _machine=machine)
    reading = Replay(log([5, 5, 7, 30]), clock=clock, reorder_latency=60).read(["x"])
    assert (count_rows(reading, 5), clock.now, clock.state) == (0, None, "paused")
    clock.step()
    assert (count_rows(reading, 5), clock.now) == (2, datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC))
    clock.step("1s")
    assert (count_rows(reading, 5), clock.now) == (0, datetime(1970, 1, 1, 0, 0, 6, tzinfo=UTC))
    clock.step("batch")
    assert (count_rows(reading, 5), clock.now) == (2, datetime(1970, 1, 1, 0, 0, 30, tzinfo=UTC))
    assert next(reading, "ended") == "ended"
    assert clock.state == "ended"


def test_three_steps_in_a_row_are_three_steps() -> None:
    clock = ReplayClock(paused=True, _machine=StoppedClock())
    reading = Replay(log([1, 2, 3, 4]), clock=clock, reorder_latency=60).read(["x"])
    for _ in range(3):
        clock.step()
    assert count_rows(reading, 9) == 3


def test_the_range_is_known_with_the_first_row() -> None:
    clock = ReplayClock(_machine=StoppedClock())
    reading = Replay(log([5, 7, 30, 90]), clock=clock, reorder_latency=60, start=6).read(["x"])
    count_rows(reading, 2)
    assert [each.timestamp() for each in clock.range] == [7, 90]
    assert clock.fraction == 0


def test_the_end_of_the_range_is_that_of_the_replay() -> None:
    clock = ReplayClock(_machine=StoppedClock())
    count_rows(Replay(log([5, 7, 90]), clock=clock, reorder_latency=60, end=60).read(["x"]), 2)
    assert [each.timestamp() for each in clock.range] == [5, 59]


def test_the_speed_can_change_while_it_plays() -> None:
    machine = StoppedClock()
    clock = ReplayClock(1, _machine=machine)
    reading = Replay(log(list(range(1_000))), clock=clock, reorder_latency=60).read(["x"])
    began = machine.time
    while machine.time < began + 10:
        next(reading)
    assert clock.now.timestamp() == pytest.approx(10, abs=0.1)
    clock.speed = 20
    while machine.time < began + 20:
        next(reading)
    assert clock.now.timestamp() == pytest.approx(210, abs=1.1)


def test_a_clock_waits_for_the_slowest_reader() -> None:
    machine = StoppedClock()
    clock = ReplayClock(INFINITE, _machine=machine)
    fast, slow = (Replay(log(list(range(1_100_000))), clock=clock, reorder_latency=60).read(["x"]) for _ in range(2))
    assert (count_rows(fast, 1), count_rows(slow, 1)) == (1_048_576, 1_048_576)
    assert count_rows(fast, 3) == 0
    machine.time += 10
    assert count_rows(fast, 1) == 1_100_000 - 1_048_576, "nobody waits for one that reads no more"


def test_setting_it_reads_up_to_there_and_time_continues_from_there() -> None:
    machine = StoppedClock()
    clock = ReplayClock(1, _machine=machine)
    reading = Replay(log(list(range(1_000))), clock=clock, reorder_latency=60).read(["x"])
    count_rows(reading, 1)
    clock.seek("1970-01-01T00:10")
    assert count_rows(reading, 2) == 600
    assert clock.now.timestamp() == pytest.approx(600, abs=0.1)
    clock.seek("1965-01-01")
    assert clock.now.timestamp() == 0
    clock.seek(clock.range[1])
    assert clock.now.timestamp() == 999


@pytest.mark.parametrize(("to", "rows"), [(4, 0), (20, 4), (40, 7), (99, 8)])
def test_it_can_be_set_before_anything_is_read(to: int, rows: int) -> None:
    clock = ReplayClock(INFINITE, paused=True)
    query = two_sources(clock)
    clock.seek(to)
    run = query.start()
    assert (clock.wait(PATIENCE_S), run.metrics.rows) == (True, rows)
    run.stop()


def test_it_cannot_be_set_after_the_last_arrival_of_all_that_follow() -> None:
    clock = ReplayClock(INFINITE, paused=True)
    run = two_sources(clock).start()
    until(lambda: clock.range[1] is not None)
    for after in (51, "1975-01-01"):
        with pytest.raises(PlanError, match=r"after the last arrival of the log, 1970-01-01 00:00:50"):
            clock.seek(after)
    assert clock.seeks == 0
    clock.seek(50)  # one of them has ended before
    assert (clock.wait(PATIENCE_S), clock.now, run.metrics.rows) == (True, clock.range[1], 8)
    run.stop()


def test_one_that_cannot_tell_its_end_leaves_it_unknown() -> None:
    clock = ReplayClock(1, _machine=StoppedClock())
    known, unknown = (log(seen) for seen in ([1, 2], [1, 99]))
    unknown.rows = None
    for each in (known, unknown):
        count_rows(Replay(each, clock=clock, reorder_latency=60).read(["x"]), 1)
    clock.seek(99)
    assert (clock.now.timestamp(), clock.range[1], clock.fraction) == (99, None, None)


def two_sources(clock: ReplayClock | None = None, machine: object = None, **options: object) -> wb.Stream:
    left = wb.from_arrow(log([10, 20, 30, 40]).table, time="t", arrival="seen", name="left")
    right = wb.from_arrow(log([5, 20, 33, 50]).table, time="t", arrival="seen", name="right")
    clock = clock or ReplayClock(1, _machine=machine or StoppedClock())
    sources = [wb.replay(each, clock=clock, reorder_latency=60, **options) for each in (left, right)]
    return sources[0].select("x").union(sources[1].select("x"))


def read(stream: wb.Stream) -> list[tuple[int, int]]:
    """Which source had how many rows, batch by batch."""
    pipeline = Pipeline(optimize(stream.node))
    pushed, found = pipeline.push, []

    def push(source: int, batch: Batch) -> object:
        found.append((source, len(batch)))
        return pushed(source, batch)

    pipeline.push = push
    reader = SourceReader(pipeline)
    while not reader.finished:
        reader.step()
    return found


def test_replays_of_a_query_are_read_in_the_order_of_their_arrivals() -> None:
    assert [source for source, _ in read(two_sources())] == [1, 0, 0, 1, 0, 1, 0, 1]


def test_replays_without_a_clock_follow_one() -> None:
    logs = [wb.from_arrow(log(seen).table, time="t", arrival="seen", name=name)
            for name, seen in (("a", [1000, 1001]), ("b", [0, 1, 2]))]
    first, second = (wb.replay(each, speed=INFINITE, reorder_latency=60) for each in logs)
    run = first.union(second).start()
    assert run.wait(30)
    assert [each.timestamp() for each in run.clock.range] == [0, 1001]


@given(SEEN, st.integers(1, 12), st.sampled_from([0.5, 7, INFINITE]), st.integers(1, 9))
def test_spans_come_in_the_same_batches_however_fast_and_however_the_log_is_cut(
        seen: list[int], every: int, speed: float, cut: int) -> None:
    table = log(seen).table
    chunked = pa.concat_tables([table.slice(at, cut) for at in range(0, len(seen), cut)])
    source = ArrowSource(chunked, time="t", arrival="seen")
    feed = replay(source, speed, machine=StoppedClock(), every=f"{every}s")
    spans: dict[int, int] = {}
    for each in seen:
        spans[each // every] = spans.get(each // every, 0) + 1
    assert [len(batch) for batch in feed.read(["x"]) if batch is not None] == list(spans.values())


@pytest.mark.parametrize("speed", (1, 9, INFINITE))
def test_joined_replays_come_in_the_same_order_however_fast(speed: float) -> None:
    clock = ReplayClock(speed, _machine=StoppedClock())
    assert read(two_sources(clock, every="20s")) == [(0, 1), (1, 1), (0, 2), (1, 2), (0, 1), (1, 1)]


def test_answers_come_in_the_same_batches_too() -> None:
    source = wb.from_arrow(log(list(range(0, 3_000, 3))).table, time="t", arrival="seen")

    def answers(speed: float) -> list[pa.RecordBatch]:
        feed = wb.replay(source, clock=ReplayClock(speed, _machine=StoppedClock()), reorder_latency=60, every="90s")
        return list(feed.tumbling_window("10s").aggregate(n=wb.count()).batches())

    slow, fast = answers(200), answers(INFINITE)
    assert len(slow) > 20
    assert len(slow) == len(fast)
    assert all(one.equals(other) for one, other in zip(slow, fast, strict=True))


def test_a_span_is_a_batch_of_a_step() -> None:
    clock = ReplayClock(paused=True, _machine=StoppedClock())
    reading = Replay(log([1, 2, 11, 12, 13]), clock=clock, reorder_latency=60, every="10s").read(["x"])
    clock.step()
    assert (count_rows(reading, 4), clock.now.timestamp()) == (2, 9)


@pytest.mark.parametrize(("wrong", "what"), (
    (lambda one, _: wb.replay(one, speed=5, clock=ReplayClock(), reorder_latency=0), "the clock has the speed"),
    (lambda one, _: wb.replay(one, every="0s", reorder_latency=0), "every must be positive, got '0s'"),
    (lambda *_: ReplayClock(speed=-1), "speed must be a positive number, got -1"),
    (lambda *_: setattr(ReplayClock(), "speed", 0), "speed must be a positive number, got 0"),
    (lambda *_: ReplayClock().seek("2013-01-01"), "No replay follows this clock yet"),
    (lambda *_: ReplayClock().step("1h"), "No replay follows this clock yet"),
    (lambda one, two: wb.replay(one, speed=1, reorder_latency=0).union(
        wb.replay(two, speed=2, reorder_latency=0)).start(), "must have one speed, got 1, 2"),
    (lambda one, two: wb.replay(one, clock=ReplayClock(), reorder_latency=0).union(
        wb.replay(two, clock=ReplayClock(), reorder_latency=0)).collect(), "must follow one clock, got several"),
))
def test_what_makes_no_common_time_is_refused(wrong: object, what: str) -> None:
    one, two = (wb.from_arrow(log([1, 2]).table, time="t", arrival="seen", name=name) for name in ("one", "two"))
    with pytest.raises(PlanError, match=what):
        wrong(one, two)


def test_plain_integers_and_instants_share_no_clock() -> None:
    clock = ReplayClock()
    wb.replay(wb.from_arrow({"t": [1]}, time="t"), clock=clock)
    with pytest.raises(PlanError, match="'seen' has instants, 't' has integers"):
        Replay(log([1]), clock=clock, reorder_latency=0)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("pandas", [True, False])
def test_nanoseconds_are_not_cut_off(zone: str | None, pandas: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeking to the instant that a clock shows keeps every row that it has delivered."""
    if pandas:
        pytest.importorskip("pandas")
    else:
        monkeypatch.setattr("whimbrel.connect.replay.arrival_time.find_spec", lambda _: None)
    base = 10**18
    seen = pa.array([base + 100, base + 200, base + 1_300], pa.timestamp("ns", zone))
    source = ArrowSource(pa.table({"at": seen, "x": [1, 2, 3]}), time="at", arrival="at")
    clock = ReplayClock(paused=True, _machine=StoppedClock())
    reading = Replay(source, clock=clock, reorder_latency=0).read(["x"])
    clock.step()
    clock.step()
    assert count_rows(reading, 5) == 2
    exact = [getattr(each, "value", each) for each in (clock.now, *clock.range)]
    assert exact == [base + 200, base + 100, base + 1_300]
    for to, rows in ((clock.now, 2), (clock.range[1], 3), (clock.range[0], 1)):
        assert to is not None
        clock.seek(to)
        again = Replay(source, clock=clock, reorder_latency=0).read(["x"])
        assert count_rows(again, 9) == rows
