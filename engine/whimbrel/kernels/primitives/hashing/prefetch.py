"""Prefetch memory."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

DISTANCE = 512
"""Rows from the one at hand to the one whose columns are asked for: a page of numbers, so much as memory takes a while
to bring."""


def prefetch(array: Array, position: int) -> None:
    """Ask for the memory at a position of an array; outside of it, or interpreted, nothing happens.

    A loop whose rows go to random addresses fills the out-of-order window of the processor with the work of a few
    rows, and then waits for memory at every other line. Compiled, this is one instruction (see
    ``kernels.instructions``).
    """
