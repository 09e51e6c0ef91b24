"""Choose the longest match of each begin, without overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def choose_longest(group: Array, first: Array, sync: Array, last: Array, overlapping: bool, kept: Array) -> None:
    """Mark the matches that are kept, of rows in the order of their group, their begin, and from the last end on.

    Of the matches that begin at one event those are kept that end last. Unless `overlapping`, a begin up to the end of
    the match that was kept before it, which `last` holds by group, gives none.
    """
    row = 0
    while row < group.shape[0]:
        mine, begin, end = group[row], first[row], sync[row]
        free = overlapping or begin > last[mine]
        if free:
            last[mine] = end
        while row < group.shape[0] and group[row] == mine and first[row] == begin:
            kept[row] = free and sync[row] == end
            row += 1
