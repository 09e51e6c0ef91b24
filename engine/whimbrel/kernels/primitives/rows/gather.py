"""Gather values by row position."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.prefetch import prefetch

Array = np.ndarray[Any, Any]

BLOCK, SAMPLED = 1_024, 16
"""Rows of which it is asked how far apart their values lie, and every which of them is looked at."""
NEAR = BLOCK + BLOCK // 2
"""Values that lie no farther apart are found by the processor itself."""
DISTANCE = 256
"""Rows from the one at hand to the one whose memory is requested."""


def gather(values: Array, rows: Array, out: Array) -> None:
    """Write the value at each position; none is negative.

    The positions of sorted rows go to and fro, often within a few thousand rows. Where they reach farther, the
    processor does not foresee them, and waits for memory at each new line. A block is taken to be like the last one,
    whose positions are in the cache.
    """
    foreseen = max(rows.shape[0] - DISTANCE, 0)
    far = True
    for first in range(0, rows.shape[0], BLOCK):
        last = min(first + BLOCK, rows.shape[0])
        some = rows[first:last]
        if far and last <= foreseen:
            _gather_far(values, some, rows[first + DISTANCE : last + DISTANCE], out[first:last])
        else:
            _gather_near(values, some, out[first:last])
        far = _reaches_far(some)


def _gather_far(values: Array, rows: Array, following: Array, out: Array) -> None:
    for row in range(rows.shape[0]):
        prefetch(values, following[row])
        out[row] = values[np.uint64(rows[row])]


def _gather_near(values: Array, rows: Array, out: Array) -> None:
    for row in range(rows.shape[0]):
        out[row] = values[np.uint64(rows[row])]


def _reaches_far(rows: Array) -> bool:
    lowest = highest = rows[0]
    for sample in range(1, rows.shape[0] // SAMPLED):
        lowest, highest = min(lowest, rows[sample * SAMPLED]), max(highest, rows[sample * SAMPLED])
    return bool(highest - lowest > NEAR)
