"""Assign events to sessions, and schedule their operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.clock.ticks import INF
from whimbrel.kernels.primitives.hashing.hash_table import index
from whimbrel.kernels.primitives.windows.panes import ADD, CLEAR, EMIT

Array = np.ndarray[Any, Any]

OPEN, READ, KEPT, DUE, OLDEST = 0, 1, 2, 3, 4
"""Positions in the array of scalars: open sessions, how many of them a search for closed ones has read and kept, a time
before which none closes, and one before which none began."""

CELL = 8
"""Numbers kept for each group, side by side so that a visit costs one cache line:"""
IS_OPEN, BEGAN, CLOSES, CUT, LAST, ROWS = 0, 1, 2, 3, 4, 5
"""Whether it has an open session, when that began, closes and is cut, the group's last event, rows in the session."""


def assign_sessions(sync: Array, group: Array, timeout: int, longest: int, begin: int, last: Array, current: Array,
                    count: int, first: Array, deadline: Array, cut: Array, owner: Array, session: Array) -> int:
    """Give each row the number of its session; returns how many sessions there are now.

    Per group: the time of its last event and its current session (-1: none). Per session: its first event, the time at
    which it closes unless an event comes before, the time at which it is cut, and its group. Sessions are cut where
    time is `begin` modulo `longest`; with a `longest` of 0 none is.
    """
    for row in range(sync.shape[0]):
        mine, time = group[row], sync[row]
        slot = current[mine]
        if slot < 0 or time >= deadline[slot]:
            slot = count
            count += 1
            current[mine] = slot
            first[slot] = time
            owner[slot] = mine
            cut[slot] = INF
            if longest > 0:
                past = (time % longest - begin) % longest
                cut[slot] = time - past + longest
                # A session that continues after a cut is cut again a period later; a new one lasts at least a period.
                if last[mine] <= time - timeout and past != 0:
                    cut[slot] += longest
        last[mine] = time
        deadline[slot] = min(time + timeout, cut[slot])
        session[row] = slot
    return count


def session_schedule(
    row: int, sync: Array, group: Array, skip: Array, timeout: int, longest: int, begin: int, scalars: Array,
    cells: Array, groups: Array, kind: Array, who: Array, which: Array, target: Array, count: Array,
    out_sync: Array, out_other: Array, out_group: Array, out_rows: Array,
) -> int:
    """Write operations for rows from `row` on: each enters the session of its group, if need be after the last closed.

    A row to `skip` keeps its session open and does not enter it. `groups` lists those with an open session. Returns the
    first row not done; fewer than there are if a buffer was full.
    """
    operations = 0
    outputs = 0
    while row < sync.shape[0] and operations + 3 <= kind.shape[0] and outputs < out_sync.shape[0]:
        mine, time = index(group[row]), sync[row]
        cell = CELL * mine
        if cells[cell + IS_OPEN] == 0 or time >= cells[cell + CLOSES]:
            if cells[cell + IS_OPEN] == 0:
                cells[cell + IS_OPEN] = 1
                groups[scalars[OPEN]] = mine
                scalars[OPEN] += 1
            elif cells[cell + ROWS] > 0:
                show_session(mine, cells, operations, outputs, kind, who, target, out_sync, out_other, out_group,
                             out_rows)
                operations, outputs = operations + 2, outputs + 1
            cells[cell + BEGAN] = time
            cells[cell + ROWS] = 0
            cells[cell + CUT] = INF
            if longest > 0:
                past = (time % longest - begin) % longest
                cells[cell + CUT] = time - past + longest
                # A session that continues after a cut is cut again a period later; a new one lasts at least a period.
                if cells[cell + LAST] <= time - timeout and past != 0:
                    cells[cell + CUT] += longest
            scalars[OLDEST] = min(scalars[OLDEST], time)
            scalars[DUE] = min(scalars[DUE], time + timeout, cells[cell + CUT])
        cells[cell + LAST] = time
        cells[cell + CLOSES] = min(time + timeout, cells[cell + CUT])
        if skip.shape[0] == 0 or not skip[row]:
            cells[cell + ROWS] += 1
            kind[operations], who[operations], which[operations] = ADD, mine, row
            operations += 1
        row += 1
    count[0], count[1] = operations, outputs
    return row


def close_sessions(until: int, scalars: Array, cells: Array, groups: Array, kind: Array, who: Array, target: Array,
                   count: Array, out_sync: Array, out_other: Array, out_group: Array, out_rows: Array) -> bool:
    """Write operations for open sessions that close up to a time; False if a buffer was full before all were seen.

    Of those that stay open, the least time at which one closes and the first beginning are found on the way.
    """
    operations = 0
    outputs = 0
    read, kept = scalars[READ], scalars[KEPT]
    if read == 0:
        scalars[OLDEST] = scalars[DUE] = INF
    while read < scalars[OPEN] and operations + 2 <= kind.shape[0] and outputs < out_sync.shape[0]:
        mine = index(groups[read])
        cell = CELL * mine
        read += 1
        if cells[cell + CLOSES] > until:
            groups[kept] = mine
            kept += 1
            scalars[OLDEST] = min(scalars[OLDEST], cells[cell + BEGAN])
            scalars[DUE] = min(scalars[DUE], cells[cell + CLOSES])
            continue
        cells[cell + IS_OPEN] = 0
        if cells[cell + ROWS] > 0:
            show_session(mine, cells, operations, outputs, kind, who, target, out_sync, out_other, out_group, out_rows)
            operations, outputs = operations + 2, outputs + 1
    count[0], count[1] = operations, outputs
    done = read == scalars[OPEN]
    scalars[READ], scalars[KEPT] = (0, 0) if done else (read, kept)
    if done:
        scalars[OPEN] = kept
    return done


def show_session(mine: int, cells: Array, operation: int, output: int, kind: Array, who: Array, target: Array,
                 out_sync: Array, out_other: Array, out_group: Array, out_rows: Array) -> None:
    """Write the two operations and the output row of a session that closes."""
    cell = CELL * mine
    kind[operation], who[operation], target[operation] = EMIT, mine, output
    kind[operation + 1], who[operation + 1] = CLEAR, mine
    out_sync[output], out_other[output] = cells[cell + BEGAN], cells[cell + CLOSES]
    out_group[output], out_rows[output] = mine, cells[cell + ROWS]
