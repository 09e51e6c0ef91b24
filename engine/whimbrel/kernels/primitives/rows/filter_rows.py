"""Indices and values where a mask is true."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def indices_of(kept: Array, eights: Array, indices: Array) -> None:
    """Write the indices of true values, without a branch: the buffer has one more entry than there are.

    Parameters
    ----------
    kept : array of bool
    eights : array of int64
        The same memory, but for what is left over: of eight rows one number, which is 0 where none is kept.
    indices : array of int64
    """
    found = np.uint64(0)  # an index that may be negative costs more than the work
    for eight in range(eights.shape[0]):
        if eights[eight]:
            for row in range(8 * eight, 8 * eight + 8):
                indices[found] = row
                found += np.uint64(kept[row])
    for row in range(8 * eights.shape[0], kept.shape[0]):
        indices[found] = row
        found += np.uint64(kept[row])


RUN = 64
"""Rows that are copied between two checks of the remaining capacity."""


def move_selected(kept: Array, values: Array, moved: Array) -> None:
    """Write the values of true rows, as many as the buffer holds."""
    row = found = np.uint64(0)
    rows, capacity, run = np.uint64(kept.shape[0]), np.uint64(moved.shape[0]), np.uint64(RUN)
    while row + run <= rows and found + run <= capacity:
        for _ in range(RUN):
            moved[found] = values[row]
            found += np.uint64(kept[row])
            row += np.uint64(1)
    while found < capacity:
        moved[found] = values[row]
        found += np.uint64(kept[row])
        row += np.uint64(1)


def count_selected(kept: Array, first: int, step: int, moved: Array) -> None:
    """The same of values that begin with one and are a step apart from each other: they need not be read."""
    row = found = np.uint64(0)
    rows, capacity, run = np.uint64(kept.shape[0]), np.uint64(moved.shape[0]), np.uint64(RUN)
    while row + run <= rows and found + run <= capacity:
        for _ in range(RUN):
            moved[found] = first
            first += step
            found += np.uint64(kept[row])
            row += np.uint64(1)
    while found < capacity:
        moved[found] = first
        first += step
        found += np.uint64(kept[row])
        row += np.uint64(1)
