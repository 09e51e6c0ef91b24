"""Count points by cell of a window, with Datashader."""

from __future__ import annotations

import logging
import math
import threading
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from whimbrel.errors import MissingExtraError
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.points import Piece, Points

Counts = NDArray[np.uint32]

_LOG: Final = logging.getLogger("whimbrel.view")
_LIKE: Final = 0.05
"""Cells may differ so much from the requested size, because longer axis labels make a moving chart narrower."""
_SAME: Final = 1e-6
_HAIR: Final = 1e-9
"""Of a window: cells have the points on their lower and left edges, and a window those on its others, too."""
_ON_A_CELL: Final = 1e-3

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

    @classmethod
    def exactly(cls, x: Extent, y: Extent, width: int, height: int, log: tuple[bool, bool]) -> Window:
        """A window over what is in sight; points on the upper and the right edge belong to the neighbouring cells."""
        if not any(log):
            x, y = (Extent(each.low, each.high + _HAIR * (each.high - each.low)) for each in (x, y))
        return cls(x, y, width, height, log)

    def over(self, x: Extent, y: Extent, width: int, height: int) -> Window:
        """A window over what is in sight: on the cells of this one where it is only moved, else with its own.

        Then it is up to a cell larger.

        >>> Window(Extent(0.0, 10.0), Extent(0.0, 2.0), 10, 2).over(Extent(3.5, 13.5), Extent(0.0, 2.0), 10, 2)
        Window(x=Extent(low=3.0, high=14.0), y=Extent(low=0.0, high=2.0), width=11, height=2, log=(False, False))
        """
        across, up = _cells_over(self.x, self.width, x, width), _cells_over(self.y, self.height, y, height)
        if any(self.log) or across is None or up is None:
            return Window.exactly(x, y, width, height, self.log)
        return self.cells(across, up)

    def cells(self, columns: tuple[int, int], rows: tuple[int, int]) -> Window:
        """From which column and row up to which, counted from its first, maybe beyond it."""
        (left, right), (bottom, top) = columns, rows
        wide, high = _size(self.x, self.width), _size(self.y, self.height)
        return replace(self, x=Extent(self.x.low + left * wide, self.x.low + right * wide), width=right - left,
                       y=Extent(self.y.low + bottom * high, self.y.low + top * high), height=top - bottom)



@dataclass(slots=True)
class Raster:
    """Counts the points of one window. Of points that only grow, each is counted once while the window stays.

    Where the window moves over the same cells, those that come into it are counted. All points have to be looked at to
    find those above or below it, so when it moves for the first time some of these are counted beforehand.
    """

    _window: Window | None = None
    _counted: list[tuple[NDArray[np.float64], int]] = field(default_factory=list)
    _counts: Counts = field(default_factory=lambda: np.zeros((0, 0), np.uint32))

    def counts(self, points: Points, window: Window) -> Counts:
        """Settled points by cell, the lowest row first."""
        known = self._window if self._continues(points) else None
        if known is not None:
            self._count_on(points)
        there = None if known is None else _moved(known, window)
        if known is None or there is None:
            self._window, self._counts, there = window, _counted(points, window), (0, 0)
        else:
            columns = _around(there[0], window.width, known.width, 0 if points.in_order else window.width // 2)
            rows = _around(there[1], window.height, known.height, window.height // 2)
            if (columns, rows) != ((0, known.width), (0, known.height)):
                self._window, right, up = known.cells(columns, rows), columns[0], rows[0]
                self._counts = _uncovered(self._counts, points, self._window, right, up)
                there = there[0] - right, there[1] - up
        self._counted = [(x, len(x)) for x, _, _ in points.pieces]
        right, up = there
        return self._counts[up:up + window.height, right:right + window.width]

    def over(self, x: Extent, y: Extent, width: int, height: int, log: tuple[bool, bool]) -> Window:
        """The window over what is in sight that is counted soonest."""
        last = self._window
        if last is None or last.log != log:
            return Window.exactly(x, y, width, height, log)
        return last.over(x, y, width, height)

    def _count_on(self, points: Points) -> None:
        """Points that came since the last time."""
        assert self._window is not None, "there were points"
        for place, piece in enumerate(points.pieces):
            known = self._counted[place][1] if place < len(self._counted) else 0
            if known < len(piece[0]):
                self._counts = self._counts + count((piece[0][known:], piece[1][known:], piece[2][known:]),
                                                    self._window)

    def _continues(self, points: Points) -> bool:
        """Whether the pieces begin where they began when they were counted."""
        now = [_begin(x) for x, _, _ in points.pieces]
        return now[:len(self._counted)] == [_begin(x) for x, _ in self._counted]


def _counted(points: Points, window: Window) -> Counts:
    counts = np.zeros((window.height, window.width), np.uint32)
    if not points.reaches(window.x, window.y):
        return counts
    for piece in points.between(window.x.low, window.x.high):
        counts += count(piece, window)
    return counts


def _uncovered(before: Counts, points: Points, window: Window, right: int, up: int) -> Counts:
    """The counts of a window that moved by so many cells: those that were there, and the rest counted."""
    counts = np.zeros((window.height, window.width), np.uint32)
    rows, columns = _shared(up, before.shape[0], window.height), _shared(right, before.shape[1], window.width)
    counts[rows, columns] = before[rows.start + up:rows.stop + up, columns.start + right:columns.stop + right]
    everywhere = slice(0, window.width)
    for over, along in ((slice(0, rows.start), everywhere), (slice(rows.stop, window.height), everywhere),
                        (rows, slice(0, columns.start)), (rows, slice(columns.stop, window.width))):
        if over.start < over.stop and along.start < along.stop:
            counts[over, along] = _counted(points, Window(
                _stretch(window.x, window.width, along, columns), _stretch(window.y, window.height, over, rows),
                along.stop - along.start, over.stop - over.start))
    return counts


def _shared(moved: int, before: int, now: int) -> slice:
    """Cells of a window that were there when it stood so many cells before."""
    first = min(max(0, -moved), now)
    return slice(first, max(first, min(now, before - moved)))


def _stretch(extent: Extent, cells: int, part: slice, known: slice) -> Extent:
    """Where some cells are, without the edges of those that were counted, which have the points on them."""
    size = _size(extent, cells)
    low, high = extent.low + part.start * size, extent.low + part.stop * size
    return Extent(np.nextafter(low, np.inf) if part.start == known.stop else low,
                  np.nextafter(high, -np.inf) if part.stop == known.start else high)


def _around(first: int, cells: int, known: int, margin: int) -> tuple[int, int]:
    """From which cell up to which to count: as before where so many from the first one on are there, else around them.

    >>> _around(2, 10, 20, 5), _around(12, 10, 20, 5), _around(-1, 10, 20, 0)
    ((0, 20), (7, 27), (-1, 9))
    """
    return (0, known) if first >= 0 and first + cells <= known else (first - margin, first + cells + margin)


def _size(extent: Extent, cells: int) -> float:
    return (extent.high - extent.low) / cells


def _cells_over(old: Extent, cells: int, now: Extent, wanted: int) -> tuple[int, int] | None:
    """From which cell of an old extent up to which another one lies; None where cells should have another size."""
    size = _size(old, cells)
    if not abs(_size(now, wanted) / size - 1) < _LIKE:
        return None
    return math.floor((now.low - old.low) / size + _SAME), math.ceil((now.high - old.low) / size - _SAME)


def _moved(old: Window, new: Window) -> tuple[int, int] | None:
    """By how many cells a window was moved, to the right and up; None where nothing that was counted is of use."""
    if old == new:
        return 0, 0
    if old.log != new.log or any(new.log):
        return None
    moved = []
    for before, now, cells, wanted in ((old.x, new.x, old.width, new.width), (old.y, new.y, old.height, new.height)):
        size = _size(before, cells)
        by = (now.low - before.low) / size
        if not abs(_size(now, wanted) / size - 1) < _SAME or not abs(by - round(by)) < _ON_A_CELL:
            return None
        moved.append(round(by))
    return moved[0], moved[1]


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
        return  # NumPy continues to count: the same picture, several times slower
    except Exception:  # noqa: BLE001 - so it does where Datashader is broken, or where its warnings are errors
        _LOG.warning("Datashader failed, so counting points is several times slower.", exc_info=True)
        return
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
