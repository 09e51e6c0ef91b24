"""Fill empty windows of groups."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

NOW, SEEN, NEXT, USED = range(4)
"""Places in the state: the open window, one more than the largest group, which is looked at next, rows written."""

UNKNOWN, MISSING, PRESENT = range(3)
"""Of a group: no row was seen yet, none in the open window, one in it."""


def fill_windows(row: int, sync: Array, group: Array, until: int, hop: int, state: Array, groups: Array,
                 last: Array, since: Array, out_time: Array, out_source: Array, out_last: Array, out_age: Array) -> int:
    """Write the rows, and before a row of a later window one for each group that is missing in the windows before it.

    A source is the position of a row, or -1 - group for a row that is made. All windows before `until` are filled when
    the rows are used up. `last` is the last row of each group among these, or -1, and `since` the time of its last row.
    A row that is made has that row and how many windows it is after it. Returns the row to resume with when the buffers
    are free, or one more than there are.
    """
    rows = len(sync)
    while row <= rows:
        time = until if row == rows else sync[row]
        while state[NOW] < time:
            if state[SEEN] == 0:
                state[NOW] = time
                break
            while state[NEXT] < state[SEEN]:
                here = state[NEXT]
                if groups[here] == MISSING:
                    if state[USED] == len(out_time):
                        return row
                    out_time[state[USED]] = state[NOW]
                    out_source[state[USED]] = -1 - here
                    out_last[state[USED]] = last[here]
                    out_age[state[USED]] = (state[NOW] - since[here]) // hop
                    state[USED] += 1
                elif groups[here] == PRESENT:
                    groups[here] = MISSING
                state[NEXT] = here + 1
            state[NEXT] = 0
            state[NOW] += hop
        if row < rows:
            if state[USED] == len(out_time):
                return row
            out_time[state[USED]] = time
            out_source[state[USED]] = row
            state[USED] += 1
            groups[group[row]] = PRESENT
            last[group[row]], since[group[row]] = row, time
            state[SEEN] = max(state[SEEN], group[row] + 1)
        row += 1
    return row
