"""Read, reduce and compare the items of each list.

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


def write_lengths(offsets: Array, lengths: Array) -> None:
    """Write how many items each list has."""
    for row in range(lengths.shape[0]):
        lengths[row] = np.int64(offsets[row + 1]) - np.int64(offsets[row])


def get_items(items: Array, there: Array, offsets: Array, base: int, indexes: Array, found: Array,
              filled: Array) -> None:
    """Write the item at the index of each list, or at the only index, and whether it is there.

    Indexes below 0 count from the end.
    """
    alone = indexes.shape[0] == 1
    for row in range(found.shape[0]):
        first, last = np.int64(offsets[row]) - base, np.int64(offsets[row + 1]) - base
        index = indexes[0 if alone else row]
        at = (first if index >= 0 else last) + index
        if first <= at < last and (there.shape[0] == 0 or there[np.uint64(at)]):
            found[row], filled[row] = items[np.uint64(at)], True
        else:
            found[row], filled[row] = 0, False


_FEW = 16
"""Items that are compared one with another; more are looked up in a table."""


def find_distinct_items(items: Array, there: Array, offsets: Array, base: int, slots: Array, kept: Array,
                        lengths: Array) -> int:
    """Write the places of the first of equal items of each list, and how many there are of each list, and of all.

    `items` are integers, and of nulls one is kept. `slots` are a power of two, more than a list has items, and -1. A
    slot has the place in `kept` of an item. Those of lists before are below the first one of this list.
    """
    done, mask = 0, np.uint64(slots.shape[0] - 1)
    for row in range(lengths.shape[0]):
        begin, is_null = done, False
        first, last = np.int64(offsets[row]) - base, np.int64(offsets[row + 1]) - base
        for at in range(first, last):
            if there.shape[0] > 0 and not there[np.uint64(at)]:
                fresh, is_null = not is_null, True
            elif last - first <= _FEW:
                fresh = True
                for other in range(begin, done):
                    place = np.uint64(kept[np.uint64(other)])
                    same = items[place] == items[np.uint64(at)] and (there.shape[0] == 0 or there[place])
                    fresh = fresh and not same
            else:
                hashed = np.uint64(items[np.uint64(at)]) * np.uint64(0x9E3779B97F4A7C15)
                slot, fresh = (hashed >> np.uint64(32)) & mask, True
                while fresh and slots[slot] >= begin:
                    if items[np.uint64(kept[np.uint64(slots[slot])])] == items[np.uint64(at)]:
                        fresh = False
                    else:
                        slot = (slot + np.uint64(1)) & mask
                if fresh:
                    slots[slot] = done
            if fresh:
                kept[np.uint64(done)] = at
                done += 1
        lengths[row] = done - begin
    return done
