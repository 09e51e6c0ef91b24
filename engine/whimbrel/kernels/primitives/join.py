"""Temporal equi-join of two time-ordered inputs: each row meets the rows of the other side that are still active.

Rows of one group hang in a chain per side, newest first. Row r of an input has slot ``base + r``; ``links[2 s]`` is the
end of slot s and ``links[2 s + 1]`` the slot behind it in its chain: a step along a chain touches one cache line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.table import index

Array = np.ndarray[Any, Any]

LEFT, RIGHT, PLACE, BEFORE = 0, 1, 2, 3
"""Positions in the cursor: next row of each side, and where in a chain an interrupted walk goes on."""
FRESH = -2


def temporal_join(
    cursor: Array, time: int, left_sync: Array, left_other: Array, left_group: Array, left_base: int,
    right_sync: Array, right_other: Array, right_group: Array, right_base: int,
    left_links: Array, left_head: Array, right_links: Array, right_head: Array,
    out_left: Array, out_right: Array, out_start: Array, out_end: Array,
) -> int:
    """Match rows in time order (left first on ties) until both inputs or the room for matches run out.

    A row without group (-1) matches nothing. Rows at `time` may still follow, earlier ones cannot. Returns the number
    of matches written.
    """
    left, right, place, before = cursor[LEFT], cursor[RIGHT], cursor[PLACE], cursor[BEFORE]
    lefts, rights = left_sync.shape[0], right_sync.shape[0]
    done = 0
    while left < lefts or right < rights:
        if right == rights or (left < lefts and left_sync[left] <= right_sync[right]):
            slot = left_base + left
            left_links[2 * slot], left_links[2 * slot + 1] = left_other[left], -1
            if left_group[left] >= 0:
                group = index(left_group[left])
                if place == FRESH:
                    place, before = right_head[group], -1
                if place >= 0:
                    place, before, done = meet(place, before, group, left_sync[left], left_other[left], slot,
                                               right_links, right_head, out_left, out_right, out_start, out_end, done)
                    if place >= 0:
                        break
                place = FRESH
                left_links[2 * slot + 1] = left_head[group]
                left_head[group] = slot
            left += 1
        else:
            slot = right_base + right
            right_links[2 * slot], right_links[2 * slot + 1] = right_other[right], -1
            if right_group[right] >= 0:
                group = index(right_group[right])
                if place == FRESH:
                    place, before = left_head[group], -1
                if place >= 0:
                    place, before, done = meet(place, before, group, right_sync[right], right_other[right], slot,
                                               left_links, left_head, out_right, out_left, out_start, out_end, done)
                    if place >= 0:
                        break
                place = FRESH
                point = right_other[right] <= right_sync[right] + 1
                if not point or right_sync[right] >= time:  # the left rows that a point can meet are here already
                    right_links[2 * slot + 1] = right_head[group]
                    right_head[group] = slot
            right += 1
    cursor[LEFT], cursor[RIGHT], cursor[PLACE], cursor[BEFORE] = left, right, place, before
    return done


def meet(place: int, before: int, group: int, sync: int, other: int, slot: int, links: Array, head: Array,
         out_mine: Array, out_theirs: Array, out_start: Array, out_end: Array, done: int) -> tuple[int, int, int]:
    """Write the matches of one row with the chain of its group, unhanging what has ended.

    Returns where the walk stands, -1 at the end of the chain, the slot before it, and the number of matches.
    """
    while place >= 0:
        end, behind = links[2 * place], links[2 * place + 1]
        if end <= sync:
            if before >= 0:
                links[2 * before + 1] = behind
            else:
                head[group] = behind
        else:
            if done == out_start.shape[0]:
                break
            out_mine[done], out_theirs[done] = slot, place
            out_start[done], out_end[done] = sync, min(other, end)
            done += 1
            before = place
        place = behind
    return place, before, done


def forget_ended(time: int, kept: int, group_of: Array, links: Array, head: Array, alive: Array) -> int:
    """Let go of rows that ended before `time`: the others move to the first slots, in order, and are hung again.

    Writes which slots they had and returns how many there are.
    """
    for slot in range(kept):
        if group_of[slot] >= 0:
            head[index(group_of[slot])] = -1
    staying = 0
    for slot in range(kept):
        if links[2 * slot] >= time:
            group = group_of[slot]
            alive[staying] = slot
            group_of[staying], links[2 * staying], links[2 * staying + 1] = group, links[2 * slot], -1
            if group >= 0:
                links[2 * staying + 1] = head[index(group)]
                head[index(group)] = staying
            staying += 1
    return staying
