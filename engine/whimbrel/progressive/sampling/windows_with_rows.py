"""Find windows that have rows, from the times of blocks.

This needs no row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.clock import INF, MIN_TIME
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.block_scan import Scan

Array = np.ndarray[Any, Any]

_MAX_WINDOWS = 4_096


def windows_with_rows(split: SplitQuery, scan: Scan) -> Array:
    """The starts of windows that contain a whole block, for queries that count all rows; else none.

    A sum of no rows would be 0, which looks like a value. With filters or groups, windows may have no rows.
    """
    nothing = np.empty(0, np.int64)
    blocks, window = scan.blocks, split.window
    if split.tail or not (split.keeps_rows and split.values.rows_alone):
        return nothing
    early, late = int(blocks.earliest.min()), int(blocks.latest.max())
    reach = window.size + 2 * window.hop
    if not (MIN_TIME + reach < early <= late < INF - reach and late - early < _MAX_WINDOWS * window.hop):
        return nothing
    begin = early - reach
    starts = np.arange(begin - (begin - window.offset) % window.hop, late + reach, window.hop)
    _, (inside, *_), _ = scan.overlapping(scan.position.kinds, *split.window_times(starts), random=False)
    return starts[inside > 0]
