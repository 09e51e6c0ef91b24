"""End the rows of each group once enough later ones have started."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.hash_table import index

Array = np.ndarray[Any, Any]


def end_earlier_rows(sync: Array, group: Array, limit: int, slot: int, start: Array, after: Array, head: Array,
                     tail: Array, rows: Array, ties: Array, ended: Array, at: Array) -> int:
    """Link rows into the list of their group, and write slots that end and their ends; returns how many those are.

    Rows come in the order of time and get the slots from `slot` on. Per slot: when the row starts, and the next slot of
    its group. Per group: the first and the last slot, how many rows are in the list, and how many of them start with
    the first. A first row ends where `limit` rows have started strictly after it.
    """
    count = 0
    for row in range(sync.shape[0]):
        mine, time = index(group[row]), sync[row]
        start[slot], after[slot] = time, -1
        if rows[mine] == 0:
            head[mine], ties[mine] = slot, 1
        else:
            after[tail[mine]] = slot
            if start[head[mine]] == time:
                ties[mine] += 1
        tail[mine] = slot
        rows[mine] += 1
        slot += 1
        while rows[mine] - ties[mine] >= limit:
            first = head[mine]
            for _ in range(ties[mine]):
                ended[count], at[count] = first, time
                count += 1
                first = after[first]
            rows[mine] -= ties[mine]
            head[mine], ties[mine] = first, 1
            while after[first] >= 0 and start[after[first]] == start[head[mine]]:
                first = after[first]
                ties[mine] += 1
    return count
