"""Aggregates of all values in order: against DuckDB, for corner cases, and any order of rows."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError, PlanError

NAN = math.nan


def over(x: Any) -> Any:
    log = wb.from_arrow({"at": list(range(len(x))), "x": x}, time="at", reorder_latency=10)
    return log.with_columns(there=col.x.is_not_null()).tumbling_window(100)


def value(x: Any, aggregate: Any) -> Any:
    found, = over(x).aggregate(v=aggregate).collect()["v"].to_pylist()
    return found


def test_as_in_duckdb() -> None:
    draw = np.random.default_rng(3)
    rows = pa.table({"at": np.arange(4000), "k": draw.integers(0, 5, 4000),
                     "x": pa.array(np.round(draw.normal(0, 9, 4000), 1), mask=draw.random(4000) < 0.1),
                     "n": draw.integers(-9, 9, 4000), "s": [f"s{n}" for n in draw.integers(0, 30, 4000)]})
    found = wb.from_arrow(rows, time="at").group_by("k").tumbling_window(1000).aggregate(
        a=wb.sum_distinct(col.n).where(col.n > -5), b=wb.sum_distinct(col.x), c=wb.quantiles(col.x, [0.1, 0.5, 0.99]),
        d=wb.quantiles(col.n, [0.3]), e=wb.mad(col.x), f=wb.mad(col.n), g=wb.entropy(col.s),
        h=wb.string_agg(col.s, "; ", order="value"), i=wb.string_agg(col.s, "", descending=True)).collect()
    expected = duckdb.sql("""select "at" - "at" % 1000 as start, k, sum(distinct n) filter (where n > -5) as a,
        sum(distinct x) as b, quantile_cont(x, [0.1, 0.5, 0.99]) as c, quantile_cont(n, [0.3]) as d,
        mad(x) as e, mad(n) as f, entropy(s) as g, string_agg(s, '; ' order by s) as h,
        string_agg(s, '' order by "at" desc) as i from rows group by all order by all""").fetchall()
    ours = sorted(zip(*(found[name].to_pylist() for name in ("start", "k", *"abcdefghi")), strict=True))
    for mine, theirs in zip(ours, expected, strict=True):
        assert (mine[:3], mine[9:]) == (theirs[:3], theirs[9:])
        for number, other in zip(mine[3:9], theirs[3:9], strict=True):
            assert number == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize(("x", "most"), [
    ([3, 2, 2, 3, 9], 2), ([None, None, 1.5], 1.5), ([NAN, NAN, 1.0], NAN), ([0.0, -0.0, 1.0, 1.0], 0.0),
    (["b", "a", "b", None], "b"), ([Decimal("1.5"), Decimal("1.5"), Decimal("0.1")], Decimal("1.5")),
    ([True, False, True], True),
])
def test_the_most_frequent_value_of_several_the_smallest(x: list[Any], most: Any) -> None:
    assert str(value(x, wb.mode(col.x))) == str(most)


@pytest.mark.parametrize("aggregate", [
    wb.mode(col.x), wb.quantiles(col.x, [0.5]), wb.mad(col.x), wb.entropy(col.x), wb.increase(col.x),
    wb.string_agg(col.x.cast("string"))])
def test_of_nothing_it_is_null(aggregate: Any) -> None:
    log = wb.from_arrow({"at": [0, 1, 5, 6, 9], "x": [1.0, 2.0, None, None, 3.0]}, time="at").tumbling_window(4)
    found = log.aggregate(v=aggregate).collect()["v"].to_pylist()
    assert [each is None for each in found] == [False, True, aggregate.name == "increase"]
    assert value([1.0, None], wb.sum_distinct(col.x).where(col.x > 5)) == 0


def test_sums_of_different_values_are_exact_or_an_error() -> None:
    assert value([2**62, 2**62, -5, 2**62 - 1, None], wb.sum_distinct(col.x)) == 2**63 - 6
    assert value([-(2**63), 5, 5], wb.sum_distinct(col.x)) == 5 - 2**63
    assert value([Decimal("0.10"), Decimal("0.10"), Decimal("2.05")], wb.sum_distinct(col.x)) == Decimal("2.15")
    assert value(pa.array([2**63, 2**62, 2**62], pa.uint64()), wb.sum_distinct(col.x).where(col.there & (
        col.x < 2**63))) == 2**62
    for x in ([2**62, 2**62 + 1], pa.array([2**64 - 1], pa.uint64())):
        with pytest.raises(KernelError, match="does not fit into int64"):
            value(x, wb.sum_distinct(col.x))


def test_large_integers_and_infinities() -> None:
    assert value(pa.array([2**64 - 1, 2**64 - 1, 0], pa.uint64()), wb.quantiles(col.x, [0, 0.5])) == [0.0, 2.0**64]
    assert value([1.0, math.inf, 3.0], wb.mad(col.x)) == 2.0
    assert value([5, 5, 5], wb.entropy(col.x)) == 0.0


@pytest.mark.parametrize(("x", "grown"), [
    ([7, 9, 1, 4], 6), ([7.5, 9.0], 1.5), ([3], None), ([5, 5], 0), ([1, None, 4], 3), ([9, 0, 0, 2], 2),
])
def test_the_increase_of_a_counter_with_resets(x: list[Any], grown: Any) -> None:
    assert value(x, wb.increase(col.x)) == grown


def test_the_order_of_rows_does_not_show() -> None:
    draw = np.random.default_rng(5)
    at, x = draw.integers(0, 9, 60), draw.normal(size=60) * 10.0 ** draw.integers(-9, 9, 60)
    made = {"a": wb.string_agg(col.s), "b": wb.increase(col.x), "c": wb.sum_distinct(col.x), "d": wb.entropy(col.s),
            "e": wb.mad(col.x), "f": wb.mode(col.s)}
    answers = []
    for _ in range(3):
        order = draw.permutation(60)
        log = wb.from_arrow({"at": at[order], "x": x[order], "s": [f"s{n}" for n in x[order].astype(int) % 7]},
                            time="at", reorder_latency=10)
        answers.append(log.hopping_window(6, 2).aggregate(**made).collect().to_pylist())
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize(("make", "words"), [
    (lambda: wb.string_agg(col.x), "string_agg needs strings, got double"),
    (lambda: wb.mad(col.x.cast("string")), "mad needs numbers, got string"),
    (lambda: wb.quantiles(col.x.cast("string"), [0.5]), "quantiles needs numbers, got string"),
    (lambda: wb.quantiles(col.x, [1.5]), r"q must be between 0 and 1, got 1.5"),
    (lambda: wb.quantiles(col.x, []), r"qs must be a list of fractions, got \[\]"),
    (lambda: wb.string_agg(col.x, 5), "separator must be a string, got 5"),  # type: ignore[arg-type]
    (lambda: wb.string_agg(col.x, order="size"), "order must be"),  # type: ignore[arg-type]
])
def test_what_does_not_fit(make: Any, words: str) -> None:
    with pytest.raises((ExpressionError, PlanError), match=words):
        over([1.0]).aggregate(v=make())
