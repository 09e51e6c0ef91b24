"""Even flush: the rows and their order are those of a window that is flushed when it closes, however rows are cut."""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import INF
from whimbrel.errors import PlanError
from whimbrel.kernels import Kernel, tier
from whimbrel.kernels.state import restored, state_of
from whimbrel.operators import GroupAggregate
from whimbrel.plan import WindowGrid

HOP = 10
SCHEMA = Schema((Field("k", pa.int64()), Field("j", pa.string()), Field("x", pa.int64())), None)
MEASURES = (("n", wb.count()), ("s", wb.sum(col.x)), ("mid", wb.median(col.x)), ("names", wb.string_agg(col.j)))
ROWS = st.lists(st.tuples(st.integers(0, 59), st.integers(-5, 9), st.integers(-5, 5)), max_size=80).map(sorted)
EVEN = sys.modules["whimbrel.operators.aggregation.even_flush"]


def kernel(keys: tuple[str, ...], measures: int, *, even: bool) -> Kernel:
    operator = GroupAggregate(keys=tuple((key, col[key]) for key in keys), measures=MEASURES[:measures], even=even,
                              grid=WindowGrid(HOP, HOP))
    return operator.kernel(SCHEMA)


def batch(rows: list[tuple[int, int, int]]) -> Batch:
    times, keys, values = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    names = Column.from_arrow(pa.array([f"key {key % 7}" for key in keys.tolist()]))
    return Batch(SCHEMA, times, 1, (Column(pa.int64(), keys), names, Column(pa.int64(), values)))


def shown(batches: list[Batch]) -> list[tuple[Any, ...]]:
    return [row for each in batches for row in zip(each.sync.tolist(), *(column.to_arrow().to_pylist()
                                                                         for column in each.columns), strict=True)]


@pytest.mark.parametrize("form", ["interpreted", "fused", "primitives"])
@settings(max_examples=60, deadline=None)
@given(rows=ROWS, cut=st.integers(1, 80), keys=st.sampled_from([(), ("k",), ("j",), ("k", "j")]),
       measures=st.integers(1, 4), data=st.data())
def test_rows_and_their_order_stay_the_same(form: Any, rows: list[tuple[int, int, int]], cut: int,
                                            keys: tuple[str, ...], measures: int, data: st.DataObject) -> None:
    with tier(form), pytest.MonkeyPatch.context() as patch:
        patch.setattr(EVEN, "MIN_GROUPS", data.draw(st.sampled_from([1, 3])))
        patch.setattr(EVEN, "_PORTION_GROUPS", data.draw(st.sampled_from([1, 2, 100])))
        made, plain = kernel(keys, measures, even=True), kernel(keys, measures, even=False)
        out, expected = list[Batch](), list[Batch]()
        for start in range(0, len(rows), cut):
            part, rest = batch(rows[start : start + cut]), rows[start + cut :]
            out, expected = out + made.push(part), expected + plain.push(part)
            if data.draw(st.booleans()):
                watermark = rest[0][0] if rest else rows[-1][0] + data.draw(st.integers(0, 40))
                out, expected = out + made.advance(watermark), expected + plain.advance(watermark)
            assert made.watermark <= plain.watermark
            assert shown([*out, *made.fork().advance(INF)]) == shown([*expected, *plain.fork().advance(INF)])
            if data.draw(st.booleans()):
                made = restored(kernel(keys, measures, even=True), state_of(made))
        assert shown(out + made.advance(INF)) == shown(expected + plain.advance(INF))


def test_finished_groups_leave_in_proportion_to_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EVEN, "_PORTION_GROUPS", 1)
    monkeypatch.setattr(EVEN, "MIN_GROUPS", 10)
    made = kernel(("k",), 2, even=True)
    made.push(batch([(0, key, 1) for key in range(100)]))
    assert made.advance(HOP) == []
    assert made.buffered_rows == 100
    assert made.watermark == 0
    left = [sum(map(len, made.push(batch([(HOP, key, 1) for key in range(20)])))) for _ in range(6)]
    assert left == [25, 25, 25, 25, 0, 0]
    assert made.watermark == HOP


def test_all_groups_have_left_when_the_next_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EVEN, "MIN_GROUPS", 10)
    made = kernel(("k",), 2, even=True)
    made.push(batch([(0, key, 1) for key in range(100)]))
    assert made.advance(HOP) == []
    assert made.advance(2 * HOP - 1) == []
    assert sum(map(len, made.advance(2 * HOP))) == 100
    assert made.watermark == 2 * HOP


@pytest.mark.parametrize("rows", [3_000, 150_000])
@pytest.mark.parametrize("latency", [0, 500])
def test_a_query_gives_the_same_table(rows: int, latency: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["whimbrel.optimize.lower_aggregates"], "MIN_ROWS", 1_000)
    draw = np.random.default_rng(3)
    log = pa.table({"at": np.arange(rows) - draw.integers(0, latency + 1, rows), "x": draw.integers(0, 9, rows),
                    "k": draw.integers(0, rows // 3, rows)})
    stream = wb.from_arrow(log, time="at", reorder_latency=latency)

    def table(flush: Literal["close", "even"]) -> pa.Table:
        query = stream.group_by("k").tumbling_window(rows // 2).aggregate(n=wb.count(), s=wb.sum(col.x), flush=flush)
        assert ("flushed evenly" in query.explain()) == (flush == "even")
        return query.collect().sort_by([("start", "ascending"), ("k", "ascending")])

    assert table("even").equals(table("close"))


def test_even_flush_needs_a_tumbling_window() -> None:
    stream = wb.from_arrow({"at": [1], "x": [1]}, time="at")
    for wrong in (stream, stream.hopping_window(10, 5), stream.tumbling_window(10, closed="both")):
        with pytest.raises(PlanError, match="needs a tumbling window directly before"):
            wrong.aggregate(n=wb.count(), flush="even")
    with pytest.raises(PlanError, match="flush must be 'close' or 'even', got True"):
        stream.tumbling_window(10).aggregate(n=wb.count(), flush=True)  # type: ignore[arg-type]


def test_a_result_cannot_have_the_name_of_an_option() -> None:
    stream = wb.from_arrow({"at": [1], "x": [1]}, time="at").tumbling_window(10)
    with pytest.raises(PlanError, match="'flush' is an option of aggregate"):
        stream.aggregate(flush=wb.count())  # type: ignore[arg-type]
