"""Functions of time, evaluated where they change and at the multiples of a duration."""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.stream.test_temporal_columns import drawn_events, drawn_part
from whimbrel import Stream, col
from whimbrel.batch import Batch, Column
from whimbrel.clock import INF
from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.kernels import tier
from whimbrel.run import time_partitions
from whimbrel.stream.temporal_columns import TemporalParts
from whimbrel.temporal import function_kernel
from whimbrel.testing.oracle import Event
from whimbrel.testing.oracle import temporal as oracle

Row = tuple[Any, ...]


def rows(table: pa.Table) -> list[str]:
    """Rows in any order; NaN is equal to itself, and 0.0 is not -0.0."""
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def stream_of(events: list[Event], *, keys: bool, eighths: bool) -> Stream:
    """Events with a float column, in which some values are NaN; sums of eighths are the same in any order."""
    table = pa.table({
        "at": pa.array([start for start, _, _ in events], pa.int64()),
        "until": pa.array([end for _, end, _ in events], pa.int64()),
        "k": pa.array([row["k"] for _, _, row in events], pa.string()),
        "x": pa.array([None if row["x"] is None else row["x"] / (8 if eighths else 7) if row["x"] else float("nan")
                       for _, _, row in events], pa.float64())})
    stream = wb.from_arrow(table, time="at", end="until", name="log")
    return stream.select("x", "k").group_by("k") if keys else stream.select("x")


def drawn(seed: int, *, eighths: bool = False) -> tuple[Stream, dict[str, Any]]:
    chance = random.Random(seed)
    keys = chance.random() < 0.5
    stream = stream_of(drawn_events(chance, lasting=chance.random() < 0.6, keys=keys), keys=keys,
                       eighths=eighths)
    if chance.random() < 0.3:
        stream = stream.hold(4)
    columns = {f"z{number}": drawn_part(chance, 2)[0] for number in range(chance.randint(1, 3))}
    return stream, columns | ({"x": col.x} if chance.random() < 0.4 else {})


@pytest.mark.parametrize("seed", range(60))
def test_it_is_what_joins_on_the_timeline_give(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stream, columns = drawn(seed, eighths=True)
    with tier("interpreted"):
        found = stream.over_time(**columns)
        monkeypatch.setattr(TemporalParts, "read_at", lambda self, part, alone=False: None)  # noqa: ARG005
        joined = stream.over_time(**columns)
        assert "over_time(" not in joined.explain()
        assert rows(found.collect()) == rows(joined.collect())


@pytest.mark.parametrize("seed", range(20))
def test_values_at_the_starts_of_events_have_the_bits_of_select(seed: int) -> None:
    stream, columns = drawn(seed)
    names = [name for name, _ in stream.keys]
    with tier("interpreted"):
        taken = stream.select(*names, **columns).collect().to_pylist()
        changes = stream.over_time(**columns, there=col.x.exists()).collect().to_pylist()
    by_start = {(row["start"], *(row[name] for name in names)): row for row in changes}
    for row in taken:
        same = by_start[(row["start"], *(row[name] for name in names))]
        assert repr([row[name] for name in columns]) == repr([same[name] for name in columns])


ENDING = {"past": (wb.sum(col.x) / wb.count()).past(6), "ago": col.x.ago(3), "cell": wb.max(col.x).cell(7, offset=2),
          "ahead": wb.mean(col.x).past(4, ahead=5), "previous": col.x.previous(), "later": col.x.ahead(30)}


@pytest.mark.parametrize("seed", range(20))
def test_values_at_multiples_are_those_of_the_changes(seed: int) -> None:
    stream, _ = drawn(seed, eighths=True)
    columns = {name: ENDING[name] for name in random.Random(seed).sample(list(ENDING), 3)}
    with tier("interpreted"):
        changes = stream.over_time(**columns).collect().to_pylist()
        for every in (1, 2, 6):
            found = stream.over_time(every=every, **columns).collect()
            expected = [{**row, "start": time, "end": time + every} for row in changes
                        for time in range(row["start"], row["end"]) if time % every == 0]
            assert rows(found) == rows(pa.Table.from_pylist(expected, found.schema))


@pytest.mark.parametrize("seed", range(20))
def test_coarser_multiples_are_among_the_finer_ones(seed: int) -> None:
    stream, columns = drawn(seed)
    columns |= ENDING
    with tier("interpreted"):
        fine, coarse = (stream.over_time(every=every, **columns).collect() for every in (2, 6))
    among = [row | {"end": row["start"] + 6} for row in fine.to_pylist() if row["start"] % 6 == 0]
    assert rows(coarse) == rows(pa.Table.from_pylist(among, coarse.schema))


@pytest.mark.parametrize("seed", range(12))
def test_a_range_is_a_slice(seed: int) -> None:
    stream, columns = drawn(seed)
    for every in (None, 3):
        whole = stream.over_time(every=every, n=wb.count().past(9), **columns)
        with tier("interpreted"):
            found = whole.between(10, 40).collect()
            expected = [row for row in whole.collect().to_pylist()
                        if row["start"] < 40 and (row["end"] is None or row["end"] > 10)]
        assert rows(found) == rows(pa.Table.from_pylist(expected, found.schema))


@pytest.mark.parametrize("key", [[1, 1, 1], [1, 2, 2]])
def test_portions_change_nothing(key: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    log = wb.from_arrow({"at": [0, 3, 500], "until": [3, 400, 502], "x": [1, 2, 3], "k": key}, time="at",
                        end="until").select("x", "k").group_by("k")
    queries = [log.over_time(n=wb.count().cell(1), s=wb.sum(col.x).past(2)),
               log.over_time(every=2, s=wb.sum(col.x).past(2), r=wb.sum(col.x).past(rows=2))]
    whole = [query.collect() for query in queries]
    for portion in (4, 50):
        monkeypatch.setattr(function_kernel, "_PORTION", portion)
        monkeypatch.setattr(function_kernel, "_INTERPRETED", portion)
        for query, expected in zip(queries, whole, strict=True):
            found = query.collect()
            assert found["start"].to_pylist() == sorted(found["start"].to_pylist())
            assert rows(found) == rows(expected)


def test_an_endless_part_that_keeps_all_values_does_not_count_at_multiples() -> None:
    log = wb.from_arrow({"at": [0, 1, 2], "x": [1.0, 1.0, 1.0]}, time="at").select("x")
    assert log.over_time(every=2, x=col.x, m=wb.median(col.x).past(rows=2)).collect()["m"].to_pylist() == [1, 1]
    with pytest.raises(PlanError, match=re.escape("median(col.x).past(rows=2).ago(1) never ends")):
        log.over_time(every=2, m=wb.median(col.x).past(rows=2).ago(1))
    others: list[dict[str, Any]] = [{"x": col.x}, {"o": wb.median(col.x).past(5)}, {"o": wb.sum(col.x).past(4)},
                                    {"o": wb.median(col.x).past(5), "s": wb.sum(col.x).past(rows=3)}]
    chance = np.random.default_rng(1)
    at = np.flatnonzero(chance.random(60) < 0.4)
    log = wb.from_arrow({"at": at, "x": chance.integers(0, 9, len(at)) * 1.0, "k": at % 2}, time="at").select("x", "k")
    for stream in (log, log.group_by("k")):
        for other in others:  # the median of two values is their mean, which is read by position
            for moved in (lambda part: part, lambda part: part.ago(3), lambda part: part.ahead(2)):
                found, expected = (stream.over_time(every=2, m=moved(of(col.x).past(rows=2)), **other).collect()
                                   for of in (wb.median, wb.mean))
                assert rows(found) == rows(expected)


def test_ranges_of_time_on_two_threads_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 100)
    at = np.cumsum(np.random.default_rng(3).integers(3, 9, 3_000))
    levels = wb.from_arrow({"at": at, "x": np.arange(3_000) % 17}, time="at").select("x").set_duration(3)
    for query in (levels.over_time(m=wb.max(col.x).past(50), x=col.x, a=col.x.ahead(4)),
                  levels.over_time(every=5, m=wb.time_mean(col.x).past(50), x=col.x)):
        assert len(list(time_partitions.in_ranges(query.node, 2))) > 1
        assert query.collect(threads=2).equals(query.collect())


def test_a_value_is_known_before_its_end_is() -> None:
    log = wb.from_arrow({"at": [0], "x": [1]}, time="at").select("x")
    node = log.over_time(n=wb.count().past(8), s=wb.sum(col.x).past(rows=2)).node.inputs[0]
    schema = node.inputs[0].schema
    kernel = node.op.kernel(schema)
    kernel.push(Batch(schema, np.array([0, 10]), 1, (Column(pa.int64(), np.array([1, 2])),)))

    def edges(batches: list[Batch]) -> list[tuple[int, int]]:
        return [pair for batch in batches for pair in zip(batch.sync.tolist(), batch.other.tolist(), strict=True)]

    assert edges(kernel.advance(11)) == [(0, 8), (8, 10), (10, INF)]
    kernel.push(Batch(schema, np.array([15]), 1, (Column(pa.int64(), np.array([3])),)))
    assert edges(kernel.advance(16)) == [(15, 10), (15, INF)]
    ended = kernel.advance(INF)
    assert edges(ended) == [(18, 15), (18, 23), (23, INF)]
    assert [column.to_arrow().to_pylist()[0] for column in ended[0].columns] == [2, 5]


def fold_of(of: Callable[[list[float]], Any]) -> oracle.Fold:
    def values(events: list[dict[str, Any]]) -> Any:
        there = [row["x"] for row in events if row["x"] is not None]
        return of(there) if there else None
    return values


def always(facts: Sequence[Event], time: oracle.Time) -> None:
    """What is there for ever does not keep a function going."""


def total(events: list[dict[str, Any]]) -> float:
    return float(sum(row["x"] or 0 for row in events))


MEDIAN, MAX = fold_of(statistics.median), fold_of(max)
X, THERE = oracle.column(lambda row: row["x"]), oracle.column(lambda _: True)

PARTS: dict[str, tuple[Any, oracle.At, oracle.At]] = {
    "x": (col.x, X, THERE),
    "ago": (col.x.ago(4), oracle.ago(X, 4), oracle.ago(THERE, 4)),
    "ahead": (col.x.ahead(5), oracle.ago(X, -5), oracle.ago(THERE, -5)),
    "previous": (col.x.previous(), oracle.previous(X), THERE),
    "past": (wb.sum(col.x).past(6), oracle.past(total, 6), oracle.past(len, 6)),
    "few": (wb.max(col.x).past(5, ahead=2, min_rows=2), oracle.past(MAX, 5, 2, 2), oracle.past(len, 5, 2)),
    "cell": (wb.max(col.x).cell(7, offset=2), oracle.cell(MAX, 7, 2), oracle.cell(len, 7, 2)),
    "rows": (wb.sum(col.x).past(rows=2), oracle.past_rows(total, 2), always),
    "so_far": (wb.sum(col.x).so_far(), oracle.so_far(total), always),
    "median_so_far": (wb.median(col.x).so_far(), oracle.so_far(MEDIAN), always),
    "median": (wb.median(col.x).past(6, ahead=1), oracle.past(MEDIAN, 6, 1), oracle.past(len, 6, 1)),
    "median_ago": (wb.median(col.x).past(3).ago(5), oracle.ago(oracle.past(MEDIAN, 3), 5),
                   oracle.ago(oracle.past(len, 3), 5)),
    "median_of_cell": (wb.median(col.x).cell(5), oracle.cell(MEDIAN, 5), oracle.cell(len, 5)),
}
"""What is written, what it means, and when it keeps a function going."""


def few_events(chance: random.Random, *, lasting: bool) -> list[Event]:
    """One to four events of one key or two, far apart or close together."""
    out: list[Event] = []
    for key in ("a", "b")[:chance.randint(1, 2)]:
        time = chance.randint(-9, 9)
        for _ in range(chance.randint(1, 2)):
            lasts = chance.choice([1, 2, 7, 30]) if lasting else 1
            out.append((time, time + lasts, {"x": chance.choice([None, 1.0, 2.0, 4.0]), "k": key}))
            time += lasts + chance.choice([0, 1, 6, 40])
    return sorted(out, key=lambda event: event[0])


@pytest.mark.parametrize("seed", range(120))
def test_few_events_at_multiples_are_as_the_oracle_says(seed: int) -> None:
    chance = random.Random(seed)
    keyed, lasting, every = chance.random() < 0.7, chance.random() < 0.5, chance.choice([1, 3, 10])
    events = few_events(chance, lasting=lasting)
    events = events if keyed else [event for event in events if event[2]["k"] == "a"]
    asked = chance.sample(list(PARTS), chance.randint(1, 3))
    if all(PARTS[name][2] is always for name in asked):
        asked.append("median")
    table = pa.table({"at": pa.array([start for start, _, _ in events], pa.int64()),
                      "until": pa.array([end for _, end, _ in events], pa.int64()),
                      "k": [row["k"] for _, _, row in events],
                      "x": pa.array([row["x"] for _, _, row in events], pa.float64())})
    batches = pa.Table.from_batches(table.to_batches(max_chunksize=chance.choice([1, 10])))
    stream = wb.from_arrow(batches, time="at", end="until" if lasting else None).select("x", "k")
    stream = stream.group_by("k") if keyed else stream
    with tier("interpreted"):
        found = stream.over_time(every=every, **{name: PARTS[name][0] for name in asked}).collect()
    expected = []
    for key in sorted({row["k"] for _, _, row in events}):
        mine = [event for event in events if event[2]["k"] == key]
        expected += [
            {"start": time, "end": time + every, "k": key, **{name: PARTS[name][1](mine, time) for name in asked}}
            for time in range(-every * 60, every * 200, every)
            if any(PARTS[name][2](mine, time) is not None for name in asked)]
    assert rows(found) == rows(pa.Table.from_pylist(expected, found.schema))


@pytest.mark.parametrize("unit", [None, "s"])
def test_a_key_whose_events_have_left_has_further_multiples(unit: str | None) -> None:
    for at, start in (([0, 16], [0]), ([0, 18], [0, 18]), ([1, 16], [])):
        times = pa.array(at, pa.int64()) if unit is None else pa.array(at, pa.timestamp(unit))
        log = wb.from_arrow({"t": times, "x": [1.0, 1.0], "k": [0, 0]}, time="t").select("x", "k").group_by("k")
        found = log.over_time(every=3 if unit is None else "3s", x=col.x).collect()
        assert found["start"].cast(pa.int64()).to_pylist() == start
        assert found["x"].to_pylist() == [1] * len(start)


def test_samples_after_all_events_have_left_are_null() -> None:
    log = wb.from_arrow({"t": [25], "x": [1.0]}, time="t").select("x")
    found = log.over_time(every=3, x=col.x, m=wb.median(col.x).past(6, ahead=1)).collect()
    assert found.to_pylist() == [{"start": at, "end": at + 3, "x": None, "m": 1} for at in (24, 27, 30)]


def test_times_at_the_limits_are_refused_in_words() -> None:
    for at in (-2**63 + 20, 2**63 - 20):
        log = wb.from_arrow({"at": [at], "x": [1]}, time="at").select("x")
        assert log.over_time(n=wb.count().past(3)).collect().num_rows == 1
        for every in (None, 100):
            with pytest.raises(WhimbrelError, match="too close to the limit of int64"):
                log.over_time(every=every, n=wb.count().past(100)).collect()


def test_events_are_kept_as_long_as_windows_read_them() -> None:
    log = wb.from_arrow({"at": [0], "k": [1]}, time="at").select("k").group_by("k")
    node = log.over_time(n=wb.count().past(2_000)).node.inputs[0]
    schema = node.inputs[0].schema
    kernel = node.op.kernel(schema)
    for begin in range(0, 300_000, 10_000):
        at = np.arange(begin, begin + 10_000)
        kernel.push(Batch(schema, at, 1, (Column(pa.int64(), at % 700),)))
        kernel.advance(begin + 10_000)
        assert kernel.buffered_rows < 100_000


def test_each_key_has_rows_of_its_own() -> None:
    at = np.arange(60_000)
    log = wb.from_arrow({"at": at, "k": at % 700}, time="at").select("k").group_by("k")
    found = log.over_time(n=wb.count().past(2_000)).collect()
    assert found["n"].to_numpy().max() == 3
    assert found.num_rows == 2 * 60_000 - 700  # where events start and leave, but where the last one of a key leaves


def test_only_a_window_alone_is_a_periodic_loop() -> None:
    log = wb.from_arrow({"at": range(50), "x": range(50)}, time="at").select("x")
    window, x = wb.mean(col.x).past(20), col.x
    for options, loop in (({"m": window}, True), ({"m": window, "x": x}, False), ({"m": window, "every": 2}, False)):
        assumed, plain = (stream.over_time(**options) for stream in (log.assume(periodic=1), log))
        assert ("periodic_loop(" in assumed.explain()) is loop
        assert assumed.collect().equals(plain.collect())


def test_functions_of_the_same_name_are_not_confused() -> None:
    one, ten = (wb.aggregate(init=0, accumulate=lambda s, x, n=n: s + n * x, result=lambda s: s, name="u",
                             returns=pa.int64()) for n in (1, 10))
    log = wb.from_arrow({"at": range(5), "x": range(5)}, time="at").select("x")
    for every in (None, 2):
        with pytest.raises(WhimbrelError, match="Two different functions have the same text"):
            log.over_time(every=every, a=one(col.x).past(3), b=ten(col.x).past(3))
