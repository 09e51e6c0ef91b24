"""Statistics of pairs and shapes: against NumPy, SciPy and exact fractions; corner cases, and any order of rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError

ALL = {"corr": wb.corr(col.x, col.y), "cov": wb.cov(col.x, col.y), "of_all": wb.cov(col.x, col.y, sample=False),
       "slope": wb.slope(col.y, col.x), "intercept": wb.intercept(col.y, col.x), "r2": wb.r2(col.y, col.x),
       "skew": wb.skew(col.x), "kurtosis": wb.kurtosis(col.x)}


def found(x: Any, y: Any) -> dict[str, Any]:
    log = wb.from_arrow({"at": list(range(len(x))), "x": pa.array(x), "y": pa.array(y)}, time="at")
    row, = log.tumbling_window(10**6).aggregate(**ALL).collect().select([*ALL]).to_pylist()
    return row


@pytest.mark.parametrize("mean", [0.0, 1e6])
def test_as_in_scipy(mean: float) -> None:
    draw = np.random.default_rng(5)
    x = draw.lognormal(0, 1, 4000)
    y = 3 * x + draw.normal(0, 2, 4000)
    line = stats.linregress(x, y)
    expected = {"corr": line.rvalue, "cov": np.cov(x, y)[0, 1], "of_all": np.cov(x, y, bias=True)[0, 1],
                "slope": line.slope, "r2": line.rvalue**2, "skew": stats.skew(x), "kurtosis": stats.kurtosis(x)}
    ours = found(mean + x, mean + y)
    for name, value in expected.items():  # at 1e6 the inputs have lost digits, and no more are
        assert ours[name] == pytest.approx(value, rel=1e-12 if not mean else 1e-6), name
    if not mean:
        assert ours["intercept"] == pytest.approx(line.intercept, rel=1e-9)


def test_a_mean_far_from_zero_costs_no_digits() -> None:
    x, y = [1e9 + value for value in (0, 1, 2, 5)], [-3e8 + value for value in (1, 0, 4, 2)]
    exact = [Fraction(value) for value in x], [Fraction(value) for value in y]
    means = [sum(values) / 4 for values in exact]
    cov = sum((a - means[0]) * (b - means[1]) for a, b in zip(*exact, strict=True)) / 3
    assert found(x, y)["cov"] == float(cov)


def test_unsigned_integers_above_int64_are_numbers_and_those_that_integers_cannot_hold_are_refused() -> None:
    x, y = pa.array([2**64 - 1, 2**64 - 2048, 2**63, 5, None], pa.uint64()), pa.array([1, 2, 3, 5, 6], pa.uint64())
    as_floats = found(x.cast(pa.float64(), safe=False), y.cast(pa.float64()))
    assert found(x, y) == as_floats
    assert as_floats["corr"] == pytest.approx(np.corrcoef(np.asarray(x[:4], float), [1, 2, 3, 5])[0, 1])
    added = wb.aggregate(init=0, accumulate=lambda s, a, b: s + a + b, result=lambda s: s, name="added")
    log = wb.from_arrow({"at": list(range(5)), "x": x, "y": y}, time="at").tumbling_window(10)
    with pytest.raises(wb.WhimbrelError, match="above the largest int64"):
        log.aggregate(s=added(col.y, col.x)).collect()


def shape(x: Any) -> tuple[float, float]:
    """Skewness and excess kurtosis, by exact fractions."""
    exact = [Fraction(value) for value in x]
    mean = sum(exact) / len(x)
    second, third, fourth = (sum((value - mean) ** power for value in exact) / len(x) for power in (2, 3, 4))
    return float(third) / float(second) ** 1.5, float(fourth / second**2 - 3)


FAR = {
    "three": [1e9 + 0.1, 1e9 + 0.2, 1e9 + 0.3],
    "at_1e8": list(1e8 + np.random.default_rng(1).normal(size=1000)),
    "at_1e12": list(1e12 + np.random.default_rng(2).lognormal(size=500)),
    "at_2_to_52": [2.0**52, 2.0**52 + 1, 2.0**52 + 2, 2.0**52 + 7],
    "outlier_first": [-1e15, *np.random.default_rng(3).normal(size=999)],
    "outlier_last": [*np.random.default_rng(3).normal(size=999), -1e15],
    "descending": list(-1e10 - np.arange(300.0) ** 2),
}


@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("hop", [10**6, 70], ids=["at_once", "merged"])
def test_shape_of_values_far_from_zero(name: str, hop: int) -> None:
    x = FAR[name]
    log = wb.from_arrow({"at": list(range(len(x))), "x": x}, time="at")
    of = {"s": wb.skew(col.x), "k": wb.kurtosis(col.x)}
    rows = log.hopping_window(10 * hop, hop).aggregate(**of).collect().to_pylist()
    assert rows
    for row in rows:
        taken = x[max(row["end"] - 10 * hop, 0) if row["end"] - row["start"] < 10 * hop else row["start"]:row["end"]]
        if len(set(taken)) > 1:
            assert (row["s"], row["k"]) == pytest.approx(shape(taken), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize(("x", "kurtosis"), [([1e-80, 2e-80, 4e-80], math.nan), ([1e90, 2e90, 4e90], math.nan),
                                             ([1e200, 1e200], None), ([math.nan, 1.0, 2.0], math.nan)])
def test_a_variance_out_of_range_is_no_number(x: list[float], kurtosis: float | None) -> None:
    row = found(x, x)
    for name in ("skew", "kurtosis"):
        assert row[name] is None if kurtosis is None else math.isnan(row[name])


def test_the_order_of_rows_does_not_show() -> None:
    draw = np.random.default_rng(6)
    x, y = draw.normal(size=(2, 2000)) * draw.lognormal(size=(2, 2000))
    first = found(x, y)
    for _ in range(4):
        order = draw.permutation(2000)
        assert found(x[order], y[order]) == first


@pytest.mark.parametrize(("x", "y", "nulls"), [
    ([1.0], [2.0], {"corr", "cov", "slope", "intercept", "r2", "skew", "kurtosis"}),
    ([1.0, 1.0, 1.0], [1.0, 2.0, 4.0], {"corr", "slope", "intercept", "r2", "skew", "kurtosis"}),
    ([1.0, 2.0, 4.0], [0.1, 0.1, 0.1], {"corr"}),
    ([None, 1.0, 2.0], [1.0, None, 3.0], {"corr", "cov", "slope", "intercept", "r2"}),
])
def test_what_is_not_determined_is_null(x: list[Any], y: list[Any], nulls: set[str]) -> None:
    assert {name for name, value in found(x, y).items() if value is None} == nulls


def test_what_is_no_number_gives_no_number_and_integers_are_exact() -> None:
    assert all(math.isnan(value) for value in found([1.0, math.inf, 3.0], [1.0, 2.0, 4.0]).values())
    assert found([2**52, 2**52 + 1], [1, 3])["cov"] == 1.0


def test_a_mean_far_from_zero_costs_no_digits_in_one_part_or_in_several() -> None:
    k = np.arange(20)
    x, y = 1e15 + k, (k * 7919 % 13) / 3 - 1
    row = found(x, y)
    assert row["corr"] == pytest.approx(np.corrcoef(k, y)[0, 1], rel=1e-14)
    assert row["r2"] == pytest.approx(np.corrcoef(k, y)[0, 1] ** 2, rel=1e-14)
    panes = wb.from_arrow({"at": k, "x": x, "y": y}, time="at").hopping_window(10, 5).aggregate(c=wb.corr(col.x, col.y))
    assert panes.collect()["c"][2].as_py() == pytest.approx(np.corrcoef(k[5:15], y[5:15])[0, 1], rel=1e-14)


@pytest.mark.parametrize("size", [1e-200, 1e-162, 1e150, 1e200])
def test_squares_without_their_digits_are_no_numbers(size: float) -> None:
    row = found([size, 2 * size, 3 * size], [1.0, 2.0, 4.0])
    assert all(math.isnan(row[name]) for name in ("corr", "slope", "intercept", "r2"))
    assert row["cov"] == pytest.approx(1.5 * size)


@pytest.mark.parametrize("size", [1e-120, 1e140])
def test_small_and_large_pairs(size: float) -> None:
    assert found([size, 2 * size, 3 * size], [1.0, 2.0, 4.0])["corr"] == pytest.approx(0.9819805060619657)


def test_pairs_of_equal_values_have_no_covariance() -> None:
    assert found([0.1] * 7, [0.1] * 7)["cov"] == 0.0


def test_windows_that_slide_and_groups() -> None:
    draw = np.random.default_rng(7)
    x, y, k = draw.normal(size=300), draw.normal(size=300), draw.integers(0, 3, 300)
    log = wb.from_arrow({"at": np.arange(300), "k": k, "x": x, "y": y}, time="at").group_by("k")
    windows = log.hopping_window(60, 20).aggregate(c=wb.corr(col.x, col.y), s=wb.skew(col.x)).collect()
    for row in windows.to_pylist()[::7]:
        since = row["end"] - 60 if row["end"] - row["start"] == 60 else row["start"] - 40
        taken = [n for n in range(max(since, 0), min(since + 60, 300)) if k[n] == row["k"]]
        if len(taken) > 2:
            assert row["c"] == pytest.approx(np.corrcoef(x[taken], y[taken])[0, 1], rel=1e-10)
            assert row["s"] == pytest.approx(stats.skew(x[taken]), rel=1e-10)


@pytest.mark.parametrize("kind", [pa.string(), pa.timestamp("us"), pa.date32(), pa.duration("s"), pa.list_(pa.int64())],
                         ids=str)
@pytest.mark.parametrize("name", [*ALL])
def test_what_is_no_number_is_refused_as_for_std(name: str, kind: pa.DataType) -> None:
    log = wb.from_arrow(pa.table({"at": [0], "x": pa.nulls(1, kind), "y": [1.0]}), time="at").tumbling_window(5)
    with pytest.raises(ExpressionError, match="needs numbers, bools or decimals, got") as error:
        log.aggregate(v=ALL[name])
    assert error.value.where == ALL[name].show()
