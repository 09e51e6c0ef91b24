"""Grow arrays that kernels fill."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def extend(array: Array, length: int, fill: Any) -> Array:
    """A longer copy of an array, filled up with one value."""
    longer = np.full(length, fill, array.dtype)
    longer[: len(array)] = array
    return longer
