"""The individual points that lie in a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from whimbrel_workbench.frames import Scatter
from whimbrel_workbench.frames.points import Categories, Piece
from whimbrel_workbench.frames.result import Floats
from whimbrel_workbench.views.raster import Window

MAX_OPEN: Final = 2_000
"""Of more provisional points, every n-th is drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Points, the row of each, whether it is final, and whether it is new since the reader's last look."""

    x: Floats
    y: Floats
    category: Categories
    row: NDArray[np.int64]
    settled: NDArray[np.bool_]
    fresh: NDArray[np.bool_]


def in_sight(picture: Scatter, window: Window, *, settled: bool) -> Sight:
    """Points in a window: the provisional ones, and optionally the settled ones."""
    found, fresh, rows = [], [], []
    if settled:
        number = picture.points.number - sum(len(x) for x, _, _ in picture.points.pieces)
        for piece in picture.points.pieces:
            inside = _inside(piece, window, in_order=picture.points.in_order)
            found.append(tuple(each[inside] for each in piece))
            fresh.append(inside + number >= picture.fresh)
            rows.append(inside + (number - picture.forgotten))
            number += len(piece[0])
    inside = _inside(picture.points.tail, window)
    inside = inside[::max(1, -(-len(inside) // MAX_OPEN))]
    found.append(tuple(each[inside] for each in picture.points.tail))
    fresh.append(np.zeros(len(inside), np.bool_))
    rows.append(inside + picture.settled_rows)
    x, y, category = (np.concatenate(each) for each in zip(*found, strict=True))
    final = np.ones(len(x), np.bool_)
    final[len(x) - len(inside):] = False
    return Sight(x, y, category, np.concatenate(rows), final, np.concatenate(fresh))


def _inside(piece: Piece, window: Window, *, in_order: bool = False) -> NDArray[np.intp]:
    x, y, _ = piece
    first, after = np.searchsorted(x, [window.x.low, np.nextafter(window.x.high, np.inf)]) if in_order else (0, len(x))
    x, y = x[first:after], y[first:after]
    there = (x >= window.x.low) & (x <= window.x.high) & (y >= window.y.low) & (y <= window.y.high)
    return np.flatnonzero(there) + first
