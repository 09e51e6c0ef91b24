"""Scatter values to row positions."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def mark(at: Array, first: int, there: Array) -> None:
    """Say where a row is; places are counted from the first one."""
    for row in range(at.shape[0]):
        there[np.uint64(at[row] - first)] = 1


def spread(values: Array, at: Array, first: int, wide: Array) -> None:
    """Write each value at its place."""
    for row in range(at.shape[0]):
        wide[np.uint64(at[row] - first)] = values[row]
