"""Extremes of samples: those of any range, however the samples were cut into blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel_workbench.frames.sample_pyramid import BLOCK, STEP, SamplePyramid
from whimbrel_workbench.frames.sample_trace import SampleTrace

DRAW = np.random.default_rng(3)
TYPES = ["i1", "i2", "u2", "i8", "f4", "f8"]


def signal(samples: int, dtype: str = "i2") -> np.ndarray:
    return (DRAW.normal(size=samples) * 40 + 100).astype(dtype)


def filled(values: np.ndarray, first: int, cuts: list[int], order: np.random.Generator | None = None) -> SampleTrace:
    """A trace that was given the values in blocks, maybe in another order."""
    trace = SampleTrace(values.dtype)
    edges = sorted({0, len(values), *(cut % (len(values) + 1) for cut in cuts)})
    blocks = list(pairwise(edges))
    if order is not None:
        order.shuffle(blocks)
    for begin, end in blocks:
        trace.add(first + begin, values[begin:end])
    return trace


def check(trace: SampleTrace, values: np.ndarray, at: int, first: int, stop: int, most: int) -> None:
    """Every column has the extremes of its own samples, as a loop over all of them finds them."""
    columns = trace.columns(first, stop, most)
    assert columns.first <= first
    assert columns.first + columns.size * len(columns.low) >= stop
    assert len(columns.low) <= most + 1
    for column, (low, high) in enumerate(zip(columns.low, columns.high, strict=True)):
        begin = columns.first + column * columns.size - at
        inside = values[max(0, begin):max(0, begin + columns.size)]
        inside = inside[~np.isnan(inside)] if values.dtype.kind == "f" else inside
        assert columns.there[column] == bool(len(inside))
        if len(inside):
            assert (low, high) == (inside.min(), inside.max())


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9_000), st.integers(-3_000, 70_000), st.lists(st.integers(0, 10_000), max_size=8),
       st.integers(-500, 10_000), st.integers(1, 12_000), st.integers(1, 300), st.integers(0, 2**31))
def test_columns_of_any_range_are_those_of_a_loop_for_any_blocks(samples, at, cuts, begin, length, most, seed):
    values = signal(samples)
    trace = filled(values, at, cuts, np.random.default_rng(seed))
    check(trace, values, at, at + begin, at + begin + length, most)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_long_signal_of_each_type(dtype):
    values = signal(300_000, dtype)
    if values.dtype.kind == "f":
        values[1_000:3_000] = np.nan
    trace = filled(values, 65_000, [7, 100_000, 100_001])
    for first, stop, most in ((65_000, 365_000, 40), (65_000, 365_000, 3), (0, 400_000, 1_000), (66_000, 68_000, 900)):
        check(trace, values, 65_000, first, stop, most)


@pytest.mark.parametrize("number", range(3))
def test_every_level_has_the_extremes_of_its_cells(number):
    values = signal(3 * BLOCK * STEP**2 + 77)
    trace = filled(values, 300, [5, 4_000, 4_001, 100_000])
    cell = BLOCK * STEP**number
    stop = -(-(300 + len(values)) // cell)
    for place, (low, high) in enumerate(zip(*trace.pyramid.cells(number, 0, stop), strict=True)):
        if (place + 1) * cell <= 300:
            assert low > high
            continue
        inside = values[max(0, place * cell - 300):(place + 1) * cell - 300]
        assert (low, high) == (inside.min(), inside.max())
    assert trace.pyramid.ends == (values.min(), values.max())


@pytest.mark.parametrize("blocks", [1, 1_000])
def test_the_pyramid_takes_less_than_a_hundredth_of_the_samples(blocks):
    values = signal(2_000_000)
    trace = filled(values, 0, list(range(0, len(values), len(values) // blocks)))
    assert trace.pyramid.nbytes < 0.01 * values.nbytes


def test_a_gap_has_no_extremes():
    trace = SampleTrace(np.dtype("i2"))
    trace.add(0, signal(1_000))
    trace.add(9_000, signal(1_000))
    columns = trace.columns(0, 10_000, 10)
    assert columns.there.tolist() == [True] + [False] * 8 + [True]
    assert trace.runs == [[0, 1_000], [9_000, 10_000]]
    assert [first for first, _ in trace.pieces(500, 9_500)] == [500, 9_000]


@pytest.mark.parametrize("most", [10, 200, 2_000, 40_000])
def test_dropped_samples_have_the_extremes_of_their_blocks(most):
    values = signal(200_000)
    trace = filled(values, 0, [])
    trace.drop(150_000)
    assert trace.runs == [[131_072, 200_000]]
    columns = trace.columns(0, 200_000, most)
    assert columns.coarse == (columns.size < BLOCK * STEP)
    for column, (low, high) in enumerate(zip(columns.low, columns.high, strict=True)):
        begin = column * columns.size
        near = values[begin // BLOCK * BLOCK:-(-(begin + columns.size) // BLOCK) * BLOCK]
        assert near.min() <= low <= high <= near.max()
        if columns.size >= BLOCK:
            assert low <= values[begin:begin + columns.size].min()


def test_samples_before_the_first_one_are_taken_too():
    pyramid = SamplePyramid(np.dtype("i4"))
    pyramid.add(10, np.array([5], "i4"))
    pyramid.add(-600, np.array([9, -3], "i4"))
    assert [each.tolist() for each in pyramid.cells(0, -3, -1)] == [[-3, 2**31 - 1], [9, -2**31]]
    assert pyramid.ends == (-3.0, 9.0)
