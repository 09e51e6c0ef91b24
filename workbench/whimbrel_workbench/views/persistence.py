"""Count by cell how many windows of samples pass it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.result import Floats

Counts = NDArray[np.uint16]


def passes(windows: Floats, x: Extent, y: Extent, columns: int, rows: int) -> Counts:
    """How many windows pass each cell, the lowest row first.

    A window is a line through its samples, and passes a cell once. Around a missing sample there is no line.

    Parameters
    ----------
    windows : array (windows, samples)
        NaN: missing.
    x : Extent
        The visible range, in places of samples of a window.
    y : Extent
        The visible range of values.
    columns, rows : int
        Cells.

    Examples
    --------
    >>> up, flat = [0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0]
    >>> passes(np.array([up, flat]), Extent(-0.5, 3.5), Extent(-0.25, 3.75), 4, 4)[::-1]
    array([[0, 0, 0, 1],
           [0, 0, 1, 1],
           [0, 1, 1, 0],
           [2, 2, 1, 1]], dtype=uint16)
    """
    low, high = _extremes(windows, x, columns)
    there = np.isfinite(low) & (high >= y.low) & (low <= y.high)
    column = np.broadcast_to(np.arange(columns), low.shape)[there]
    per_row = (y.high - y.low) / rows
    bottom, top = (np.clip(np.floor((each[there] - y.low) / per_row), 0, rows - 1).astype(np.int64)
                   for each in (low, high))
    begin = np.bincount(bottom * columns + column, minlength=(rows + 1) * columns)
    end = np.bincount((top + 1) * columns + column, minlength=(rows + 1) * columns)
    return np.cumsum((begin - end).reshape(rows + 1, columns), axis=0)[:rows].astype(np.uint16)


def _extremes(windows: Floats, x: Extent, columns: int) -> tuple[Floats, Floats]:
    """Minimum and maximum of each window in each column: of its samples there, and where it enters and leaves."""
    samples = windows.shape[1]
    edges = np.linspace(x.low, x.high, columns + 1)
    before = np.clip(np.floor(edges), 0, samples - 2).astype(np.int64)
    share = edges - before
    at_edges = windows[:, before] * (1 - share) + windows[:, before + 1] * share
    at_edges[:, (edges < 0) | (edges > samples - 1)] = np.nan
    low, high = np.fmin(at_edges[:, :-1], at_edges[:, 1:]), np.fmax(at_edges[:, :-1], at_edges[:, 1:])
    column = np.floor((np.arange(samples) - x.low) / (x.high - x.low) * columns)
    inside = np.flatnonzero((column >= 0) & (column < columns))
    if len(inside):
        begins = np.flatnonzero(np.diff(column[inside], prepend=-1))
        at = column[inside][begins].astype(np.int64)
        low[:, at] = np.fmin(low[:, at], np.fmin.reduceat(windows[:, inside], begins, axis=1))
        high[:, at] = np.fmax(high[:, at], np.fmax.reduceat(windows[:, inside], begins, axis=1))
    return low, high
