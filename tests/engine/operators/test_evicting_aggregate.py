"""The evicting table: partial aggregates merged are the aggregate, for any size, order and pattern of collisions."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import INF
from whimbrel.kernels import tier
from whimbrel.operators import EvictingAggregate, GroupAggregate, HoppingWindow
from whimbrel.operators.aggregation import table_size
from whimbrel.operators.aggregation.evicting_kernel import EvictingKernel, in_order
from whimbrel.operators.aggregation.table_size import TableSize
from whimbrel.plan import AggregatePhase

HOP = 10
SCHEMA = Schema((Field("k", pa.int64()), Field("x", pa.int64())), None)
MEASURES = (("n", wb.count()), ("s", wb.sum(col.x)), ("lo", wb.min(col.x)), ("hi", wb.max(col.x)))
ROWS = st.lists(st.tuples(st.integers(0, 39), st.sampled_from([-(2**63), -1, 0, 1, 2, 2**63 - 1]),
                          st.integers(-5, 5)), max_size=60)


def kernel(slots: int, max_slots: int) -> EvictingKernel:
    states = GroupAggregate(keys=(("k", col.k),), measures=MEASURES, part=AggregatePhase.STATES, removable=False)
    window = HoppingWindow(size=HOP, hop=HOP, remembers=False)
    return EvictingAggregate(window=window, states=states, slots=slots, max_slots=max_slots).kernel(SCHEMA)


def batch(rows: list[tuple[int, int, int]]) -> Batch:
    times, keys, values = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Batch(SCHEMA, times, 1, (Column(pa.int64(), keys), Column(pa.int64(), values)))


def merged(partials: list[Batch]) -> dict[tuple[int, int], tuple[int, ...]]:
    """Of each pane and key: rows, sum, smallest, largest."""
    found: dict[tuple[int, int], list[tuple[int, ...]]] = defaultdict(list)
    for each in partials:
        fields = [np.asarray(each.column(name).values).tolist() for name in ("k", "n.0", "s.0", "lo.0", "hi.0")]
        for pane, key, *state in zip(each.sync.tolist(), *fields, strict=True):
            found[pane, key].append(tuple(state))
    return {group: (sum(n for n, *_ in states), sum(s for _, s, *_ in states), min(lo for *_, lo, _ in states),
                    max(hi for *_, hi in states)) for group, states in found.items()}


def exact(rows: list[tuple[int, int, int]]) -> dict[tuple[int, int], tuple[int, ...]]:
    values = defaultdict(list)
    for at, key, value in rows:
        values[at - at % HOP, key].append(value)
    return {group: (len(x), sum(x), min(x), max(x)) for group, x in values.items()}


@pytest.mark.parametrize("form", ["interpreted", "fused", "primitives"])
@settings(max_examples=40, deadline=None)
@given(rows=ROWS, slots=st.sampled_from([1, 2, 8]), cut=st.integers(1, 60), data=st.data())
def test_partial_aggregates_merged_are_the_aggregate(form: Any, rows: list[tuple[int, int, int]], slots: int, cut: int,
                                                     data: st.DataObject) -> None:
    with tier(form), pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_size, "ROWS_PER_SLOT", data.draw(st.sampled_from([1, 8])))
        patch.setattr(table_size, "FIRST_PAUSE_ROWS", 5)
        patch.setattr(table_size, "MAX_FRACTION", data.draw(st.sampled_from([0.5, 2.0])))
        made, out = kernel(slots, 16), list[Batch]()
        for start in range(0, len(rows), cut):
            out += made.push(batch(rows[start : start + cut]))
            assert merged([*out, *made.fork().advance(INF)]) == exact(rows[: start + cut])
            out += made.advance(min((at for at, *_ in rows[start + cut :]), default=INF))
    assert merged(out) == exact(rows)
    panes = [pane for each in out for pane in each.sync.tolist()]
    assert panes == sorted(panes)


def test_a_collision_evicts_the_older_group() -> None:
    made = kernel(1, 1)
    assert made.push(batch([(3, 7, 1), (1, 7, 1), (2, 8, 5), (4, 7, 2)])) == []
    assert made.buffered_rows == 3
    out = made.advance(INF)
    left = [group for each in out for group in zip(
        *(np.asarray(each.column(name).values).tolist() for name in ("k", "n.0", "s.0")), strict=True)]
    assert left == [(7, 2, 2), (8, 1, 5), (7, 1, 2)]


def test_groups_leave_when_their_pane_has_passed() -> None:
    made = kernel(64, 64)
    made.push(batch([(3, 1, 1), (25, 1, 1), (12, 1, 1)]))
    assert [each.sync.tolist() for each in made.advance(19)] == [[0]]
    assert made.watermark == 10
    assert [each.sync.tolist() for each in made.advance(31)] == [[10, 20]]


def test_rows_of_the_oldest_pane_do_not_wait() -> None:
    made = kernel(1, 1)
    made.advance(15)
    assert [each.sync.tolist() for each in made.push(batch([(12, 1, 1), (13, 2, 1), (22, 1, 1), (14, 3, 1)]))] == [
        [10, 10]]
    assert made.buffered_rows == 2


def test_a_table_grows_while_that_helps_and_steps_aside_where_it_saves_nothing() -> None:
    size = TableSize(4, 64)
    for share in (0.6, 0.4, 0.3, 0.29):
        size.measured(size.rows_to_measure, int(share * size.rows_to_measure))
    assert (size.slots, size.pause_rows) == (16, 0)
    for _ in range(2):
        size.measured(size.rows_to_measure, size.rows_to_measure)
    assert size.pause_rows == table_size.FIRST_PAUSE_ROWS
    size.passed(table_size.FIRST_PAUSE_ROWS)
    assert size.pause_rows == 0
    for _ in range(2):
        size.measured(size.rows_to_measure, size.rows_to_measure)
    assert size.pause_rows == 2 * table_size.FIRST_PAUSE_ROWS


def test_batches_that_are_sorted_each_are_sorted_together() -> None:
    few = [batch([(1, 0, 0), (1, 1, 0), (5, 2, 0)])], [batch([(1, 3, 0), (7, 4, 0)])]
    many = [batch([(at, 0, 0) for at in range(0, 200, 2)])], [batch([(at, 0, 0) for at in range(1, 200, 2)])]
    for first, second in (few, many):
        times = [time for each in in_order(first, second) for time in each.sync.tolist()]
        assert times == sorted(time for each in (*first, *second) for time in each.sync.tolist())


LOG_ROWS = 200_000


def log(rows: int = LOG_ROWS, **options: Any) -> wb.Stream:
    chance = np.random.default_rng(2)
    late = np.where(chance.random(rows) < 0.25, chance.integers(0, 900, rows), 0)
    table = pa.table({"at": np.arange(rows) - late, "k": chance.zipf(1.3, rows) % 5_000,
                      "x": chance.integers(0, 9, rows), "y": chance.random(rows)})
    return wb.from_arrow(table, time="at", name="log", **options)


def lower(query: wb.Stream) -> bool:
    return "partial aggregate(" in query.explain().split("runs as\n")[1]


@pytest.mark.parametrize("late", ["drop", "adjust"])
def test_settled_answers_and_late_rows_are_those_of_sorted_rows(late: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, counted = [], []
    for least in (0, 10**9):
        monkeypatch.setattr(sys.modules["whimbrel.optimize.lower_aggregates"], "MIN_ROWS", least)
        source = log(reorder_latency=300, late=late)
        query = source.where(col.x > 0).group_by("k").tumbling_window(1000).aggregate(n=wb.count(), s=wb.sum(col.x))
        assert lower(query) == (least == 0)
        with query.start() as run:
            run.wait()
            answers.append(run.snapshot().table.sort_by([("start", "ascending"), ("k", "ascending")]))
            counted.append((run.metrics.late_dropped, run.metrics.late_adjusted))
    assert answers[0].equals(answers[1])
    assert counted[0] == counted[1]
    assert sum(counted[0]) > 0


PLANS: dict[str, tuple[Any, bool]] = {
    "counts": (lambda s: s.aggregate(n=wb.count()), True),
    "sums of floats depend on order": (lambda s: s.aggregate(s=wb.sum(col.y)), False),
    "a product may overflow": (lambda s: s.aggregate(s=wb.sum(col.x * 2)), False),
    "a median keeps its values": (lambda s: s.aggregate(s=wb.median(col.x)), False),
}


@pytest.mark.parametrize("name", PLANS)
def test_which_aggregates_are_lowered(name: str) -> None:
    build, expected = PLANS[name]
    query = build(log(reorder_latency=300, late="drop").group_by("k").tumbling_window(1000))
    assert lower(query) == expected
    assert ("takes sorted rows: " in query.explain()) == (not expected)


def test_short_logs_and_rows_in_order_are_not_lowered() -> None:
    assert not lower(log(1_000, reorder_latency=300, late="drop").tumbling_window(10).aggregate(n=wb.count()))
    ordered = wb.from_arrow({"at": np.arange(LOG_ROWS)}, time="at", name="log")
    assert not lower(ordered.tumbling_window(10).aggregate(n=wb.count()))
