"""Every aggregate gives the same on Spark as in one process, in windows of each kind."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

AGGREGATES: dict[str, Any] = {
    "count": wb.count(), "sum": wb.sum(col.x), "mean": wb.mean(col.f), "min": wb.min(col.x), "max": wb.max(col.f),
    "any": wb.any(col.x > 8), "all": wb.all(col.x > 0), "any_value": wb.any_value(col.k), "first": wb.first(col.x),
    "last": wb.last(col.x), "arg_min": wb.arg_min(col.t, col.y), "arg_max": wb.arg_max(col.t, col.y),
    "bit_and": wb.bit_and(col.x), "bit_or": wb.bit_or(col.x), "bit_xor": wb.bit_xor(col.x), "std": wb.std(col.f),
    "var": wb.var(col.f), "sum_of_squares": wb.sum_of_squares(col.x), "product": wb.product(col.x),
    "corr": wb.corr(col.x, col.f), "cov": wb.cov(col.x, col.f), "slope": wb.slope(col.x, col.f),
    "intercept": wb.intercept(col.x, col.f), "r2": wb.r2(col.x, col.f), "skew": wb.skew(col.f),
    "kurtosis": wb.kurtosis(col.f), "n_null": wb.n_null(col.x), "weighted_mean": wb.weighted_mean(col.f, col.y),
    "geometric_mean": wb.geometric_mean(col.y), "increase": wb.increase(col.y), "rate": wb.rate(col.y, col.at, per=1),
    "histogram": wb.histogram(col.x, [0, 3, 6, 10]), "count_distinct": wb.count_distinct(col.x),
    "approx_count_distinct": wb.approx_count_distinct(col.x), "approx_quantile": wb.approx_quantile(col.f, 0.5),
    "approx_top_k": wb.approx_top_k(col.x, 2), "median": wb.median(col.f), "quantile": wb.quantile(col.f, 0.9),
    "quantiles": wb.quantiles(col.f, [0.1, 0.9]), "mode": wb.mode(col.x), "entropy": wb.entropy(col.x),
    "mad": wb.mad(col.f), "string_agg": wb.string_agg(col.t, ","), "sum_distinct": wb.sum_distinct(col.x),
    "collect": wb.collect(col.x), "top_k": wb.top_k(col.x, 2),
}

WINDOWS: dict[str, Callable[[Stream], Stream]] = {
    "tumbling": lambda s: s.tumbling_window(100),
    "hopping": lambda s: s.hopping_window(100, 50),
    "the whole log": lambda s: s.tumbling_window(wb.WHOLE),
}


@pytest.fixture(scope="module")
def log() -> pa.Table:
    draw = np.random.default_rng(4)
    rows = 600
    x = draw.integers(0, 10, rows)
    return pa.table({"at": np.arange(rows), "k": draw.integers(0, 3, rows), "y": np.cumsum(draw.integers(1, 9, rows)),
                     "x": pa.array(x, mask=draw.random(rows) < 0.1), "f": draw.normal(size=rows).round(3),
                     "t": [f"t{each}" for each in draw.integers(0, 5, rows)]})


def test_every_aggregate_is_here() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/aggregate_examples.md").read_text()
    assert set(re.findall(r"^\| `(?:wb\.)?(\w+)", page, re.MULTILINE)) == set(AGGREGATES)


@pytest.mark.share(3)
@pytest.mark.parametrize("window", WINDOWS)
def test_aggregates_on_spark_as_here(spark: SparkSession, log: pa.Table, window: str) -> None:
    def answer(stream: Stream, **on: Any) -> list[dict[str, Any]]:
        query = WINDOWS[window](stream.group_by("k")).aggregate(**AGGREGATES)
        rows: list[dict[str, Any]] = query.collect(**on).to_pylist()
        return sorted(rows, key=lambda row: (row["start"], row["k"]))

    expected = answer(wb.from_arrow(log, time="at", name="log"))
    found = answer(wb.from_spark(spark.createDataFrame(log).repartition(3), time="at", name="log"), on=spark)
    assert len(expected) >= 3
    assert len(found) == len(expected)
    for ours, theirs in zip(expected, found, strict=True):
        assert {name for name in ours if not same(ours[name], theirs[name])} == set()


def same(ours: Any, theirs: Any) -> bool:
    """Equal; floats up to the last digits, since their sums depend on the order of rows."""
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(ours) and math.isnan(theirs))
    return bool(ours == theirs)
