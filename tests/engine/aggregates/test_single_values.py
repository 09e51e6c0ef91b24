"""Values at the least and largest of another one, and bits: against DuckDB, for ties, nulls and any order of rows."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_, xor
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError
from whimbrel.operators.aggregation import row_values

NAN = float("nan")


def over(**columns: Any) -> Any:
    length = len(next(iter(columns.values())))
    rows = {"at": list(range(length))} | columns
    return wb.from_arrow(rows, time="at").tumbling_window(100)


def value(windows: Any, aggregate: Any) -> Any:
    found, = windows.aggregate(v=aggregate).collect()["v"].to_pylist()
    return found


def test_as_in_duckdb() -> None:
    draw = np.random.default_rng(3)
    rows = pa.table({"at": np.arange(4000), "k": draw.integers(0, 5, 4000),
                     "x": pa.array(draw.permutation(4000), mask=draw.random(4000) < 0.1),
                     "s": pa.array([f"s{n}" for n in draw.permutation(4000)], mask=draw.random(4000) < 0.1),
                     "b": draw.integers(0, 256, 4000)})
    found = wb.from_arrow(rows, time="at").group_by("k").tumbling_window(1000).aggregate(
        a=wb.arg_min(col.s, col.x), b=wb.arg_max(col.x, col.s), c=wb.arg_max(col.b, col.x), d=wb.bit_and(col.b),
        e=wb.bit_or(col.b).where(col.x < 500), f=wb.bit_xor(col.b), g=wb.arg_min(col.s, col.s)).collect()
    expected = duckdb.sql("""select "at" - "at" % 1000 as start, k, arg_min(s, x) as a, arg_max(x, s) as b,
        arg_max(b, x) as c, bit_and(b) as d, bit_or(b) filter (where x < 500) as e, bit_xor(b) as f,
        arg_min(s, s) as g from rows group by all order by all""").fetchall()
    names = ("start", "k", *"abcdefg")
    assert sorted(zip(*(found[name].to_pylist() for name in names), strict=True)) == expected


@pytest.mark.parametrize("word", [str, int])
def test_the_first_of_equal_rows_counts_and_then_the_smallest_value(word: Any) -> None:
    """Values that are words, or numbers, with the same answer for any order of rows."""
    at, x, y = [5, 3, 3, 1, 1, 4], [2, 2, 2, 1, 1, 2], [1, 9, 7, 6, 4, 3]
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(6)
        log = wb.from_arrow({"at": [at[n] for n in order], "x": [x[n] for n in order],
                             "y": [word(y[n]) for n in order]}, time="at", reorder_latency=10).tumbling_window(10)
        found = log.aggregate(a=wb.arg_max(col.y, col.x), b=wb.arg_min(col.y, col.x), c=wb.last(col.y, by=col.x),
                              d=wb.first(col.y, by=-col.x), e=wb.last(col.y, by=-col.x)).collect()
        assert found.select([*"abcde"]).to_pylist() == [
            {name: word(number) for name, number in zip("abcde", (7, 4, 1, 7, 6), strict=True)}]


def test_nan_is_larger_than_every_number() -> None:
    windows = over(x=[1.0, NAN, 5.0, NAN], y=[1, 2, 3, 4])
    assert value(windows, wb.arg_max(col.y, col.x)) == 2
    assert value(windows, wb.arg_min(col.y, col.x)) == 1
    assert value(windows, wb.last(col.y, by=col.x)) == 4


@pytest.mark.parametrize("y", [[None, None, 1], ["a", "b", None]])
def test_a_row_with_a_null_does_not_count_and_without_a_row_it_is_null(y: list[Any]) -> None:
    windows = over(x=[None, None, 2], y=y)
    assert value(windows, wb.arg_max(col.y, col.x)) == y[2]
    assert value(windows, wb.arg_max(col.y, col.x).where(col.x < 0)) is None
    assert value(windows, wb.arg_max(col.y, col.x).min_rows(2)) is None


def test_large_unsigned_integers() -> None:
    x = pa.array([2**64 - 1, 3, 2**63], pa.uint64())
    windows = over(x=x, y=["a", "b", "c"])
    assert [value(windows, wb.arg_max(col.y, col.x)), value(windows, wb.arg_min(col.x, col.y))] == ["a", 2**64 - 1]
    for aggregate, of in ((wb.bit_and, and_), (wb.bit_or, or_), (wb.bit_xor, xor)):
        assert value(windows, aggregate(col.x)) == reduce(of, x.to_pylist())


@pytest.mark.parametrize("word", [str, int])
def test_rows_that_leave(word: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sliding window, with rows forgotten again and again."""
    monkeypatch.setattr(row_values, "INITIAL_ROWS", 8)
    draw = np.random.default_rng(5)
    x, y = draw.integers(0, 9, 300).tolist(), draw.integers(0, 99, 300).tolist()
    log = wb.from_arrow({"at": range(300), "x": x, "y": [word(n) for n in y]}, time="at").sliding_window(10)
    found = log.aggregate(a=wb.arg_max(col.y, col.x), c=wb.bit_or(col.x)).collect().slice(0, 300).to_pylist()
    for row in found:
        rows = range(max(row["start"] - 9, 0), row["start"] + 1)
        assert row["a"] == word(y[max(rows, key=lambda n: (x[n], -n))])
        assert row["c"] == reduce(or_, (x[n] for n in rows))


def test_of_no_integers_it_is_null_and_of_bools_a_bool() -> None:
    windows = over(x=[None, None, 2], f=[True, False, None])
    assert value(windows, wb.bit_and(col.x).where(col.f)) is None
    assert [value(windows, each(col.f)) for each in (wb.bit_and, wb.bit_or, wb.bit_xor)] == [False, True, True]


@pytest.mark.parametrize(("aggregate", "words"), [
    (wb.arg_max(col.x, col.z), "arg_max needs values with an order, got list<"),
    (wb.bit_and(col.x), "bit_and needs integers or bools, got double"),
])
def test_types_that_do_not_fit(aggregate: Any, words: str) -> None:
    with pytest.raises(ExpressionError, match=words):
        over(x=[1.0], z=[[1]]).aggregate(v=aggregate)


def test_threads_and_latency_bands_change_nothing() -> None:
    draw = np.random.default_rng(7)
    late = draw.integers(0, 20, 3000)
    rows = pa.table({"at": np.maximum(np.arange(3000) - late, 0), "x": draw.integers(0, 50, 3000),
                     "s": [f"s{n}" for n in draw.integers(0, 40, 3000)]})
    made = {"a": wb.arg_max(col.s, col.x), "b": wb.arg_min(col.x, col.x), "c": wb.bit_xor(col.x)}
    query = wb.from_arrow(rows, time="at", reorder_latency=25).hopping_window(100, 50).aggregate(**made)
    one = query.collect().to_pylist()
    assert query.collect(threads=2).to_pylist() == one
    assert query.at_latencies(5, 25)[-1].collect().to_pylist() == one
