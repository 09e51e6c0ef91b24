"""Whoever leaves a sliding window takes along all that it brought, however large it was."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.aggregates.compensated_sum import (
    NO_SUM,
    add_exactly,
    exact_total,
    is_spoiled,
    merge_exact,
    subtract_exactly,
)
from whimbrel.kernels import tier
from whimbrel.operators.aggregation.snapshot_kernel import SnapshotKernel
from whimbrel.optimize import optimize
from whimbrel.run.checkpoint import state_of
from whimbrel.run.pipeline import Pipeline

INF, NAN = float("inf"), float("nan")
EVERY = {"sum": wb.sum(col.x), "mean": wb.mean(col.x), "var": wb.var(col.x), "squares": wb.sum_of_squares(col.x)}
LARGE = {"overflow": [1.7e308, 1.7e308], "digits": [1e30 / 3, 1e30 / 7], "of squares": [1e20 / 3, 1e20 / 7],
         "several sizes": [1e90 / 3, 1e60 / 7, 1e30 / 9], "mixed": [1e30 / 3, INF, NAN, -1.7e308, -1.7e308],
         "below": [1e-30 / 3, 1e-30 / 7]}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ("interpreted", "primitives"))
@pytest.mark.parametrize("large", LARGE.values(), ids=LARGE)
def test_what_left_is_missed_by_nobody(large: list[float], name: str) -> None:
    values = [1.0, 2.0, *large, 1.0, 2.0, 4.0, *large[::-1], 2.0, 1.0, 4.0, 1.0, 2.0]
    log = wb.from_arrow({"at": range(len(values)), "x": values, "k": [0] * len(values)}, time="at")
    with tier(name):  # type: ignore[arg-type]
        for windows in (log.sliding_window(3), log.group_by("k").sliding_window(3)):
            rows = windows.aggregate(**EVERY).collect()
            found = {row["start"]: row for row in rows.to_pylist()}
            for last in range(2, len(values)):
                three = np.array(values[last - 2 : last + 1])
                if np.isfinite(three).all() and np.abs(three).max() < 10 and np.abs(three).min() > 0.1:
                    expected = [three.sum(), three.mean(), three.var(ddof=1), (three * three).sum()]
                    assert [found[last][each] for each in EVERY] == pytest.approx(expected, rel=1e-12)


def test_an_overflow_lasts_as_long_as_its_rows() -> None:
    log = wb.from_arrow({"at": range(6), "x": [1.0, 1.7e308, 1.7e308, 1e306, 1.0, 1.0]}, time="at")
    sums = log.sliding_window(3).aggregate(s=wb.sum(col.x)).collect()["s"].to_pylist()
    assert sums[:7] == pytest.approx([1.0, 1.7e308, INF, INF, 1.71e308, 1e306, 2.0], rel=1e-12)


def pushed(at: np.ndarray, **columns: np.ndarray) -> tuple[SnapshotKernel, wb.Stream]:
    log = wb.from_arrow({"at": at, **columns}, time="at")
    query = log.group_by("k").sliding_window(40).aggregate(s=wb.sum(col.x))
    pipeline = Pipeline(optimize(query.node))
    kernel = next(kernel for kernel in pipeline.kernels if isinstance(kernel, SnapshotKernel))
    source, = pipeline.sources
    for batch in source.read(source.schema.names):
        if batch is not None:
            pipeline.push(0, batch)
    return kernel, query


def test_rows_hang_together_from_the_first_time_that_one_is_missed() -> None:
    rows = 12_000
    random = np.random.default_rng(3)
    at, k = np.arange(rows), random.integers(0, 3, rows)
    ordinary = random.normal(size=rows)
    assert not pushed(at, k=k, x=ordinary)[0].linked
    x = np.where(random.integers(0, 100, rows) == 0, ordinary * 1e30, ordinary)
    kernel, query = pushed(at, k=k, x=x)
    assert kernel.linked
    assert state_of(kernel).parts["linked"]
    for row in query.collect().to_pylist()[::7]:
        mine = x[(k == row["k"]) & (at <= row["start"]) & (at > row["start"] - 40)]
        assert row["s"] == pytest.approx(mine.sum(), rel=1e-9, abs=1e-9 * np.abs(mine).sum())


def test_sizes_are_counted() -> None:
    values = [0.0, 1.0, -3.0, 1e5, 1e30, 5e-324, 1.0]
    state = NO_SUM
    for value in values:
        state = add_exactly(state, value)
    assert not is_spoiled(state)
    assert exact_total(state) == 1e30
    assert is_spoiled(subtract_exactly(state, 1e30))
    halves = [add_exactly(add_exactly(NO_SUM, left), right) for left, right in pairwise(values)]
    assert merge_exact(halves[3], halves[4])[2:] == merge_exact(halves[4], halves[3])[2:] == (*state[2:3], 2, 0, 0)


def test_a_sum_beyond_all_floats_is_kept_as_long_as_it_stays() -> None:
    states = [add_exactly(NO_SUM, value) for value in (3.0, 1.7e308, 1.7e308, 1e300, -1e306)]
    state = states[0]
    for other in states[1:]:
        state = merge_exact(state, other)
    assert exact_total(state) == INF
    assert not is_spoiled(state)
    state = subtract_exactly(subtract_exactly(state, 1.7e308), 3.0)
    assert exact_total(state) == pytest.approx(1.7e308 - 1e306 + 1e300, rel=1e-15)
    assert not is_spoiled(state)
    assert is_spoiled(subtract_exactly(subtract_exactly(state, 1.7e308), -1e306))


def test_huge_values_and_squares_of_large_ones_are_summed_as_others_are() -> None:
    random = np.random.default_rng(4)
    x = random.normal(size=300) * 10.0 ** random.choice([0, 145, 148, 149, 300, 307], size=300)
    x[100:130] = random.normal(size=30)
    log = wb.from_arrow({"at": np.arange(300), "x": x}, time="at")
    windows = log.sliding_window(5).aggregate(s=wb.sum(col.x), q=wb.sum_of_squares(col.x).where(abs(col.x) < 1e153))
    for row in windows.collect().to_pylist()[4:300]:
        mine = x[row["start"] - 4 : row["start"] + 1]
        assert row["s"] == pytest.approx(math.fsum(mine), rel=1e-13, abs=1e-13 * np.abs(mine).max())
        small = mine[np.abs(mine) < 1e153]
        assert row["q"] == pytest.approx(math.fsum(small * small), rel=1e-13)
