"""Which panes count in which window: the schedule of windows that hop, over the states of their panes.

Panes are taken in blocks as long as a window: two stacks for all groups at once (van Herk, Pattern Recognition Letters
13, 1992; Tangwongsan et al., DEBS 2017). Of the block that fills, each group has one state; of the full one before it,
each row keeps the state from it to the end of the block. A window is what is left of the one and all of the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.panes import ADD, EMIT
from whimbrel.kernels.primitives.table import index

Array = np.ndarray[Any, Any]

AT, PHASE, READ, KEPT, LISTED, FIRST, FULL, FILLING, WHY = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Positions in the array of scalars: the newest pane of the window at hand, what is done with it, how much of the list
of groups was read and kept, how long the list is, the first row of the full block that still counts, how many rows the
full block has, how many the one that fills, and why the last step ended."""

CELL = 4
"""Numbers kept for each group, side by side so that a visit costs one cache line:"""
PANES, FRONT, IS_LISTED = 0, 1, 2
"""Its rows in the window, the first of them in the full block (-1: none), and whether it is in the list of groups."""

TAKE, SHOW, LEAVE = 0, 1, 2
"""What is done: rows of the pane enter, the groups are shown, rows that are a window old leave."""

DONE, NO_ROOM, NO_SLOT, TURN = 0, 1, 2, 3
"""Why a step ends: all is done; no room for operations or output; none for rows of the block; the block is full."""


def hop_schedule(
    row: int, sync: Array, group: Array, limit: int, size: int, hop: int, offset: int, scalars: Array,
    full_sync: Array, full_group: Array, after: Array, sync_of: Array, group_of: Array, cells: Array, groups: Array,
    kind: Array, who: Array, which: Array, slot: Array, target: Array, count: Array, out_sync: Array, out_group: Array,
) -> int:
    """Write operations for rows from `row` on, and for windows that are over before `limit`.

    `after` is the next row of the same group in the full block; `groups` lists the groups that have rows in the window.
    An ADD goes to the place `slot` of the block that fills; an EMIT finds the group's front there. `count` says how
    many operations and output rows were written. Returns the first row not done.
    """
    operations = 0
    outputs = 0
    why = DONE
    while why == DONE:
        if scalars[PHASE] == TAKE:
            if scalars[FIRST] == scalars[FULL] and scalars[FILLING] == 0:
                if row == sync.shape[0]:
                    break
                scalars[AT] = sync[row]
            while row < sync.shape[0] and sync[row] == scalars[AT]:
                place = scalars[FILLING]
                if operations == kind.shape[0] or place == sync_of.shape[0]:
                    why = NO_ROOM if operations == kind.shape[0] else NO_SLOT
                    break
                mine = index(group[row])
                cell = CELL * mine
                if not cells[cell + IS_LISTED]:
                    cells[cell + IS_LISTED] = True
                    groups[scalars[LISTED]] = mine
                    scalars[LISTED] += 1
                cells[cell + PANES] += 1
                sync_of[place], group_of[place] = sync[row], mine
                scalars[FILLING] += 1
                kind[operations], who[operations], which[operations], slot[operations] = ADD, mine, row, place
                operations += 1
                row += 1
            if why != DONE or (row == sync.shape[0] and scalars[AT] >= limit):
                break
            scalars[PHASE], scalars[READ], scalars[KEPT] = SHOW, 0, 0
        if scalars[PHASE] == SHOW:
            read, kept = scalars[READ], scalars[KEPT]
            room = min(kind.shape[0] - operations, out_sync.shape[0] - outputs)
            while read < scalars[LISTED] and room > 0:
                mine = index(groups[read])
                cell = CELL * mine
                read += 1
                if cells[cell + PANES] == 0:
                    cells[cell + IS_LISTED] = False
                    continue
                groups[kept] = mine
                kept += 1
                kind[operations], who[operations], target[operations] = EMIT, mine, outputs
                slot[operations] = cells[cell + FRONT]
                out_sync[outputs], out_group[outputs] = scalars[AT], mine
                operations += 1
                outputs += 1
                room -= 1
            scalars[READ], scalars[KEPT] = read, kept
            if read < scalars[LISTED]:
                why = NO_ROOM
                break
            scalars[LISTED] = kept
            scalars[AT] += hop
            scalars[PHASE] = LEAVE
            if (scalars[AT] - offset) % size == 0 and scalars[FILLING] > 0:
                why = TURN
                break
        left = scalars[FIRST]
        while left < scalars[FULL] and full_sync[left] + size <= scalars[AT]:
            cell = CELL * index(full_group[left])
            cells[cell + PANES] -= 1
            cells[cell + FRONT] = after[left]
            left += 1
        scalars[FIRST] = left
        scalars[PHASE] = TAKE
    count[0], count[1] = operations, outputs
    scalars[WHY] = why
    return row


def chain_block(rows: int, group_of: Array, cells: Array, after: Array) -> None:
    """Of a block that is full: the next row of the same group behind each, and the first row of each group."""
    for place in range(rows - 1, -1, -1):
        cell = CELL * index(group_of[place])
        after[place] = cells[cell + FRONT]
        cells[cell + FRONT] = place
