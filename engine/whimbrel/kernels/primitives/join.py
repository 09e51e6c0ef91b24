"""Temporal equi-join of two time-ordered inputs: each row meets the rows of the other side that are still active."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LEFT, RIGHT, PLACE, BEFORE = 0, 1, 2, 3
"""Positions in the cursor: next row of each side, and where in a chain an interrupted walk goes on."""
FRESH = -2


def temporal_join(
    cursor: Array, left_sync: Array, left_other: Array, left_group: Array, left_base: int,
    right_sync: Array, right_other: Array, right_group: Array, right_base: int,
    left_end: Array, left_after: Array, left_head: Array, right_end: Array, right_after: Array, right_head: Array,
    out_left: Array, out_right: Array, out_start: Array, out_end: Array,
) -> int:
    """Match rows in time order (left first on ties) until both inputs or the room for matches run out.

    Rows of one group hang in a chain per side; ends and links are kept by slot, and row r of an input has slot
    ``base + r``. A row without group (-1) matches nothing. Returns the number of matches written.
    """
    done = 0
    while cursor[LEFT] < left_sync.shape[0] or cursor[RIGHT] < right_sync.shape[0]:
        left, right = cursor[LEFT], cursor[RIGHT]
        from_left = right == right_sync.shape[0] or (left < left_sync.shape[0] and left_sync[left] <= right_sync[right])
        if from_left:
            done = meet(cursor, left_sync[left], left_other[left], left_group[left], left_base + left,
                        right_end, right_after, right_head, out_left, out_right, out_start, out_end, done)
            if cursor[PLACE] != FRESH:
                return done
            hang(left_base + left, left_other[left], left_group[left], left_end, left_after, left_head)
            cursor[LEFT] += 1
        else:
            done = meet(cursor, right_sync[right], right_other[right], right_group[right], right_base + right,
                        left_end, left_after, left_head, out_right, out_left, out_start, out_end, done)
            if cursor[PLACE] != FRESH:
                return done
            hang(right_base + right, right_other[right], right_group[right], right_end, right_after, right_head)
            cursor[RIGHT] += 1
    return done


def meet(cursor: Array, sync: int, other: int, group: int, slot: int, ends: Array, after: Array, head: Array,
         out_mine: Array, out_theirs: Array, out_start: Array, out_end: Array, done: int) -> int:
    """Write the matches of one row with the chain of its group, unhanging what has ended."""
    if group < 0:
        return done
    if cursor[PLACE] == FRESH:
        cursor[PLACE], cursor[BEFORE] = head[group], -1
    while cursor[PLACE] >= 0:
        place = cursor[PLACE]
        if ends[place] <= sync:
            if cursor[BEFORE] >= 0:
                after[cursor[BEFORE]] = after[place]
            else:
                head[group] = after[place]
        else:
            if done == out_start.shape[0]:
                return done
            out_mine[done], out_theirs[done] = slot, place
            out_start[done], out_end[done] = sync, min(other, ends[place])
            done += 1
            cursor[BEFORE] = place
        cursor[PLACE] = after[place]
    cursor[PLACE] = FRESH
    return done


def hang(slot: int, other: int, group: int, ends: Array, after: Array, head: Array) -> None:
    """Put a row at the head of its group's chain."""
    ends[slot] = other
    if group >= 0:
        after[slot] = head[group]
        head[group] = slot
