"""Append-only storage of millions of points, read in windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel_workbench.frames.arrow_values import floats
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.format_times import positions
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.frames.result import Floats, Result

OTHERS: Final = 255
"""Category of points whose key has no colour of its own."""

_SEGMENT_ROWS: Final = 1 << 20

Categories = NDArray[np.uint8]
Piece = tuple[Floats, Floats, Categories]
"""x, y and category of consecutive points."""

Reach = tuple[float, float]
_ANYWHERE: Final[Reach] = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points as they were at one moment. The arrays are shared with later moments and never written again.

    Parameters
    ----------
    pieces : tuple of Piece
        Settled points; NaN where there is nothing to draw.
    tail : Piece
        Provisional points.
    number : int
        How many settled points came before and with these, those that are no longer kept included.
    in_order : bool
        Whether ``x`` never decreases from one settled point to the next.
    x_reach, y_reach : tuple of float
        Between which positions they lie, as far as that is known.
    """

    pieces: tuple[Piece, ...]
    tail: Piece
    number: int
    in_order: bool
    x_reach: Reach = _ANYWHERE
    y_reach: Reach = _ANYWHERE

    def __len__(self) -> int:
        return sum(len(x) for x, _, _ in self.pieces) + len(self.tail[0])

    def reaches(self, x: Extent, y: Extent) -> bool:
        """Whether any may lie there."""
        return all(reach[0] <= extent.high and extent.low <= reach[1]
                   for reach, extent in ((self.x_reach, x), (self.y_reach, y)))

    def between(self, low: float, high: float) -> Iterator[Piece]:
        """Settled points among which are all with ``low <= x <= high``; pieces without any are left out."""
        for x, y, category in self.pieces:
            if not self.in_order:
                yield x, y, category
                continue
            first, after = np.searchsorted(x, low, "left"), np.searchsorted(x, high, "right")
            if first < after:
                yield x[first:after], y[first:after], category[first:after]


@dataclass(slots=True)
class PointStore:
    """Takes the settled rows of each result over once; sixteen bytes a point, seventeen with categories.

    Attributes
    ----------
    names : list of str
        Categories that have a colour, in the order in which they came.
    x_reach, y_reach : tuple of float or None
        Smallest and largest position so far.
    """

    x_name: str | None
    y_name: str
    keys: tuple[str, ...]
    max_names: int
    log: tuple[bool, bool] = (False, False)
    names: list[str] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
    x_reach: tuple[float, float] | None = None
    y_reach: tuple[float, float] | None = None
    _segments: list[_Segment] = field(default_factory=list)
    _known: int = 0
    _in_order: bool = True
    _rearranged: int | None = None

    def take(self, result: Result) -> Points:
        """The points of a result; only rows that were not taken over before are read."""
        if result.rearranged is None or result.rearranged != self._rearranged:
            self._segments, self._known, self._in_order = [], 0, True
            self._rearranged = result.rearranged
        self._forget(result.forgotten)
        self._known = max(self._known, result.forgotten)
        settled = result.forgotten + result.settled
        fresh = result.table.slice(self._known - result.forgotten, max(0, settled - self._known))
        for first in range(0, len(fresh), _SEGMENT_ROWS):
            self._append(self._piece(fresh.slice(first, _SEGMENT_ROWS)))
        tail = self._piece(result.table.slice(result.settled))
        self._reach(tail)
        return Points(tuple(segment.piece for segment in self._segments), tail, self._known, self._in_order,
                      self.x_reach or _ANYWHERE, self.y_reach or _ANYWHERE)

    def _piece(self, rows: pa.Table) -> Piece:
        x = positions(rows.column(self.x_name or "start")).astype(np.float64, copy=False)
        y = floats(rows.column(self.y_name))
        for each, log in zip((x, y), self.log, strict=True):
            if log and (each <= 0).any():
                x = np.where(each > 0, x, np.nan)
        return x, y, self._categories(rows)

    def _categories(self, rows: pa.Table) -> Categories:
        if not self.keys or not len(rows):
            return np.zeros(len(rows), np.uint8)
        found = labels(rows, self.keys)
        for name in found.names:
            if name not in self.names:
                (self.names.append if len(self.names) < self.max_names else self.others.add)(name)
        known = {name: place for place, name in enumerate(self.names)}
        return np.array([known.get(name, OTHERS) for name in found.names], np.uint8)[found.codes]

    def _append(self, piece: Piece) -> None:
        x = piece[0]
        before = self._segments[-1].last_x if self._segments else -np.inf
        if self._in_order and len(x):
            self._in_order = bool(x[0] >= before and (np.diff(x) >= 0).all())
        self._reach(piece)
        taken = 0
        while taken < len(x):
            if not self._segments or self._segments[-1].full:
                self._segments.append(_Segment(self._known, with_categories=bool(self.keys)))
            rows = self._segments[-1].add(x[taken:], piece[1][taken:], piece[2][taken:])
            taken += rows
            self._known += rows

    def _forget(self, rows: int) -> None:
        while self._segments and self._segments[0].after <= rows:
            del self._segments[0]
        if self._segments:
            self._segments[0].skip = max(0, rows - self._segments[0].number)

    def _reach(self, piece: Piece) -> None:
        finite = np.isfinite(piece[0]) & np.isfinite(piece[1])
        if finite.any():
            x, y = piece[0][finite], piece[1][finite]
            self.x_reach = _wider(self.x_reach, float(x.min()), float(x.max()))
            self.y_reach = _wider(self.y_reach, float(y.min()), float(y.max()))


class _Segment:
    """A million points in arrays that are filled up once."""

    def __init__(self, number: int, *, with_categories: bool) -> None:
        self.number = number
        self.skip = self._rows = 0
        self._x, self._y = np.empty(_SEGMENT_ROWS), np.empty(_SEGMENT_ROWS)
        # Zeros that nobody writes to take no memory.
        self._category = np.zeros(_SEGMENT_ROWS, np.uint8)
        self._with_categories = with_categories

    @property
    def full(self) -> bool:
        return self._rows == _SEGMENT_ROWS

    @property
    def after(self) -> int:
        return self.number + self._rows

    @property
    def last_x(self) -> float:
        return float(self._x[self._rows - 1])

    @property
    def piece(self) -> Piece:
        there = slice(self.skip, self._rows)
        return self._x[there], self._y[there], self._category[there]

    def add(self, x: Floats, y: Floats, category: Categories) -> int:
        """Copy as many points as fit, and return how many."""
        rows = min(len(x), _SEGMENT_ROWS - self._rows)
        there = slice(self._rows, self._rows + rows)
        self._x[there], self._y[there] = x[:rows], y[:rows]
        if self._with_categories:
            self._category[there] = category[:rows]
        self._rows += rows
        return rows


def _wider(reach: tuple[float, float] | None, low: float, high: float) -> tuple[float, float]:
    return (low, high) if reach is None else (min(low, reach[0]), max(high, reach[1]))
