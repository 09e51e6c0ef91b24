"""Putting whole columns of times in order: what is late is sorted apart, or slices of time that fit the cache.

Both are stable: rows of one time keep the order in which they came.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

DIGIT_BITS = 9
"""Bits sorted by at a time: the counters of a pass stay in the first cache."""


def find_late(sync: Array, late: Array) -> int:
    """Write the positions of rows that are below a row before them; how many, or -1 if they are more than few."""
    newest = sync[0]
    found = 0
    few = late.shape[0] >> 4
    for row in range(sync.shape[0]):
        if sync[row] >= newest:
            newest = sync[row]
        else:
            if found == late.shape[0] or found > few + (row >> 5):
                return -1
            late[found] = row
            found += 1
    return found


def merge_late(sync: Array, late: Array, late_in_order: Array, out: Array) -> None:
    """Merge late rows among the others in order of time; on ties the others came first."""
    place = 0
    passed = 0
    waiting = 0
    for row in range(sync.shape[0]):
        if passed < late.shape[0] and late[passed] == row:
            passed += 1
            continue
        time = sync[row]
        while waiting < late.shape[0] and sync[late_in_order[waiting]] < time:
            out[place] = late_in_order[waiting]
            waiting += 1
            place += 1
        out[place] = row
        place += 1
    while waiting < late.shape[0]:
        out[place] = late_in_order[waiting]
        waiting += 1
        place += 1


def count_slices(sync: Array, first: int, shift: int, counts: Array) -> None:
    """How many rows fall into each slice of ``2**shift`` ticks from `first` on."""
    for row in range(sync.shape[0]):
        counts[(sync[row] - first) >> shift] += 1


def deal_slices(sync: Array, first: int, shift: int, coarse: int, row_bits: int, place: Array, packed: Array) -> None:
    """Put rows behind those of their slice that came before, as (time within the slice >> coarse, position)."""
    within = (1 << shift) - 1
    for row in range(sync.shape[0]):
        time = sync[row] - first
        at = place[time >> shift]
        place[time >> shift] = at + 1
        packed[at] = (time & within) >> coarse << row_bits | row


def sort_slices(sync: Array, coarse: int, row_bits: int, bounds: Array, packed: Array, spare: Array,
                counts: Array) -> None:
    """Sort slices that have room in `spare`, digit by digit, and leave positions of rows; others keep their order."""
    begin = 0
    positions = (1 << row_bits) - 1
    for slice_ in range(bounds.shape[0]):
        end = bounds[slice_]
        size = end - begin
        union = 0
        descents = 0
        before = 0
        for row in range(begin, end):
            union |= packed[row]
            descents += packed[row] < before
            before = packed[row]
        moved = False
        if descents and size <= spare.shape[0]:
            shift = row_bits
            while union >> shift:
                if moved:
                    sort_digit(spare, 0, size, shift, packed, begin, counts)
                else:
                    sort_digit(packed, begin, end, shift, spare, 0, counts)
                moved = not moved
                shift += DIGIT_BITS
        if moved:
            for row in range(size):
                packed[begin + row] = spare[row] & positions
        else:
            for row in range(begin, end):
                packed[row] &= positions
        if coarse and size <= spare.shape[0]:
            for row in range(begin + 1, end):
                mine = packed[row]
                to = row
                while to > begin and sync[packed[to - 1]] > sync[mine]:
                    packed[to] = packed[to - 1]
                    to -= 1
                packed[to] = mine
        begin = end


def sort_digit(packed: Array, begin: int, end: int, shift: int, out: Array, to: int, counts: Array) -> None:
    """Write values in the order of one digit; those of one digit keep their order."""
    mask = counts.shape[0] - 1
    for digit in range(counts.shape[0]):
        counts[digit] = 0
    for row in range(begin, end):
        counts[packed[row] >> shift & mask] += 1
    total = to
    for digit in range(counts.shape[0]):
        here = counts[digit]
        counts[digit] = total
        total += here
    for row in range(begin, end):
        digit = packed[row] >> shift & mask
        out[counts[digit]] = packed[row]
        counts[digit] += 1
