"""Schedule of tumbling windows over rows in time order.

Only one pane is open at a time. The schedule is a list of operations that every aggregate then replays on its own
state, so this logic is written once and never again per aggregate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.hash_table import FAR

Array = np.ndarray[Any, Any]

ADD = 0
"""The row enters its group."""
DROP = 1
"""The remembered row leaves its group."""
EMIT = 2
"""The group's value becomes an output row."""
AGAIN = 3
"""The value last shown for the group becomes an output row once more (its end edge)."""
CLEAR = 4
"""The group is empty."""
COPY = 5
"""The group takes the state of another one."""


def pane_schedule(
    row: int, sync: Array, group: Array, skip: Array, hop: int, offset: int,
    pane: Array, rows: Array, touched: Array,
    kind: Array, who: Array, which: Array, target: Array, count: Array,
    out_sync: Array, out_group: Array, out_rows: Array,
) -> int:
    """Write operations for rows from `row` on, until the rows end or the buffer for operations is full.

    `pane` holds the open pane's start and how many groups it has touched; `rows` counts rows per group; `count` says
    how many operations and how many output rows were written. Returns the first row not done.
    """
    at, groups = pane[0], pane[1]
    operations = 0
    outputs = 0
    while row < sync.shape[0]:
        if skip.shape[0] and skip[row]:
            row += 1
            continue
        time = sync[row]
        if groups > 0 and time >= at + hop:
            if operations + 2 * groups > kind.shape[0] or outputs + groups > out_sync.shape[0]:
                break
            for position in range(groups):
                removed = touched[position]
                kind[operations] = EMIT
                who[operations] = removed
                target[operations] = outputs
                kind[operations + 1] = CLEAR
                who[operations + 1] = removed
                operations += 2
                out_sync[outputs] = at
                out_group[outputs] = removed
                out_rows[outputs] = rows[removed]
                rows[removed] = 0
                outputs += 1
            groups = 0
        if groups == 0:
            at = time - (time - offset) % hop
        if operations == kind.shape[0]:
            break
        mine = group[row]
        if rows[mine] == 0:
            touched[groups] = mine
            groups += 1
        rows[mine] += 1
        kind[operations] = ADD
        who[operations] = mine
        which[operations] = row
        operations += 1
        row += 1
    pane[0] = at
    pane[1] = groups
    count[0] = operations
    count[1] = outputs
    return row


def by_number(rows: Array, touched: Array, groups: int) -> int:
    """Put the groups that have rows in the order of their numbers, where there are so many that memory decides.

    In the order in which they came, each would be somewhere else in every array. Looking at all groups costs less than
    that, if a good part of them has rows.

    Parameters
    ----------
    rows : array of int64
        How many rows each group has.
    touched : array of int64
        The groups that have some; as long as `rows`.
    groups : int
        How many these are.

    Returns
    -------
    int
        The same number.
    """
    if rows.shape[0] <= FAR or 4 * groups < rows.shape[0]:
        return groups
    groups = 0
    for group in range(rows.shape[0]):  # without a branch that cannot be foreseen
        touched[groups] = group
        groups += rows[group] > 0
    return groups
