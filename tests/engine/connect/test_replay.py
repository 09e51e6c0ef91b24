from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise, takewhile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.connect.reading import rows
from whimbrel.batch import Batch
from whimbrel.connect import ArrowSource, Replay, ReplayClock
from whimbrel.errors import PlanError, SchemaError, SourceError
from whimbrel.plan import OrderingSpec

INFINITE = float("inf")
COLUMNS = ("x", "t")


class StoppedClock:
    """A clock that moves only when someone sleeps, or when the test says so."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


def log(seen: list[int | None], type_: pa.DataType | None = None, **arguments: object) -> ArrowSource:
    data = pa.table({
        "t": pa.array(range(len(seen))).cast(type_ or pa.timestamp("s", "UTC")),
        "seen": pa.array(seen, pa.int64()).cast(type_ or pa.timestamp("s", "UTC")),
        "x": pa.array([f"row {row}" for row in range(len(seen))]),
    })
    return ArrowSource(data, **{"time": "t", "arrival": "seen", **arguments})


def replay(source: ArrowSource, speed: float = INFINITE, *, machine: object = time, **arguments: object) -> Replay:
    return Replay(source, clock=ReplayClock(speed, _machine=machine), **{"reorder_latency": 60, **arguments})


@given(waits=st.lists(st.integers(0, 100)), speed=st.sampled_from([1, 50, INFINITE]), offset=st.integers(0, 5))
def test_a_replay_gives_the_rows_of_the_log_in_order(waits: list[int], speed: float, offset: int) -> None:
    source = log(np.cumsum(waits, dtype=np.int64).tolist())
    feed = replay(source, speed, machine=StoppedClock())
    assert rows(feed, COLUMNS, offset) == rows(source, COLUMNS, offset)


@given(waits=st.lists(st.integers(0, 100), min_size=1))
def test_rows_come_when_they_came(waits: list[int]) -> None:
    seen = np.cumsum(waits).tolist()
    clock = StoppedClock()
    began, speed = clock.time, 20
    at = 0
    for batch in replay(log(seen), speed, machine=clock).read(COLUMNS):
        reached = seen[0] + (clock.time - began) * speed
        at += 0 if batch is None else len(batch)
        assert at == 0 or seen[at - 1] <= reached + 1e-6, "a row came early"
        late = [came for came in seen[at:] if came < reached - 1]
        assert not late, "rows that were due are missing"


def test_whoever_reads_hears_something_every_50_ms() -> None:
    clock = StoppedClock()
    reading = replay(log([0, 1, 1_000_000]), 1, machine=clock).read(["x"])
    times = [1000, *(clock.time for _ in takewhile(lambda _: clock.time < 1002, reading))]
    assert len(times) > 30
    assert max(later - sooner for sooner, later in pairwise(times)) <= 0.0501


def test_rows_gather_while_none_is_taken_for_10_ms() -> None:
    clock = StoppedClock()
    source = log(list(range(10_000)), pa.timestamp("ms", "UTC"), reorder_latency=0)
    batches = [batch for batch in replay(source, 1, machine=clock).read(["x"]) if batch is not None]
    assert sum(map(len, batches)) == 10_000
    assert len(batches) <= 1_002
    assert min(clock.slept) >= 0.00999


def test_time_stands_still_while_nobody_reads() -> None:
    clock = StoppedClock()
    reading = replay(log(list(range(100_000))), 10, machine=clock).read(["x"])
    assert len(next(reading) or ()) == 1
    clock.time += 3_600
    received = sum(0 if batch is None else len(batch) for batch in (next(reading), next(reading)))
    assert received <= 10


def test_a_batch_is_never_too_large() -> None:
    feed = replay(log([0] * 2_200_000), 1, machine=StoppedClock())
    assert [len(batch or ()) for batch in feed.read([])] == [1_048_576, 1_048_576, 102_848]


def test_the_machine_s_clock_paces_too() -> None:
    began = datetime.now(UTC)
    assert len(rows(replay(log([0, 60, 120]), 600), ["x"])) == 3
    assert datetime.now(UTC) - began >= timedelta(seconds=0.2)


def test_a_replay_is_a_feed_of_the_log() -> None:
    source = log([1, 2], reorder_latency="5m", late="drop", name="flights")
    feed = Replay(source, 10)
    assert feed.live
    assert (feed.name, feed.schema, feed.time, feed.arrival, feed.rows) == ("flights", source.schema, "t", "seen", 2)
    assert feed.disorder == OrderingSpec(300, "drop")
    assert Replay(source, reorder_latency="1m", late="adjust").disorder == OrderingSpec(60, "adjust")
    assert Replay(source, start=2).rows is None


def test_without_an_arrival_rows_come_at_their_time() -> None:
    source = ArrowSource(pa.table({"t": [3, 5, 5, 9]}), time="t")
    assert [row[0] for row in rows(Replay(source, INFINITE, start=4, end=9), ["t"])] == [5, 5]


def test_the_arrival_need_not_be_asked_for() -> None:
    batch = next(replay(log([1, 2])).read(["x"]))
    assert isinstance(batch, Batch)
    assert batch.schema.names == ("x",)


DAY = 86_400
NEW_YORK = timezone(timedelta(hours=-5))


@pytest.mark.parametrize(("start", "end", "offset", "kept"), (
    (DAY, None, 0, [2, 3, 4, 5]),
    (DAY, 2 * DAY, 0, [2, 3]),
    (DAY, None, 3, [5]),
    ("1970-01-02", date(1970, 1, 3), 0, [2, 3]),
    ("1970-01-02T00:00:01", datetime(1970, 1, 3), 0, [3]),
    ("1970-01-02T00:00:00.000001", None, 0, [3, 4, 5]),
    (datetime(1970, 1, 2, tzinfo=UTC), datetime(1970, 1, 2, tzinfo=NEW_YORK), 0, [2, 3]),
    (None, DAY, 0, [0, 1]),
    ("2000-01-01", None, 0, []),
))
def test_bounds_are_of_the_arrival(start: object, end: object, offset: int, kept: list[int]) -> None:
    clock = StoppedClock()
    seen: list[int | None] = [0, 5, DAY, DAY + 5, 2 * DAY, 3 * DAY]
    feed = replay(log(seen), 1e6, start=start, end=end, machine=clock)
    assert [row[0] for row in rows(feed, ["x"], offset)] == kept
    assert clock.time < 1001, "skipped rows are not waited for"


def test_bounds_without_a_zone_are_in_the_column_s_zone() -> None:
    source = log([5 * 3_600 - 1, 5 * 3_600], pa.timestamp("s", "America/New_York"))
    assert [row[0] for row in rows(replay(source, start="1970-01-01"), ["x"])] == [1]


def test_days_are_replayed_as_days() -> None:
    days = pa.table({"t": [date(1970, 1, 1), date(1970, 1, 2)]})
    clock = StoppedClock()
    feed = replay(ArrowSource(days, time="t"), 86_400, machine=clock)
    assert [row[0] for row in rows(feed, [])] == [0, DAY]
    assert clock.time - 1000 == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize(("arguments", "what"), (
    ({"speed": 0}, "speed must be a positive number, got 0."),
    ({"speed": float("nan")}, "speed must be a positive number, got nan."),
    ({"start": "yesterday"}, "Cannot read 'yesterday' as a time."),
    ({"start": True}, "Cannot read True as a time."),
    ({"reorder_latency": None},
     "A replay needs a reorder latency, because an unbounded stream cannot be sorted whole."),
))
def test_what_makes_no_feed_is_refused(arguments: dict[str, object], what: str) -> None:
    with pytest.raises(PlanError) as caught:
        Replay(log([1]), **{"reorder_latency": 60, **arguments})
    assert caught.value.what == what
    assert caught.value.where.startswith("replay(table, speed=")


def test_moments_must_fit_the_column() -> None:
    with pytest.raises(PlanError, match="has a time zone, but 'seen' has none"):
        replay(log([1], pa.timestamp("s")), start="1970-01-01T00:00Z")
    with pytest.raises(PlanError, match="times of 't' are integers"):
        Replay(ArrowSource(pa.table({"t": [1]}), time="t"), start="1970-01-01")


def test_a_feed_is_not_replayed_and_an_unknown_column_is_not_read() -> None:
    feed = replay(log([1]))
    with pytest.raises(PlanError, match="but 'table' is a feed"):
        Replay(feed)
    with pytest.raises(SchemaError, match="no column 'y'"):
        feed.read(["y"])


@pytest.mark.parametrize("parts", [[[1, 4], [3, 9]], [[1, 4, 3, 9]]])
def test_arrivals_out_of_order_are_refused_by_row(parts: list[list[int]]) -> None:
    data = pa.table({"t": pa.chunked_array(parts)})
    with pytest.raises(SourceError, match="Row 2 arrived before the previous row: 't' decreases") as caught:
        rows(Replay(ArrowSource(data, time="t"), INFINITE), ["t"])
    assert "arrival=" in caught.value.hint
    with pytest.raises(SourceError, match="Row 1 arrived before") as caught:
        rows(replay(log([4, 3])), ["x"])
    assert "Sort the log by 'seen'" in caught.value.hint


def test_a_row_that_never_came_is_refused() -> None:
    with pytest.raises(SourceError, match="Row 1 has no arrival time: 'seen' is null"):
        rows(replay(log([1, None, 3])), ["x"])
