"""Runs of an automaton over events of many keys, strictly contiguous within a key."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

USED, FREE = 0, 1
"""Positions in the array of scalars: slots ever used, free slots."""


def advance_runs(
    row: int, sync: Array, group: Array, satisfied: Array, alone: Array,
    within: int, first: int, last: int, follow: Array,
    scalars: Array, free: Array, head: Array, length: Array, after: Array, state: Array, began: Array, events: Array,
    count: Array, out_sync: Array, out_end: Array, out_group: Array, out_first: Array, out_events: Array,
) -> int:
    """Let each event move, end or begin runs of its key; stop early when the room for runs or matches runs out.

    `satisfied` has a bit per automaton state that the event may move into. An event that is not `alone` at its time
    within its key ends all runs of the key. Each entry into a last state is a match. Returns the first row not done.
    """
    done = 0
    while row < sync.shape[0]:
        mine, time, bits = group[row], sync[row], satisfied[row]
        most = (length[mine] + 1) * follow.shape[0]
        if done + most > out_sync.shape[0] or scalars[FREE] + (free.shape[0] - scalars[USED]) < most:
            break
        place = head[mine]
        head[mine] = -1
        length[mine] = 0
        while place >= 0:
            if alone[row] and time < began[place] + within:
                targets = follow[state[place]] & bits
                for to in range(follow.shape[0]):
                    if (targets >> to) & 1:
                        done = enter(to, time, began[place], events[place] + 1, mine, within, last, follow,
                                     scalars, free, head, length, after, state, began, events,
                                     done, out_sync, out_end, out_group, out_first, out_events)
            gone = place
            place = after[place]
            free[scalars[FREE]] = gone
            scalars[FREE] += 1
        if alone[row]:
            for to in range(follow.shape[0]):
                if ((first & bits) >> to) & 1:
                    done = enter(to, time, time, 1, mine, within, last, follow,
                                 scalars, free, head, length, after, state, began, events,
                                 done, out_sync, out_end, out_group, out_first, out_events)
        row += 1
    count[0] = done
    return row


def enter(
    to: int, time: int, start: int, number: int, mine: int, within: int, last: int, follow: Array,
    scalars: Array, free: Array, head: Array, length: Array, after: Array, state: Array, began: Array, events: Array,
    done: int, out_sync: Array, out_end: Array, out_group: Array, out_first: Array, out_events: Array,
) -> int:
    """Move a run into a state: write the match if it is a last one, keep the run if it can go on."""
    if (last >> to) & 1:
        out_sync[done], out_end[done], out_group[done] = time, start + within, mine
        out_first[done], out_events[done] = start, number
        done += 1
    if follow[to] != 0:
        if scalars[FREE] > 0:
            scalars[FREE] -= 1
            place = free[scalars[FREE]]
        else:
            place = scalars[USED]
            scalars[USED] += 1
        state[place], began[place], events[place] = to, start, number
        after[place] = head[mine]
        head[mine] = place
        length[mine] += 1
    return done
