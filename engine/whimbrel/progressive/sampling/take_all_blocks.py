"""Choose a take-all stratum: blocks with outliers, which are read completely first."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Mask, Ticks

Array = np.ndarray[Any, Any]

_OF_A_VALUE, _OF_ALL = 16, 8
"""At most one of this many blocks is read first: for one value, and for all together."""


def certain_blocks(numbers: Array, there: Mask, other: Array, uneven: float, limit: float) -> Ticks:
    """The blocks to read first, so that what the others add has light tails, for as many values as possible.

    Parameters
    ----------
    numbers : numpy.ndarray of float64
        By value of a group, and block: what the block adds, scaled to blocks of one size.
    there : numpy.ndarray of bool
        By the same: whether the block may have rows of the group's window, and is not read first in any case.
    other : numpy.ndarray of float64
        By value of a group, the variance between blocks of what else they add, which has light tails.
    uneven : float
        The factor by which the kurtosis grows because blocks differ in size.
    limit : float
        The largest kurtosis, less 1.

    Examples
    --------
    >>> numbers = np.tile([1.0, -1.0], (1, 20))
    >>> numbers[0, 7] = 30
    >>> certain_blocks(numbers, np.ones(numbers.shape, np.bool_), np.zeros(1), 1.0, 4.0).tolist()
    [7]
    """
    blocks = numbers.shape[1]
    apart = np.where(there | ~there.any(axis=1, keepdims=True), numbers, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.abs(np.where(there, apart - np.nanmedian(apart, axis=1, keepdims=True), 0.0))
        order = np.argsort(-away, axis=1, kind="stable")
        squares = np.take_along_axis(away, order, axis=1) ** 2
        second, fourth = (np.flip(np.cumsum(np.flip(part, 1), axis=1), 1) for part in (squares, squares**2))
        left = np.maximum(there.sum(axis=1, keepdims=True) - np.arange(blocks), 1)
        second, fourth = second / left, fourth / left
        kurtosis = 3 + (fourth - 3 * second**2) / (second + other[:, None]) ** 2
        tails = np.where(second > 0, kurtosis * uneven - 1, 0.0)
    few = (tails <= limit) & (np.arange(blocks) <= there.sum(axis=1, keepdims=True) // _OF_A_VALUE)
    needed = np.where(few.any(axis=1), few.argmax(axis=1), -1)
    certain, count = np.zeros(blocks, np.bool_), 0
    for row in np.argsort(needed, kind="stable").tolist():
        if needed[row] > 0:
            more = order[row, : needed[row]]
            fresh = int((~certain[more]).sum())
            if count + fresh <= blocks // _OF_ALL:
                certain[more], count = True, count + fresh
    return np.flatnonzero(certain)
