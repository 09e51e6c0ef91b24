"""Reduce the items of each list.

`offsets` say where lists begin and the last one ends, counted from `base`. `there` is empty where no item is null.
Items are taken in order, so that floats have the same bits in all tiers. Places are unsigned: numba asks of others
whether they count from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def sum_integers(items: Array, there: Array, offsets: Array, base: int, sums: Array, fits: Array) -> None:
    """Write the sum of each list, and whether it is within int64."""
    for row in range(sums.shape[0]):
        low, high = np.uint64(0), np.int64(0)  # together they are a number of 128 bits
        for at in range(offsets[row] - base, offsets[row + 1] - base):
            if there.shape[0] == 0 or there[np.uint64(at)]:
                item = np.int64(items[np.uint64(at)])
                following = low + np.uint64(item)
                high += (item >> np.int64(63)) + np.int64(following < low)
                low = following
        total = np.int64(low)
        sums[row], fits[row] = total, high == total >> np.int64(63)


def sum_floats(items: Array, there: Array, offsets: Array, base: int, sums: Array, counts: Array) -> None:
    """Write the sum of each list as float64, and how many items it has without nulls."""
    for row in range(sums.shape[0]):
        total, count = 0.0, 0
        for at in range(offsets[row] - base, offsets[row + 1] - base):
            if there.shape[0] == 0 or there[np.uint64(at)]:
                total += items[np.uint64(at)]
                count += 1
        sums[row], counts[row] = total, count


def find_extremes(items: Array, there: Array, offsets: Array, base: int, greatest: bool, found: Array,
                  filled: Array) -> None:
    """Write the least or greatest item of each list, and whether it has any; NaN is the greatest.

    Of equal items it is the first.
    """
    for row in range(found.shape[0]):
        best, any_item = found[row], False
        for at in range(offsets[row] - base, offsets[row + 1] - base):
            if there.shape[0] == 0 or there[np.uint64(at)]:
                item = items[np.uint64(at)]
                if greatest:
                    better = item > best or (item != item and best == best)  # noqa: PLR0124 - true of nan
                else:
                    better = item < best or (best != best and item == item)  # noqa: PLR0124
                if better or not any_item:
                    best, any_item = item, True
        found[row], filled[row] = best, any_item


def find_items(items: Array, there: Array, offsets: Array, base: int, values: Array, found: Array) -> None:
    """Write whether each list has an item that equals the value of its row, or the only value."""
    alone = values.shape[0] == 1
    for row in range(found.shape[0]):
        value, hit = values[0 if alone else row], False
        for at in range(offsets[row] - base, offsets[row + 1] - base):
            hit |= (items[np.uint64(at)] == value) & (there.shape[0] == 0 or there[np.uint64(at)])
        found[row] = hit
