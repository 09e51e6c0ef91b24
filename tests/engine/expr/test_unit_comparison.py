"""Times and spans of different units are compared as they are, however far from 1970; what cannot be says why."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.expr.rowloop import interpreted
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.errors import KernelError
from whimbrel.expr import evaluate

COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
            "!=": operator.ne}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EDGES = [-(2**63), -(2**63) + 1, -10**9 - 1, -10**9, -1, 0, 1, 5, 5 * 10**9, 5 * 10**9 + 1, 2**63 - 1]
PAIRS = [(x, y) for x in EDGES for y in EDGES]


@pytest.mark.parametrize("kind", [pa.timestamp, pa.duration], ids=["times", "spans"])
@pytest.mark.parametrize(("one", "other"), [("s", "ns"), ("ns", "s"), ("us", "ms"), ("ms", "us"), ("us", "ns")])
def test_every_pair_of_ticks(kind: Callable[[str], pa.DataType], one: str, other: str) -> None:
    of = batch(a=pa.array([x for x, _ in PAIRS], pa.int64()).cast(kind(one)),
               b=pa.array([y for _, y in PAIRS], pa.int64()).cast(kind(other)))
    for compare in COMPARED.values():
        right = [compare(x * PER_SECOND[other], y * PER_SECOND[one]) for x, y in PAIRS]
        expr = compare(col.a, col.b)
        assert values(expr, of) == right
        assert interpreted(expr, of, evaluate(expr, of)).to_arrow().to_pylist() == right


def test_a_column_with_a_finer_literal() -> None:
    of = batch(a=pa.array([0, 5, 253_402_300_799], pa.timestamp("s")))
    between = pd.Timestamp(5, unit="s") + pd.Timedelta(1, "ns")
    assert values(col.a < between, of) == [True, True, False]
    assert values(col.a.between(between, between), of) == [False] * 3
    assert values(col.a.is_in([between, pd.Timestamp(0)]), of) == [True, False, False]


def test_a_date_that_a_unit_cannot_count_is_not_its_last_tick() -> None:
    of = batch(n=pa.array([0, 2**63 - 1], pa.timestamp("ns")), d=[date(1970, 1, 1), date(9999, 12, 31)])
    assert values(col.n == col.d, of) == [True, False]
    assert values(col.n < col.d, of) == [False, True]


def test_nulls_are_null() -> None:
    of = batch(a=pa.array([None, 1], pa.timestamp("s")), b=pa.array([1, None], pa.timestamp("ns")))
    assert values(col.a < col.b, of) == [None, None]


def test_far_times_in_a_whole_query() -> None:
    log = wb.from_arrow({"t": [0, 1], "until": pa.array([5, 253_402_300_799], pa.timestamp("s")),
                         "now": pa.array([6 * 10**9, 0], pa.timestamp("ns"))}, time="t")
    assert log.where(col.until > col.now).collect()["t"].to_pylist() == [1]
    assert log.tumbling_window(2).aggregate(n=wb.count().where(col.until <= col.now)).collect()["n"].to_pylist() == [1]


@pytest.mark.parametrize(("expr", "words"), [
    (col.a - col.b, "9999-12-31 23:59:59 is outside the range of timestamp[ns]"),
    (col.x + 1, "9223372036854775807 + 1 leaves int64"),
    (col.x * col.x, "9223372036854775807 * 9223372036854775807 leaves int64"),
    (col.x**2, "9223372036854775807 ** 2 leaves int64"),
    (-col.low, "-(-9223372036854775808) leaves int64"),
    (col.x.cast("int8"), "9223372036854775807 does not fit into int8"),
    (col.f.cast("int64"), "nan does not fit into int64"),
    (col.u + 1, "18446744073709551615 is above the largest int64"),
    (col.d * 2, "leaves duration[s]"),
], ids=repr)
def test_an_overflow_says_of_which_value_and_what_to_do(expr: Any, words: str) -> None:
    log = wb.from_arrow({"t": [0, 1], "a": pa.array([0, 253_402_300_799], pa.timestamp("s")),
                         "b": pa.array([1, 2], pa.timestamp("ns")), "x": [1, 2**63 - 1], "low": [1, -2**63],
                         "f": [0.0, float("nan")], "u": pa.array([1, 2**64 - 1], pa.uint64()),
                         "d": pa.array([1, 2**62], pa.duration("s"))}, time="t")
    with pytest.raises(KernelError) as caught:
        log.select(v=expr).collect()
    assert words in caught.value.what
    assert caught.value.where == expr.show()
    assert caught.value.hint


def test_a_union_says_which_value_does_not_fit() -> None:
    far = wb.from_arrow({"t": [0], "seen": pa.array([253_402_300_799], pa.timestamp("s"))}, time="t")
    near = wb.from_arrow({"t": [0], "seen": pa.array([1], pa.timestamp("ns"))}, time="t")
    words = r"column 'seen' does not fit into timestamp\[ns\].*9999-12-31 23:59:59"
    with pytest.raises(KernelError, match=words) as caught:
        far.union(near).collect()
    assert "Cast 'seen' of the other stream to timestamp[s]" in str(caught.value.hint)
    spans = (wb.from_arrow({"t": [0], "d": pa.array([ticks], pa.duration(unit))}, time="t")
             for ticks, unit in ((timedelta(weeks=142_857) // timedelta(seconds=1), "s"), (1, "ns")))
    with pytest.raises(KernelError, match=r"column 'd' does not fit into duration\[ns\].*: 142857w"):
        next(spans).union(next(spans)).collect()
