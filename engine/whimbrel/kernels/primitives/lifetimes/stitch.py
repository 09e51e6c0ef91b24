"""Fuse chains of adjacent rows of one group."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def stitch(begin: int, sync: Array, end: Array, group: Array, head: Array, after: Array, fused: Array) -> None:
    """Let each row from `begin` on continue the chain of its group that ends where it starts, or be a new chain.

    Rows are in the order of (sync, end); those before `begin` are open chains, in any order. A chain is known by
    its first row, whose `end` moves; a row that continues one is marked in `fused`. Of several chains that end at a
    time the one that began first is continued. Chains of a group hang in a list (-1 in `head` for none), from which
    those that have ended are taken as they are met.
    """
    for row in range(sync.shape[0]):
        mine = group[row]
        found = -1
        if row >= begin:
            before = -1
            slot = head[mine]
            while slot >= 0:
                if end[slot] < sync[row]:
                    if before < 0:
                        head[mine] = after[slot]
                    else:
                        after[before] = after[slot]
                else:
                    if end[slot] == sync[row] and (found < 0 or sync[slot] < sync[found]):
                        found = slot
                    before = slot
                slot = after[slot]
        if found >= 0:
            end[found] = end[row]
            fused[row] = True
        else:
            after[row] = head[mine]
            head[mine] = row
