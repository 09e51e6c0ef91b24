"""Find the first rows of each group within a span."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.hash_table import index

Array = np.ndarray[Any, Any]


def first_within(sync: Array, group: Array, span: int, last: Array, kept: Array) -> None:
    """Mark a row if no marked row of its group started less than `span` before it.

    Rows come in the order of time. `last` is the start of the last marked row of each group.
    """
    for row in range(sync.shape[0]):
        mine, time = index(group[row]), sync[row]
        if last[mine] <= time - span:
            last[mine] = time
            kept[row] = True
