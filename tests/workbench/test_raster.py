"""Points in cells: Datashader and NumPy count the same, and what only grew is not counted twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.points import Piece, Points
from whimbrel_workbench.views import raster
from whimbrel_workbench.views.raster import Raster, Window

LOGS = ((False, False), (True, False), (False, True), (True, True))


def piece_of(x: np.ndarray, y: np.ndarray) -> Piece:
    return x, y, np.zeros(len(x), np.uint8)


@pytest.mark.parametrize("log", LOGS)
def test_numpy_counts_what_datashader_counts(log: tuple[bool, bool]) -> None:
    draw = np.random.default_rng(5)
    x, y = draw.uniform(0.5, 12, 50_000), draw.uniform(-1, 5, 50_000)
    x[0], y[1], x[2], y[2], x[3], y[3] = np.nan, np.nan, 1.0, 0.5, 9.0, 3.0
    window = Window(Extent(1.0, 9.0), Extent(0.5, 3.0), 61, 17, log)
    counted = raster._by_numpy(piece_of(x, y), window)
    assert np.array_equal(counted, raster._by_datashader(piece_of(x, y), window))
    assert counted.sum() == ((x >= 1) & (x <= 9) & (y >= 0.5) & (y <= 3)).sum()


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.booleans())
def test_counting_on_is_counting_all(steps: list[int], forget: bool) -> None:
    draw = np.random.default_rng(2)
    whole, half = draw.random(300), draw.random(300)
    window, going, rows = Window(Extent(0.0, 1.0), Extent(0.0, 1.0), 5, 4), Raster(), 0
    for step in steps:
        rows += step
        first = rows // 3 if forget else 0
        pieces = (piece_of(whole[first:rows], half[first:rows]),)
        points = Points(pieces, piece_of(whole[:0], half[:0]), rows, in_order=False)
        assert np.array_equal(going.counts(points, window), Raster().counts(points, window))
        assert going.counts(points, window).sum() == rows - first


def test_another_window_is_counted_anew() -> None:
    x = np.linspace(0.0, 1.0, 101)
    points = Points((piece_of(x, x),), piece_of(x[:0], x[:0]), 101, in_order=True)
    going = Raster()
    assert going.counts(points, Window(Extent(0.0, 1.0), Extent(0.0, 1.0), 4, 4)).sum() == 101
    assert going.counts(points, Window(Extent(0.5, 1.0), Extent(0.0, 1.0), 4, 4)).sum() == 51
