"""Means, medians and quantiles of times and durations: whole ticks of their unit, against Python's fractions."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.kernels import tier

SPANS = [pa.duration("s"), pa.duration("ns"), pa.timestamp("s"), pa.timestamp("ns"),
         pa.timestamp("us", "Europe/Berlin")]
OF_DAY = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
TYPES = [*SPANS, *OF_DAY]
ASKED = {"mean": wb.mean(col.x), "median": wb.median(col.x), "low": wb.quantile(col.x, 0.25),
         "high": wb.quantile(col.x, 0.9, descending=True)}


def ticks_of(column: pa.ChunkedArray) -> list[int | None]:
    narrow = pa.types.is_time32(column.type)
    return column.cast(pa.int32() if narrow else pa.int64()).to_pylist()  # type: ignore[no-any-return]


def column_of(ticks: list[int | None], type_: pa.DataType) -> pa.Array:
    return pa.array(ticks, pa.int32() if pa.types.is_time32(type_) else pa.int64()).cast(type_)


def quantile(values: list[int], share: Fraction) -> int:
    position = share * (len(values) - 1)
    below = values[int(position)]
    above = values[min(int(position) + 1, len(values) - 1)]
    return round(below + (above - below) * (position - int(position)))  # Python rounds halves to even, as we do


def expected(values: list[int]) -> dict[str, int | None]:
    if not values:
        return dict.fromkeys(ASKED)
    values = sorted(values)
    return {"mean": round(Fraction(sum(values), len(values))), "median": quantile(values, Fraction(1, 2)),
            "low": quantile(values, Fraction(1, 4)), "high": quantile(values, Fraction(1, 10))}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_whole_ticks_of_their_unit(type_: pa.DataType, name: Any) -> None:
    rng = random.Random(str(type_))
    most = 80_000 if type_ in OF_DAY else 2**62
    least = 0 if type_ in OF_DAY else -most
    ticks = [None if rng.random() < 0.1 else rng.randrange(least, most) // 10 ** rng.randrange(4) for _ in range(50)]
    start = sorted(rng.randrange(100) for _ in ticks)
    table = pa.table({"t": start, "x": column_of(ticks, type_)})
    with tier(name):
        log = wb.from_arrow(table, time="t")
        for ask, back in ((log.tumbling_window(10), 0), (log.sliding_window(13), 13)):
            found = ask.aggregate(**ASKED).collect()
            assert all(found.schema.field(each).type == type_ for each in ASKED)
            columns = {each: ticks_of(found[each]) for each in ASKED}
            for row, begin in enumerate(found["start"].to_pylist()):
                first, last = (begin - back + 1, begin) if back else (begin, begin + 9)
                values = [tick for at, tick in zip(start, ticks, strict=True)
                          if tick is not None and first <= at <= last]
                assert {each: columns[each][row] for each in ASKED} == expected(values)


EDGES = [([2**63 - 1] * 3, 2**63 - 1), ([-(2**63)] * 3, -(2**63)), ([2**63 - 1, -(2**63)], 0), ([1, 2], 2), ([0, 1], 0),
         ([-1, 0], 0), ([-3, 0], -2), ([-1, -2, -2], -2)]


@pytest.mark.parametrize(("ticks", "middle"), EDGES)
def test_at_the_edge(ticks: list[int], middle: int) -> None:
    table = pa.table({"t": np.arange(len(ticks)), "x": column_of(list(ticks), pa.duration("ns"))})
    window = wb.from_arrow(table, time="t").tumbling_window(10)
    mean, median = (ticks_of(window.aggregate(v=each(col.x)).collect()["v"])[0] for each in (wb.mean, wb.median))
    assert mean == middle
    assert median == expected(ticks)["median"]


def test_updates_and_latencies_end_in_the_same_answer() -> None:
    table = pa.table({"t": np.arange(100), "seen": np.arange(100) + np.arange(100) % 7,
                      "x": column_of(list(range(100)), pa.timestamp("us"))})
    window = wb.from_arrow(table, time="t").tumbling_window(10).aggregate(**ASKED)
    assert window.progressive(block_rows=10).finish().equals(window.collect())
    late = wb.from_arrow(table, time="t", arrival="seen").tumbling_window(10).aggregate(**ASKED)
    *_, last = late.at_latencies(0, 10)
    assert last.collect().equals(late.collect())


@pytest.mark.parametrize(("ask", "hint"), [
    (wb.mean(col.x), "timestamp"), (wb.median(col.x), "discrete"), (wb.approx_quantile(col.x, 0.5), "discrete")])
def test_dates_have_no_middle(ask: Any, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        ask.result_type(pa.date32())
    assert hint in caught.value.hint
    with pytest.raises(ExpressionError, match="needs numbers") as caught:
        wb.approx_quantile(col.x, 0.5).result_type(pa.duration("s"))
    assert "quantile(" in caught.value.hint


def test_a_sum_of_durations_that_leaves_int64_is_named() -> None:
    log = wb.from_arrow({"t": [0, 1], "x": pa.array([2**62] * 2, pa.duration("ns"))}, time="t")
    with pytest.raises(KernelError, match="A sum of durations leaves int64"):
        log.tumbling_window(5).aggregate(total=wb.sum(col.x)).collect()
