"""Hopping windows by two stacks of pane states: seats of groups.

Panes are taken in blocks as long as a window: two stacks for all groups at once (van Herk, Pattern Recognition Letters
13, 1992; Tangwongsan et al., DEBS 2017). Of the block that fills, each group has one state; of the full one before it,
each row keeps the state from it to the end of the block. A window is what is left of the one and all of the other.

Groups that have rows in the window sit side by side, wherever their ids are: a window is shown by walking along memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.hash_table import index

Array = np.ndarray[Any, Any]

NOW, SHOWING, READ, FIRST, TURNED, NEXT, USED, FREE, SHOWN, FULL = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
"""Positions in the array of scalars. The newest pane of the current window, whether the window is being shown, and for
how many seats that is done. The first row of the window, the first of the block that fills, and the next row, all
counted from the first row ever. The number of seats ever used, and how many of them are free. For the last step: the
rows shown, and whether the buffer was full."""

SCALARS = 10


def close_up(used: int, spare: int, seat_of: Array, group_of: Array, name_of: Array, rows_of: Array, front: Array,
             seat_at: Array, after: Array) -> tuple[int, int]:
    """Where most seats are free, let groups move up to the first ones; all rows are of the block that is full.

    Returns
    -------
    tuple of int
        How many seats were taken since then, and how many of them are free.
    """
    if 4 * spare <= 3 * used:
        return used, spare
    to = 0
    for seat in range(used):
        if rows_of[seat] == 0:
            continue
        rows, slot = rows_of[seat], front[seat]
        rows_of[seat], front[seat] = 0, -1
        rows_of[to], front[to], group_of[to], name_of[to] = rows, slot, group_of[seat], name_of[seat]
        seat_of[index(group_of[to])] = to
        while slot >= 0:
            seat_at[index(slot)] = to
            slot = after[index(slot)]
        to += 1
    return to, 0
