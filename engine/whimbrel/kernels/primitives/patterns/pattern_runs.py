"""Run pattern automata over the events of many keys.

A run is the events since it began, and the set of states that these events may have led to. So a pattern that can be
read in several ways gives one match, and never more runs than events.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

USED, FREE = 0, 1
"""Positions in the array of scalars: slots ever used, free slots."""


def advance_runs(
    row: int, sync: Array, group: Array, satisfied: Array, alone: Array,
    within: int, first: int, last: int, overlapping: bool, follow: Array,
    scalars: Array, free: Array, head: Array, length: Array, after: Array, states: Array, began: Array, events: Array,
    count: Array, out_sync: Array, out_end: Array, out_group: Array, out_first: Array, out_events: Array,
) -> int:
    """Let each event move, end or begin runs of its key; stop early when the buffer for runs or matches is full.

    `satisfied` has a bit per state that the event may lead to. An event that is not `alone` at its time within its key
    ends all runs of the key. Each event at which a run is in a last state is a match. Unless `overlapping`, no run
    begins at an event that moved one. Returns the first row not done.
    """
    done = 0
    while row < sync.shape[0]:
        mine, time, bits = group[row], sync[row], satisfied[row]
        maximum = length[mine] + 1
        if done + maximum > out_sync.shape[0] or scalars[FREE] + (free.shape[0] - scalars[USED]) < maximum:
            break
        slot = head[mine]
        head[mine] = -1
        length[mine] = 0
        moved = False
        while slot >= 0:
            following = after[slot]
            reached = follow_all(states[slot], follow) & bits if time < ends_at(began[slot], within) else 0
            if reached and alone[row]:
                moved = True
                done = arrive(reached, time, began[slot], events[slot] + 1, within, last, mine,
                              done, out_sync, out_end, out_group, out_first, out_events)
            stays = reached and alone[row] and follow_all(reached, follow)
            if stays:
                states[slot] = reached
                events[slot] += 1
            settle(slot, stays, mine, head, length, after, scalars, free)
            slot = following
        reached = first & bits
        if reached and alone[row] and (overlapping or not moved):
            done = arrive(reached, time, time, 1, within, last, mine,
                          done, out_sync, out_end, out_group, out_first, out_events)
            if follow_all(reached, follow):
                slot = taken(scalars, free)
                states[slot], began[slot], events[slot] = reached, time, 1
                settle(slot, True, mine, head, length, after, scalars, free)
        row += 1
    count[0] = done
    return row


def taken(scalars: Array, free: Array) -> int:
    """A slot that is free, or was never used."""
    if scalars[FREE] > 0:
        scalars[FREE] -= 1
        return int(free[scalars[FREE]])
    scalars[USED] += 1
    return int(scalars[USED]) - 1


def settle(slot: int, stays: Any, mine: int, head: Array, length: Array, after: Array, scalars: Array, free: Array
           ) -> None:
    """Put a run in front of the others of its key, or its slot among the free ones."""
    if stays:
        after[slot] = head[mine]
        head[mine] = slot
        length[mine] += 1
    else:
        free[scalars[FREE]] = slot
        scalars[FREE] += 1


def turned(slot: int, after: Array) -> int:
    """Turn a list of runs around; answers with its first one."""
    before = -1
    while slot >= 0:
        following = after[slot]
        after[slot] = before
        before, slot = slot, following
    return before


def follow_all(states: int, follow: Array) -> int:
    """States that may come right after any of these."""
    reached = 0
    for state in range(follow.shape[0]):
        if (states >> state) & 1:
            reached |= follow[state]
    return reached


def arrive(reached: int, time: int, start: int, number: int, within: int, last: int, mine: int,
           done: int, out_sync: Array, out_end: Array, out_group: Array, out_first: Array, out_events: Array) -> int:
    """Write the match of a run, if it is in a last state now."""
    if reached & last:
        out_sync[done], out_end[done], out_group[done] = time, ends_at(start, within), mine
        out_first[done], out_events[done] = start, number
        done += 1
    return done


def ends_at(start: int, within: int) -> int:
    """When a run ends; beyond int64, and without a limit, at its last tick."""
    return 2**63 - 1 if within == 2**63 - 1 else min(start, 2**63 - 1 - within) + within


def drop_expired(now: int, within: int, scalars: Array, free: Array, head: Array, length: Array, after: Array,
                 began: Array) -> int:
    """Free the runs that can accept no event at or after `now`; answers how many."""
    dropped = 0
    for mine in range(head.shape[0]):
        slot = head[mine]
        head[mine] = -1
        tail = -1
        while slot >= 0:
            following = after[slot]
            if ends_at(began[slot], within) > now:
                if tail < 0:
                    head[mine] = slot
                else:
                    after[tail] = slot
                after[slot] = -1
                tail = slot
            else:
                free[scalars[FREE]] = slot
                scalars[FREE] += 1
                length[mine] -= 1
                dropped += 1
            slot = following
    return dropped
