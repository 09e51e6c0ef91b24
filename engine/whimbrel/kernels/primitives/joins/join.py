"""Temporal equi-join of two time-ordered inputs.

Row r of an input has slot ``base + r``. The active rows of one key and side stand next to each other in a block of
`slots`, newest first, so that a match reads consecutive memory, not a cache line for each. A new row takes the slot
before the first one. A full block moves to one twice as large, and leaves a hole.

Matches are written as stretches: a row, and all that it meets. Where few keys have most rows a stretch is long, and
what is made of it is written as fast as memory takes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.hash_table import index

Array = np.ndarray[Any, Any]

LEFT, RIGHT, MET, RUNS, OF_CURSOR = 0, 1, 2, 3, 4
"""Positions in the cursor: next row of each side, how many partners of the next row are written already, and how many
stretches were written; and how many numbers that is."""
LOW, FIRST, STOP, MIXED, OF_BLOCK = 0, 1, 2, 3, 4
"""Of each key's block: where it begins, where its first row stands, where it ends, and whether a row may end before an
older one does; and how many numbers that is."""


def temporal_join(
    cursor: Array, time: int,
    left_sync: Array, left_base: int, left_group: Array, left_ends: Array, left_blocks: Array, left_slots: Array,
    left_used: Array,
    right_sync: Array, right_base: int, right_group: Array, right_ends: Array, right_blocks: Array, right_slots: Array,
    right_used: Array,
    out_side: Array, out_row: Array, out_stop: Array, out_met: Array, out_start: Array, out_end: Array,
) -> int:
    """Match rows in time order (left first on ties) until both inputs end, or a buffer is full.

    A row without group (-1) matches nothing. Rows at `time` may still follow, earlier ones cannot. Of each stretch its
    side, its row and where it ends are written, of each match the other row. The start and end of matches are not
    written if their buffers are empty. Returns the number of matches written.
    """
    left, right, met = cursor[LEFT], cursor[RIGHT], cursor[MET]
    lefts, rights = left_sync.shape[0], right_sync.shape[0]
    done = runs = 0
    while left < lefts or right < rights:
        if right == rights or (left < lefts and left_sync[left] <= right_sync[right]):
            slot, sync = left_base + left, left_sync[left]
            if left_group[slot] >= 0:
                group = index(left_group[slot])
                if not has_capacity(group, left_blocks, left_slots, left_used):
                    break
                before = done
                met, done = meet(met, group, sync, left_ends[slot], right_ends, right_blocks, right_slots,
                                 out_met, out_start, out_end, done)
                if done > before:
                    out_side[runs], out_row[runs], out_stop[runs] = LEFT, slot, done
                    runs += 1
                if met >= 0:
                    break
                met = 0
                hang(slot, group, left_ends, left_blocks, left_slots)
            left += 1
        else:
            slot, sync = right_base + right, right_sync[right]
            if right_group[slot] >= 0:
                group = index(right_group[slot])
                # The left rows that a point can meet are here already, unless more of its time may follow.
                stays = right_ends[slot] > sync + 1 or sync >= time
                if stays and not has_capacity(group, right_blocks, right_slots, right_used):
                    break
                before = done
                met, done = meet(met, group, sync, right_ends[slot], left_ends, left_blocks, left_slots,
                                 out_met, out_start, out_end, done)
                if done > before:
                    out_side[runs], out_row[runs], out_stop[runs] = RIGHT, slot, done
                    runs += 1
                if met >= 0:
                    break
                met = 0
                if stays:
                    hang(slot, group, right_ends, right_blocks, right_slots)
            right += 1
    cursor[LEFT], cursor[RIGHT], cursor[MET], cursor[RUNS] = left, right, met, runs
    return done


def meet(met: int, group: int, sync: int, end: int, ends: Array, blocks: Array, slots: Array, out_met: Array,
         out_start: Array, out_end: Array, done: int) -> tuple[int, int]:
    """Write the matches of one row with the block of its group, but for the first `met` of them.

    Returns how many it has met if the buffer was full, else -1; and the number of matches.
    """
    first, stop = without_ended(group, sync, ends, blocks, slots), blocks[OF_BLOCK * group + STOP]
    here = min(stop - first - met, out_met.shape[0] - done)
    theirs = slots[first + met : first + met + here]
    out_met[done : done + here] = theirs
    if out_start.shape[0] > 0:
        out_start[done : done + here] = sync
        until = out_end[done : done + here]
        for number in range(here):
            until[number] = min(end, ends[theirs[number]])
    met += here
    return met if met < stop - first else -1, done + here


def without_ended(group: int, sync: int, ends: Array, blocks: Array, slots: Array) -> int:
    """Drop rows from a block that have ended by now; answers where its first row stands then."""
    first, stop = blocks[OF_BLOCK * group + FIRST], blocks[OF_BLOCK * group + STOP]
    if blocks[OF_BLOCK * group + MIXED] == 0:
        while first < stop and ends[slots[stop - 1]] <= sync:
            stop -= 1
        blocks[OF_BLOCK * group + STOP] = stop
        return first
    ended = 0
    for position in range(first, stop):
        ended += ends[slots[position]] <= sync
    if ended == 0:
        return first
    blocks[OF_BLOCK * group + FIRST] = stop
    for position in range(stop - 1, first - 1, -1):
        if ends[slots[position]] > sync:
            hang(slots[position], group, ends, blocks, slots)
    return blocks[OF_BLOCK * group + FIRST]


def has_capacity(group: int, blocks: Array, slots: Array, used: Array) -> bool:
    """Whether the block of a group can take one more row; it is moved where it can only so."""
    low, first, stop = (blocks[OF_BLOCK * group + LOW], blocks[OF_BLOCK * group + FIRST],
                        blocks[OF_BLOCK * group + STOP])
    if first > low:
        return True
    held = stop - first
    size = max(2 * held, 1)
    low = used[0]
    if low + size > slots.shape[0]:
        return False
    used[0] = low + size
    for position in range(held):
        slots[low + size - held + position] = slots[first + position]
    blocks[OF_BLOCK * group + LOW], blocks[OF_BLOCK * group + STOP] = low, low + size
    blocks[OF_BLOCK * group + FIRST] = low + size - held
    return True


def hang(slot: int, group: int, ends: Array, blocks: Array, slots: Array) -> None:
    """Put a row before the others of its group, if the block has a free slot."""
    first = blocks[OF_BLOCK * group + FIRST]
    if first == blocks[OF_BLOCK * group + STOP]:
        blocks[OF_BLOCK * group + MIXED] = 0
    elif ends[slot] < ends[slots[first]]:
        blocks[OF_BLOCK * group + MIXED] = 1
    slots[first - 1] = slot
    blocks[OF_BLOCK * group + FIRST] = first - 1


def hang_all(count: int, time: int, group_of: Array, ends: Array, blocks: Array, slots: Array) -> int:
    """Hang the first `count` rows, as far as they last beyond `time`, in blocks as large as needed; none is hung yet.

    Returns how much of `slots` is used.
    """
    for slot in range(count):
        if group_of[slot] >= 0 and ends[slot] > time:
            block = OF_BLOCK * index(group_of[slot])
            blocks[block + LOW] = -1
            blocks[block + STOP] += 1
    used = 0
    for slot in range(count):
        if group_of[slot] >= 0 and ends[slot] > time:
            block = OF_BLOCK * index(group_of[slot])
            if blocks[block + LOW] < 0:
                blocks[block + LOW] = used
                used += blocks[block + STOP]
                blocks[block + FIRST] = blocks[block + STOP] = used
            hang(slot, index(group_of[slot]), ends, blocks, slots)
    return used


def spread(side: int, values: Array, sides: Array, rows: Array, stops: Array, met: Array, out: Array) -> None:
    """Write the value of one side of each match: that of a stretch's row again and again, or those that it meets."""
    position = np.uint64(0)  # an index that may be negative costs more than the copy
    for run in range(stops.shape[0]):
        stop = np.uint64(stops[run])
        if sides[run] == side:
            value = values[index(rows[run])]
            while position < stop:
                out[position] = value
                position += np.uint64(1)
        else:
            while position < stop:
                out[position] = values[index(met[position])]
                position += np.uint64(1)
