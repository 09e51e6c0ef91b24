"""Which session each event of a group belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.clock.ticks import INF

Array = np.ndarray[Any, Any]


def assign_sessions(sync: Array, group: Array, timeout: int, longest: int, last: Array, current: Array, count: int,
                    first: Array, deadline: Array, cut: Array, owner: Array, session: Array) -> int:
    """Give each row the number of its session; returns how many sessions there are now.

    Per group: the time of its last event and its current session (-1: none). Per session: its first event, the time at
    which it closes unless an event comes before, the time at which it is cut, and its group. With a `longest` of 0 no
    session is cut.
    """
    for row in range(sync.shape[0]):
        mine, time = group[row], sync[row]
        place = current[mine]
        if place < 0 or time >= deadline[place]:
            place = count
            count += 1
            current[mine] = place
            first[place] = time
            owner[place] = mine
            cut[place] = INF
            if longest > 0:
                cut[place] = time - time % longest + longest
                # A session that goes on behind a cut is cut again a period later; a new one lasts a period at least.
                if time - last[mine] >= timeout and time % longest != 0:
                    cut[place] += longest
        last[mine] = time
        deadline[place] = min(time + timeout, cut[place])
        session[row] = place
    return count
