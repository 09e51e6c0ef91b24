"""Find the cell of an irregular grid that each time lies in."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def cells_of(times: Array, bounds: Array, first: int, cells: Array) -> None:
    """Write the cell of each time: `first` and the position of the last bound that is not after it.

    Every time has such a bound, and a later one. Times that follow each other mostly lie in the same cell or in the
    next one. Others are found by halving.
    """
    at = 0
    for row in range(len(times)):
        time = times[row]
        if time < bounds[at] or time >= bounds[at + 1]:
            if time >= bounds[at + 1] and at + 2 < len(bounds) and time < bounds[at + 2]:
                at += 1
            else:
                low, high = 0, len(bounds) - 1
                while high - low > 1:
                    middle = (low + high) // 2
                    if bounds[middle] <= time:
                        low = middle
                    else:
                        high = middle
                at = low
        cells[row] = first + at
