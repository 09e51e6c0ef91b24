"""Grow arrays that kernels fill, and move their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def extend(array: Array, length: int, fill: Any) -> Array:
    """A longer copy of an array, filled up with one value."""
    longer = np.full(length, fill, array.dtype)
    longer[: len(array)] = array
    return longer


def move(array: Array, old: Array, new: Array, length: int, fill: Any) -> Array:
    """An array of so many elements: those at `old` stand at `new`, all others have one value.

    >>> move(np.array([5, 6, 7]), np.array([2, 0]), np.array([0, 1]), 4, -1).tolist()
    [7, 5, -1, -1]
    """
    moved = np.full(length, fill, array.dtype)
    moved[new] = array[old]
    return moved


def move_cells(cells: Array, old: Array, new: Array, length: int, empty: Array) -> Array:
    """So many cells of several numbers side by side: those at `old` stand at `new`, all others are empty.

    >>> move_cells(np.array([1, 2, 3, 4]), np.array([1]), np.array([0]), 2, np.array([0, 9])).tolist()
    [3, 4, 0, 9]
    """
    moved = np.tile(empty, length)
    moved.reshape(-1, len(empty))[new] = cells.reshape(-1, len(empty))[old]
    return moved


def renumber(numbers: Array, old: Array, new: Array) -> Array:
    """The new number of each, where those at `old` are given those at `new`; of others it means nothing.

    >>> renumber(np.array([7, 2, 2]), np.array([2, 7]), np.array([0, 1])).tolist()
    [1, 0, 0]
    """
    return move(new, np.arange(len(old)), old, int(max(numbers.max(initial=0), old.max(initial=0))) + 1, 0)[numbers]
