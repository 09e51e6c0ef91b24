"""Decimate a line by the minimum and maximum of each range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def keep_extremes(y: NDArray[np.float64], max_points: int) -> NDArray[np.int64]:
    """Positions that draw the same picture with at most ``max_points`` points.

    The row is cut into equal stretches; of each stretch the positions of its minimum and its maximum stay, in
    order, so that no peak is lost. The first and the last position always stay, so that the ends do not jump.

    Parameters
    ----------
    y : array of float
        Values in drawing order; NaN counts as absent.
    max_points : int
        At least 4.

    Returns
    -------
    array of int
        Increasing positions into ``y``.

    Examples
    --------
    >>> keep_extremes(np.array([0.0, 9.0, 1.0, 2.0, -5.0, 3.0, 0.0, 1.0]), 6).tolist()
    [0, 1, 4, 5, 7]
    """
    if len(y) <= max_points:
        return np.arange(len(y))
    stretches = (max_points - 2) // 2
    edges = np.linspace(0, len(y), stretches + 1).astype(np.int64)[:-1]
    lowest = _first_where(np.where(np.isnan(y), np.inf, y), np.minimum, edges)
    highest = _first_where(np.where(np.isnan(y), -np.inf, y), np.maximum, edges)
    return np.unique(np.concatenate([[0], lowest, highest, [len(y) - 1]]))


def _first_where(y: NDArray[np.float64], extreme: np.ufunc, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """In each stretch, the first position that holds the stretch's extreme."""
    lengths = np.diff(np.append(edges, len(y)))
    reached = np.flatnonzero(y == np.repeat(extreme.reduceat(y, edges), lengths))
    return reached[np.searchsorted(reached, edges)]
