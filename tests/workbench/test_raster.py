"""Points in cells: Datashader and NumPy count the same, and what only grew is not counted twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_another_window_is_counted_again() -> None:
    x = np.linspace(0.0, 1.0, 101)
    points = Points((piece_of(x, x),), piece_of(x[:0], x[:0]), 101, in_order=True)
    going = Raster()
    assert going.counts(points, Window(Extent(0.0, 1.0), Extent(0.0, 1.0), 4, 4)).sum() == 101
    assert going.counts(points, Window(Extent(0.5, 1.0), Extent(0.0, 1.0), 4, 4)).sum() == 51


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.floats(-0.7, 0.7), st.floats(-0.7, 0.7), st.integers(0, 40)), min_size=1, max_size=6),
       st.booleans())
def test_a_window_that_moves_counts_what_is_in_it(moves: list[tuple[float, float, int]], in_order: bool) -> None:
    """Points that are there, that come in between, and that lie on the edges of cells."""
    draw = np.random.default_rng(4)
    along, up = np.sort(draw.integers(-20, 60, 400)) / 20 if in_order else draw.random(400) * 4 - 1, draw.random(400)
    going, rows, x, y = Raster(), 100, 0.0, 0.0
    for right, over, more in moves:
        rows, x, y = rows + more, x + right, y + over
        points = Points((piece_of(along[:rows], up[:rows]),), piece_of(along[:0], up[:0]), rows, in_order)
        window = going.over(Extent(x, x + 1), Extent(y, y + 0.5), 20, 8, (False, False))
        assert window.x.low <= x + 1e-6
        assert window.x.high >= x + 1 - 1e-6
        counts = going.counts(points, window)
        inside = ((along[:rows] >= window.x.low) & (along[:rows] <= window.x.high) & (up[:rows] >= window.y.low)
                  & (up[:rows] <= window.y.high))
        on_edges = (np.abs(np.remainder((along[:rows] - window.x.low) * 20 + 0.5, 1) - 0.5) < 1e-6) & inside
        whole = Raster().counts(points, window)
        assert abs(int(counts.sum()) - int(whole.sum())) <= on_edges.sum()
        if not on_edges.any():
            assert np.array_equal(counts, whole)


@pytest.mark.parametrize("by", [0.25, -0.25, 0.5])
def test_a_window_that_moves_counts_only_what_comes_into_it(monkeypatch: pytest.MonkeyPatch, by: float) -> None:
    """Every move of the mouse counted all ten million points of a window again."""
    x = (np.arange(10_000) + 0.5) / 2_000
    points = Points((piece_of(x, x % 1),), piece_of(x[:0], x[:0]), len(x), in_order=True)
    going, counted = Raster(), []
    first = going.over(Extent(1.0, 2.0), Extent(0.0, 1.0), 40, 10, (False, False))
    going.counts(points, first)
    by_piece = raster.count
    monkeypatch.setattr(raster, "count", lambda piece, window: counted.append(len(piece[0])) or by_piece(piece, window))
    for right, up, inside, looked_at in ((by, 0.0, 2_000, None), (2 * by, 0.0, 2_000, 2_000 * abs(by)),
                                         (2 * by, 0.4, 1_200, None), (2 * by, 0.2, 1_600, 0), (2 * by, 0.8, 400, 0)):
        counted.clear()
        window = going.over(Extent(1.0 + right, 2.0 + right), Extent(up, 1.0 + up), 40, 10, (False, False))
        assert going.counts(points, window).sum() == inside
        assert looked_at is None or sum(counted) == looked_at


def test_points_on_the_upper_edge_stay_when_the_window_moves() -> None:
    x = np.linspace(0.0, 2.0, 101)
    points, going = Points((piece_of(x, np.full(101, 1.0)),), piece_of(x[:0], x[:0]), 101, in_order=True), Raster()
    for right in (0.0, 0.25, 0.5, 0.25, 0.0):
        window = going.over(Extent(right, 1.0 + right), Extent(0.0, 1.0), 8, 4, (False, False))
        assert window.height == 4
        assert 50 <= going.counts(points, window)[-1].sum() <= 51


def test_points_are_counted_where_datashader_is_broken(tmp_path: Path) -> None:
    """A warning that was an error for a moment ended its thread, and the error appeared in whatever ran then."""
    (tmp_path / "datashader.py").write_text("import warnings\nwarnings.warn('old', UserWarning)\n", encoding="utf-8")
    script = """
import threading
import numpy as np
from whimbrel_workbench.views import raster
raster.warm()
for thread in threading.enumerate():
    if thread.name == "whimbrel-datashader":
        thread.join()
one = np.array([0.5])
window = raster.Window(raster.Extent(0.0, 1.0), raster.Extent(0.0, 1.0), 2, 2)
print(raster.count((one, one, np.zeros(1, np.uint8)), window).sum())
"""
    program = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{script}"
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", program], capture_output=True, text=True,
                          timeout=120, check=True)
    assert done.stdout == "1\n"
    assert "Datashader failed" in done.stderr
    assert "Exception in thread" not in done.stderr
