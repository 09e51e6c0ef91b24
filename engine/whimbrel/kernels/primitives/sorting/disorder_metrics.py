"""Metrics of disorder (Chandramouli et al., Impatience, ICDE 2018, section II)."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def count_inversions(times: Array, spare: Array) -> int:
    """How many pairs are out of order; sorts `times` on the way, bottom up."""
    inversions = 0
    width = 1
    size = times.shape[0]
    while width < size:
        for begin in range(0, size - width, 2 * width):
            middle = begin + width
            end = min(begin + 2 * width, size)
            if times[middle - 1] <= times[middle]:
                continue
            for row in range(begin, end):
                spare[row] = times[row]
            left, right, index = begin, middle, begin
            while left < middle and right < end:
                if spare[left] <= spare[right]:
                    times[index] = spare[left]
                    left += 1
                else:
                    times[index] = spare[right]
                    right += 1
                    inversions += middle - left
                index += 1
            while left < middle:
                times[index] = spare[left]
                left += 1
                index += 1
        width *= 2
    return inversions


def deal_to_runs(times: Array, tails: Array) -> int:
    """The minimum number of sorted runs of a sequence (patience sort); `tails` has an entry for each."""
    runs = 0
    for row in range(times.shape[0]):
        time = times[row]
        low, high = 0, runs
        while low < high:  # tails descend: the first one that is not above
            middle = (low + high) >> 1
            if tails[middle] <= time:
                high = middle
            else:
                low = middle + 1
        tails[low] = time
        runs = max(runs, low + 1)
    return runs
