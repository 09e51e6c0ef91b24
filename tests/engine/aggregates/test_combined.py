"""Aggregates that are expressions of others, against DuckDB and for corner cases."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col


def over(x: list[Any], w: list[Any] | None = None) -> Any:
    rows = {"at": list(range(len(x))), "x": pa.array(x), "w": pa.array(w or [1.0] * len(x))}
    return wb.from_arrow(rows, time="at").tumbling_window(100)


def test_as_in_duckdb() -> None:
    draw = np.random.default_rng(3)
    rows = pa.table({"at": np.arange(3000), "k": draw.integers(0, 5, 3000), "x": pa.array(draw.lognormal(2, 1, 3000),
                     mask=draw.random(3000) < 0.1), "w": pa.array(draw.random(3000), mask=draw.random(3000) < 0.1)})
    found = wb.from_arrow(rows, time="at").group_by("k").tumbling_window(1000).aggregate(
        n=wb.n_null(col.x), w=wb.weighted_mean(col.x, col.w), g=wb.geometric_mean(col.x)).collect()
    expected = duckdb.sql("""select "at" - "at" % 1000 as since, k, count(*) - count(x) as n,
        sum(x * w) / sum(case when x is not null then w end) as w, exp(avg(ln(x))) as g
        from rows group by since, k order by since, k""").fetchall()
    names = ("start", "k", "n", "w", "g")
    ours = sorted(zip(*(found[name].to_pylist() for name in names), strict=True))
    assert [row[:3] for row in ours] == [row[:3] for row in expected]
    np.testing.assert_allclose([row[3:] for row in ours], [row[3:] for row in expected], rtol=1e-12)


@pytest.mark.parametrize(("x", "w", "mean"), [
    ([2, 8, None, 5], [1, 3, 7, None], 6.5), ([None, 4], [3, None], None), ([2, 8], [0, 0], None),
    ([2, 4], [1, -1], None), ([2**62, 2**62], [2**62, 2**62], 2.0**62),
])
def test_pairs_with_a_null_do_not_count(x: list[Any], w: list[Any], mean: float | None) -> None:
    assert over(x, w).aggregate(m=wb.weighted_mean(col.x, col.w)).collect()["m"].to_pylist() == [mean]


@pytest.mark.parametrize(("x", "mean"), [([1.0, None, 4.0], 2.0), ([3.0, 0.0], 0.0), ([-1.0, 2.0], math.nan),
                                         ([1e300, 1e300], 1e300)])
def test_geometric_mean(x: list[Any], mean: float) -> None:
    found = over(x).aggregate(g=wb.geometric_mean(col.x)).collect()["g"].to_pylist()
    np.testing.assert_allclose(found, [mean], rtol=1e-12)


def test_geometric_mean_of_nothing_is_null() -> None:
    rows = over([None, None, 1.0]).aggregate(g=wb.geometric_mean(wb.when(col.x > 1).then(col.x).otherwise(None)))
    assert rows.collect()["g"].to_pylist() == [None]
