"""Batches of consecutive samples keep no times, and are like those that do."""

from __future__ import annotations

import gc
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Pulse, Schema
from whimbrel.clock import Timebase
from whimbrel.operators import Shift
from whimbrel.optimize import optimize
from whimbrel.plan import Node
from whimbrel.run import Pipeline

ECG = Timebase(Fraction(10**6, 360), Fraction(-5), "")
SCHEMA = Schema((Field("x", pa.int64()), Field("t", pa.int64())))


def batch(first: int, count: int, *, shared: bool = False) -> Batch:
    pulse = Pulse(ECG, first, count)
    times = pulse.times() if shared else np.arange(count)
    return Batch(SCHEMA, pulse, 1, (Column(pa.int64(), np.arange(first, first + count)), Column(pa.int64(), times)))


def stored(rows: Batch) -> Batch:
    return rows.having(sync=rows.sync.copy())


def same(one: Batch, other: Batch) -> bool:
    return (one.sync.tolist() == other.sync.tolist() and one.other.tolist() == other.other.tolist()
            and [column.to_arrow() for column in one.columns] == [column.to_arrow() for column in other.columns])


def test_times_are_made_when_they_are_asked_for_and_kept_by_those_who_asked() -> None:
    rows = batch(2, 1_000)
    assert rows.times.made is None  # type: ignore[union-attr]
    assert len(rows) == 1_000
    assert (rows.time(0), rows.time(-1)) == (ECG.time(2), ECG.time(1_001))
    assert rows.nbytes == 16_000
    times = rows.sync
    assert rows.sync is times
    assert times.tolist() == [ECG.time(sample) for sample in range(2, 1_002)]
    del times
    gc.collect()
    assert rows.times.made is None  # type: ignore[union-attr]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("start", "stop"), [(0, 10), (3, 7), (5, 5), (9, 10)])
def test_a_slice_is_on_the_same_timebase(start: int, stop: int, shared: bool) -> None:
    rows = batch(7, 10, shared=shared)
    part = rows.slice(start, stop)
    assert part.times == Pulse(ECG, 7 + start, stop - start)
    assert same(part, stored(rows).slice(start, stop))
    assert part.is_time(part.columns[1]) == shared


@pytest.mark.parametrize("shared", [False, True])
def test_batches_that_follow_each_other_become_one_pulse(shared: bool) -> None:
    parts = [batch(0, 3, shared=shared), batch(3, 1, shared=shared), batch(4, 5, shared=shared)]
    joined = Batch.concat(parts)
    assert joined.times == Pulse(ECG, 0, 9)
    assert same(joined, Batch.concat([stored(part) for part in parts]))
    assert joined.is_time(joined.columns[1]) == shared


def test_batches_with_a_gap_between_them_keep_their_times() -> None:
    joined = Batch.concat([batch(0, 3), batch(4, 2)])
    assert isinstance(joined.times, np.ndarray)
    assert joined.gaps is None
    assert same(joined, Batch.concat([stored(batch(0, 3)), batch(4, 2)]))


def test_rows_that_are_taken_or_filtered_keep_their_times() -> None:
    rows = batch(0, 6)
    for made in (rows.take(np.array([4, 1])), rows.only(rows.columns[0].values % 2 == 0)):
        assert isinstance(made.times, np.ndarray)
    assert same(rows.with_absent(rows.columns[0].values > 3).compact(), stored(rows).slice(0, 4))


@pytest.mark.parametrize("amount", [-10**6, 3, 10**12])
def test_a_shift_moves_the_timebase(amount: int) -> None:
    shift = Shift(amount=amount).kernel(SCHEMA)
    moved, = shift.push(batch(5, 100))
    expected, = shift.push(stored(batch(5, 100)))
    assert isinstance(moved.times, Pulse)
    assert same(moved, expected)


def log(count: int, batch_rows: int = 1_000) -> wb.Stream:
    table = pa.table({"at": pa.array([ECG.time(sample) for sample in range(count)], pa.timestamp("us")),
                      "x": np.arange(count) % 97})
    batches = pa.Table.from_batches(table.to_batches(max_chunksize=batch_rows), table.schema)
    return wb.from_arrow(batches, time="at", name="log")


def batches_of(node: Node) -> list[Batch]:
    pipeline = Pipeline(node)
    out = []
    for batch in pipeline.sources[0].read(pipeline.sources[0].schema.names):
        out += pipeline.push(0, batch)[0]
        out += pipeline.advance(0, batch.time(-1))[0]
    return out + pipeline.finish(0)[0]


def test_samples_of_one_signal_leave_without_times() -> None:
    found = batches_of(log(3_500).assume(rate=360).node)
    assert [len(rows) for rows in found] == [1_000, 1_000, 1_000, 500]
    assert all(isinstance(rows.times, Pulse) for rows in found)
    assert all(one.times.joined(other.times) for one, other in pairwise(found))  # type: ignore[union-attr, arg-type]


def test_a_missing_sample_ends_a_pulse() -> None:
    found = batches_of(log(3_000).where(col.x != 50).assume(rate=360, gaps=True).node)
    assert not any(isinstance(rows.times, Pulse) for rows in found)
    few = log(3_000).where((col.x != 50) | (col.at < wb.lit("1970-01-01T00:00:05").cast(pa.timestamp("us"))))
    found = batches_of(few.assume(rate=360, gaps=True).node)
    assert [isinstance(rows.times, Pulse) for rows in found] == [True, False, False]


def test_a_loop_over_samples_reads_and_writes_no_times() -> None:
    signal = wb.from_arrow({"at": np.arange(5_000) * 10 + 3, "x": np.arange(5_000) % 97}, time="at").select("x")
    loop = signal.assume(periodic=10, gaps=True).sliding_window(200).aggregate(m=wb.mean(col.x))
    assert "periodic_loop" in loop.explain()
    found = batches_of(optimize(loop.node))
    assert sum(len(rows) for rows in found) > 5_000
    assert any(isinstance(rows.times, Pulse) for rows in found)


QUERIES = {
    "itself": lambda s: s,
    "rows": lambda s: s.where(col.x > 3).select(y=col.x * 2).shift("1ms"),
    "windows": lambda s: s.sliding_window("1s").aggregate(m=wb.mean(col.x), n=wb.count()),
    "hops": lambda s: s.hopping_window("2s", "1s").aggregate(m=wb.max(col.x)),
    "joins": lambda s: s.set_duration("3ms").cross_join(s.select(y=col.x).shift("5ms")),
    "lifetimes": lambda s: s.extend("2ms").chop("1ms").select("x"),
    "patterns": lambda s: s.detect(wb.sequence(one=wb.event(col.x == 1), two=wb.event(col.x == 2)), within="1s"),
    "as of": lambda s: s.asof_join(s.select(z=col.x).shift("1ms")),
    "unions": lambda s: s.union(s.shift("7us")).top_k(2, by=col.x),
    "lasts": lambda s: s.with_columns(a=col.at).set_duration("1ms"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_operators_do_not_see_whether_times_are_stored(name: str) -> None:
    build = QUERIES[name]
    signal = log(1_200, 300)
    assert build(signal.assume(rate=360)).collect().equals(build(signal).collect())
