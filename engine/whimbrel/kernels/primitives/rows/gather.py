"""Gather values by row position."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.prefetch import prefetch

Array = np.ndarray[Any, Any]

DISTANCE = 256
"""Rows from the one at hand to the one whose memory is asked for."""


def gather(values: Array, rows: Array, out: Array) -> None:
    """Write the value at each position; none is negative.

    The positions of sorted rows go to and fro within a few thousand rows. The processor does not foresee that, and
    waits for memory at each new line.
    """
    foreseen = max(rows.shape[0] - DISTANCE, 0)
    for row in range(foreseen):
        prefetch(values, rows[row + DISTANCE])
        out[row] = values[np.uint64(rows[row])]
    for row in range(foreseen, rows.shape[0]):
        out[row] = values[np.uint64(rows[row])]
