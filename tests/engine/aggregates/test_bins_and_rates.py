"""Histograms of fixed bins, and rates of counters: against NumPy, and corner cases."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, PlanError


def test_bins_as_in_numpy() -> None:
    draw = np.random.default_rng(3)
    at, x = np.arange(3000), np.round(draw.normal(0, 3, 3000), 1)
    edges = [-5, -1.5, 0, 0.1, 4]
    log = wb.from_arrow({"at": at, "x": x}, time="at")
    found = log.tumbling_window(500).aggregate(h=wb.histogram(col.x, edges)).collect()["h"].to_pylist()
    assert found == [np.histogram(part, edges)[0].tolist() for part in x.reshape(6, 500)]
    sliding = log.hopping_window(1000, 500).aggregate(h=wb.histogram(col.x, edges)).collect()["h"].to_pylist()
    assert sliding[1:-1] == [np.add(*both).tolist() for both in pairwise(found)]


def test_bins_of_times_nulls_and_nan() -> None:
    day = datetime(2024, 1, 1)
    log = wb.from_arrow({"at": range(4), "t": [day, day + timedelta(1), None, day + timedelta(2)],
                         "x": [1.0, None, float("nan"), 9.0]}, time="at").tumbling_window(10)
    made = {"t": wb.histogram(col.t, [day, day + timedelta(1), day + timedelta(2)]), "x": wb.histogram(col.x, [0, 5])}
    assert log.aggregate(**made).collect().select(["t", "x"]).to_pylist() == [{"t": [1, 2], "x": [1]}]


@pytest.mark.parametrize("edges", [[1], [], [2, 1], [1, 1], "ab", [1, "a"], list(range(102))])
def test_edges_that_do_not_fit(edges: Any) -> None:
    with pytest.raises(PlanError, match="edges must be a list of 2 to 101 increasing values"):
        wb.histogram(col.x, edges)


@pytest.mark.parametrize(("x", "per_minute"), [
    ([10, 40, 5], 1.5 * 35 / 2.5 / 1.5), ([10, None, None], None), ([None, 3, 3], 0.0)])
def test_rates_of_a_counter_with_resets(x: list[Any], per_minute: float | None) -> None:
    begin = datetime(2024, 1, 1)
    log = wb.from_arrow({"ts": [begin, begin + timedelta(seconds=60), begin + timedelta(seconds=150)],
                         "x": pa.array(x, pa.int64())}, time="ts")
    found = log.tumbling_window("1h").aggregate(m=wb.rate(col.x, col.ts, per="1m"), s=wb.rate(col.x, col.ts))
    row, = found.collect().to_pylist()
    assert row["m"] == (None if per_minute is None else pytest.approx(per_minute))
    assert row["s"] == (None if per_minute is None else pytest.approx(per_minute / 60))


def test_two_values_at_one_time_have_no_rate() -> None:
    log = wb.from_arrow({"at": [1, 1], "x": [3, 5]}, time="at").tumbling_window(5)
    assert log.aggregate(r=wb.rate(col.x, col.at, per=1)).collect()["r"].to_pylist() == [None]
    for per in (0, -1, True, "0s"):
        with pytest.raises(PlanError, match="per"):
            wb.rate(col.x, col.at, per=per)


def test_lists_of_values_of_a_row() -> None:
    log = wb.from_arrow({"at": [0, 1], "x": [1, None], "s": ["a", "b"], "y": [3, 4]}, time="at")
    made = log.select(a=wb.concat_list(col.x, col.y, col.y), b=wb.concat_list(col.s)).collect()
    assert made.select(["a", "b"]).to_pylist() == [{"a": [1, 3, 3], "b": ["a"]}, {"a": None, "b": ["b"]}]
    assert wb.sql("SELECT list_value(y, y) AS v FROM log", log=log).collect()["v"].to_pylist() == [[3, 3], [4, 4]]
    with pytest.raises(ExpressionError, match="A list has values of one type, got int64 and string"):
        log.select(a=wb.concat_list(col.x, col.s))
