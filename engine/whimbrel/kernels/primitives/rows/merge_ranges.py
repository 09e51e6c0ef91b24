"""Minimum and maximum of equally long stretches of consecutive values."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def merge_ranges(lows: Array, highs: Array, first: int, size: int, low: Array, high: Array) -> None:
    """Merge ranges into cells of `size` consecutive places.

    Place ``first + i`` is in cell ``(first + i) // size``; the first cell of the output has place `first`. Values that
    are not a number are left out, and so are empty ranges, whose low end is above their high end.

    Parameters
    ----------
    lows, highs : array
        Ends of the ranges. Of single values both are the same array.
    first : int
        Number of the first place.
    size : int
    low, high : array
        Ends of the cells so far, of the same type; the greatest and least number where a cell is empty.
    """
    cell, row = 0, 0
    stop = min(lows.shape[0], size - first % size)
    while row < lows.shape[0]:
        least, most = low[cell], high[cell]
        for place in range(row, stop):
            # min() of numba may return a value that is not a number
            least = lows[place] if lows[place] < least else least  # noqa: FURB136
            most = highs[place] if highs[place] > most else most  # noqa: FURB136
        low[cell], high[cell] = least, most
        cell += 1
        row, stop = stop, min(lows.shape[0], stop + size)
