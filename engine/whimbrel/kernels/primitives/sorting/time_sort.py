"""Sort columns of times: insertion of late rows, or radix sort.

Both are stable: rows of one time keep the order in which they came.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BLOCK = 4_096
"""How many times are compared before it is asked whether one was earlier."""
DIGIT_BITS = 9
"""Bits sorted by at a time: the counters of a pass stay in the first cache."""
MOVES, FEW_MOVES = 4, 256
"""How many places a row of a slice is moved on average, and how many all are before that is asked for."""
REACH = 32
"""How many places a row may be late and still be moved where it belongs."""


def ascending(times: Array) -> bool:
    """Whether no time is before the one in front of it; a block is compared whole, since to stop in it takes longer."""
    for first in range(1, times.shape[0], BLOCK):
        falls = False
        for row in range(first, min(first + BLOCK, times.shape[0])):
            falls |= times[row] < times[row - 1]
        if falls:
            return False
    return True


def extent(times: Array) -> tuple[Any, Any]:
    """The smallest and the largest time."""
    first, last = times[0], times[0]
    for row in range(1, times.shape[0]):
        first, last = min(first, times[row]), max(last, times[row])
    return first, last


def steps(times: Array) -> tuple[Any, Any]:
    """The smallest and largest step from one time to the next; negative if a time is earlier.

    A step that leaves int64 is negative, too.
    """
    minimum, maximum, falls = np.int64(2**63 - 1), np.int64(-1), False
    for row in range(1, times.shape[0]):
        step = times[row] - times[row - 1]
        falls |= times[row] < times[row - 1]
        minimum, maximum = min(minimum, step), max(maximum, step)
    return (np.int64(-1) if falls else minimum), maximum


def order_near(sync: Array, late: Array, order: Array) -> int:
    """Insertion sort for rows that are a few positions late; collect later rows. Return their number, or -1.

    Later rows are moved, too, while moves cost less than to merge what is collected, which moves nearly all rows.

    A moved row goes after all rows of its time. A collected row arrived before no other row of its time, since none is
    moved far once some are collected.
    """
    index = 0
    found = 0
    far = 0
    moved = 0
    moves = 0
    few = late.shape[0] >> 4
    newest = sync[0]
    for row in range(sync.shape[0]):
        time = sync[row]
        if time >= newest:
            order[index] = row
            newest = time
            index += 1
        elif index >= REACH and sync[order[index - REACH]] > time:
            to = index if found > 0 else _position(sync, order, index, time)
            far += index - to
            if found == 0 and far <= few + row:
                for at in range(index, to, -1):
                    order[at] = order[at - 1]
                order[to] = row
                index += 1
                continue
            if found == late.shape[0] or found > few + (row >> 3):
                return -1
            late[found] = row
            found += 1
        else:
            to = index
            while to > 0 and sync[order[to - 1]] > time:
                order[to] = order[to - 1]
                to -= 1
            order[to] = row
            index += 1
            moved += 1
            moves += index - to
            if moved > few + (row >> 2) or moves > few + 4 * row:
                return -1
    return found


def _position(sync: Array, order: Array, index: int, time: int) -> int:
    """Where a row of this time belongs in the first rows of `order`: searched from their end in growing steps."""
    reach = REACH
    while reach < index and sync[order[index - reach]] > time:
        reach *= 2
    low, high = max(index - reach, 0), index - reach // 2
    while low < high:
        middle = (low + high) // 2
        if sync[order[middle]] > time:
            high = middle
        else:
            low = middle + 1
    return low


def merge_late(sync: Array, late_in_order: Array, order: Array) -> None:
    """Merge late rows with the others at the start of `order`, from the end; on ties the others arrived first."""
    index = order.shape[0] - 1
    waiting = late_in_order.shape[0] - 1
    other = index - waiting - 1
    while waiting >= 0:
        late = late_in_order[waiting]
        time = sync[late]
        while other >= 0 and sync[order[other]] > time:
            order[index] = order[other]
            other -= 1
            index -= 1
        order[index] = late
        waiting -= 1
        index -= 1


def count_slices(sync: Array, first: int, shift: int, counts: Array) -> None:
    """How many rows fall into each slice of ``2**shift`` ticks from `first` on."""
    for row in range(sync.shape[0]):
        counts[(sync[row] - first) >> shift] += 1


def deal_slices(sync: Array, first: int, shift: int, coarse: int, row_bits: int, index: Array, packed: Array) -> None:
    """Append rows to their slices in arrival order, as (time within the slice >> coarse, position)."""
    within = (1 << shift) - 1
    for row in range(sync.shape[0]):
        time = sync[row] - first
        at = index[time >> shift]
        index[time >> shift] = at + 1
        packed[at] = (time & within) >> coarse << row_bits | row


def sort_slices(sync: Array, coarse: int, row_bits: int, bounds: Array, packed: Array, spare: Array,
                counts: Array) -> None:
    """Sort slices that fit `spare`, and leave positions of rows; others keep their order.

    Where few rows are out of order, they are moved. Otherwise a slice is radix-sorted by the upper two digits of its
    times, and the few rows that this leaves out of order are moved. Where times crowd, all digits are sorted.
    """
    begin = 0
    positions = (1 << row_bits) - 1
    for slice_ in range(bounds.shape[0]):
        end = bounds[slice_]
        size = end - begin
        union, falls, before = 0, 0, 0
        for row in range(begin, end):
            union |= packed[row]
            falls += packed[row] < before
            before = packed[row]
        if falls and size <= spare.shape[0] and (falls > size >> 5 or not moved_in(packed, begin, end)):
            top = row_bits
            while union >> top:
                top += 1
            low = max(row_bits, top - 2 * DIGIT_BITS)
            sort_two_digits(packed, begin, end, low, (top - low + 1) >> 1, spare, counts)
            if low > row_bits and not moved_in(packed, begin, end):
                for shift in range(row_bits, top, 2 * DIGIT_BITS):
                    sort_two_digits(packed, begin, end, shift, DIGIT_BITS, spare, counts)
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


def moved_in(packed: Array, begin: int, end: int) -> bool:
    """Sort values by moving each to where it belongs; whether few moves were enough, else it is done in part."""
    moves = FEW_MOVES
    for row in range(begin + 1, end):
        mine = packed[np.uint64(row)]
        to = row
        while to > begin and packed[np.uint64(to - 1)] > mine:
            packed[np.uint64(to)] = packed[np.uint64(to - 1)]
            to -= 1
        packed[np.uint64(to)] = mine
        moves += MOVES - (row - to)
        if moves < 0:
            return False
    return True


def sort_two_digits(packed: Array, begin: int, end: int, shift: int, bits: int, spare: Array, counts: Array) -> None:
    """Sort values by two digits of so many bits, the lower one first; those of the same digits keep their order."""
    digits = 1 << bits
    mask = digits - 1
    for digit in range(2 * digits):
        counts[digit] = 0
    for row in range(begin, end):
        value = packed[np.uint64(row)] >> shift
        counts[np.uint64(value & mask)] += 1
        counts[np.uint64(digits + (value >> bits & mask))] += 1
    lower, upper = 0, begin
    for digit in range(digits):
        here, above = counts[digit], counts[digits + digit]
        counts[digit], counts[digits + digit] = lower, upper
        lower += here
        upper += above
    for row in range(begin, end):
        value = packed[np.uint64(row)]
        at = np.uint64(value >> shift & mask)
        spare[np.uint64(counts[at])] = value
        counts[at] += 1
    for row in range(end - begin):
        value = spare[np.uint64(row)]
        at = np.uint64(digits + (value >> shift >> bits & mask))
        packed[np.uint64(counts[at])] = value
        counts[at] += 1
