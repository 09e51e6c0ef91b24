"""How many points lie in each cell of a window: counted by Datashader, so that only counts travel to the page."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from whimbrel.errors import MissingExtraError
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.points import Piece, Points

Counts = NDArray[np.uint32]

_ready: Final = threading.Event()
_warming: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Window:
    """What a reader has in front of them.

    Parameters
    ----------
    x, y : Extent
        Positions on the axes.
    width, height : int
        Cells.
    log : tuple of bool
        Whether each axis is logarithmic.
    """

    x: Extent
    y: Extent
    width: int
    height: int
    log: tuple[bool, bool] = (False, False)


@dataclass(slots=True)
class Raster:
    """Counts the points of one window. Of points that only grow, each is counted once while the window stays."""

    _window: Window | None = None
    _counted: list[tuple[NDArray[np.float64], int]] = field(default_factory=list)
    _counts: Counts = field(default_factory=lambda: np.zeros((0, 0), np.uint32))

    def counts(self, points: Points, window: Window) -> Counts:
        """Settled points by cell, the lowest row first."""
        if window != self._window or not self._goes_on(points):
            self._window, self._counted = window, []
            self._counts = np.zeros((window.height, window.width), np.uint32)
            for piece in points.between(window.x.low, window.x.high):
                self._counts += count(piece, window)
        else:
            for place, piece in enumerate(points.pieces):
                known = self._counted[place][1] if place < len(self._counted) else 0
                if known < len(piece[0]):
                    self._counts = self._counts + count((piece[0][known:], piece[1][known:], piece[2][known:]), window)
        self._counted = [(x, len(x)) for x, _, _ in points.pieces]
        return self._counts

    def _goes_on(self, points: Points) -> bool:
        """Whether the pieces begin where they began when they were counted."""
        now = [_begin(x) for x, _, _ in points.pieces]
        return now[:len(self._counted)] == [_begin(x) for x, _ in self._counted]


def count(piece: Piece, window: Window) -> Counts:
    """Points of one piece by cell. Until Datashader is compiled, which takes seconds, NumPy counts."""
    if _ready.is_set():
        return _by_datashader(piece, window)
    warm()
    return _by_numpy(piece, window)


def warm() -> None:
    """Import and compile Datashader on a thread of its own, once."""
    if _warming.acquire(blocking=False):
        threading.Thread(target=_compile, name="whimbrel-datashader", daemon=True).start()


def _compile() -> None:
    few = np.linspace(0.0, 1.0, 4)
    try:
        for log in ((False, False), (True, False), (False, True), (True, True)):
            _by_datashader((few, few, np.zeros(4, np.uint8)), Window(Extent(0.1, 1.0), Extent(0.1, 1.0), 2, 2, log))
    except MissingExtraError:
        return  # NumPy goes on counting: the same picture, several times slower
    _ready.set()


def _by_datashader(piece: Piece, window: Window) -> Counts:
    try:
        import datashader
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("datashader", "workbench", "A picture of many points") from error
    axes = ["log" if log else "linear" for log in window.log]
    x, y = window.x, window.y
    canvas = datashader.Canvas(window.width, window.height, (x.low, x.high), (y.low, y.high), *axes)
    frame = pd.DataFrame({"x": piece[0], "y": piece[1]}, copy=False)
    return canvas.points(frame, "x", "y", datashader.count()).to_numpy()


def _by_numpy(piece: Piece, window: Window) -> Counts:
    column, row = (_cell(at, extent, cells, log) for at, extent, cells, log in zip(
        piece[:2], (window.x, window.y), (window.width, window.height), window.log, strict=True))
    inside = (column >= 0) & (row >= 0)
    cells = np.bincount(row[inside] * window.width + column[inside], minlength=window.width * window.height)
    return cells.reshape(window.height, window.width).astype(np.uint32)


def _cell(at: NDArray[np.float64], extent: Extent, cells: int, log: bool) -> NDArray[np.int64]:
    """Which cell each position is in; -1 outside."""
    low, high = extent.low, extent.high
    with np.errstate(invalid="ignore", divide="ignore"):
        if log:
            at, low, high = np.log10(at), np.log10(low), np.log10(high)
        place = np.minimum((at - low) * (cells / (high - low)), cells - 1)
        inside = (at >= low) & (at <= high)
    return np.where(inside, np.where(inside, place, 0).astype(np.int64), -1)


def _begin(array: NDArray[np.float64]) -> Any:
    return array.__array_interface__["data"][0]
