"""Choose between the values of two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def choose_values(first: Array, one: Array, other: Array, out: Array) -> None:
    """Write one value or the other for each row.

    Both are read in each row, so that the loop has no branches.
    """
    for row in range(out.shape[0]):
        value, otherwise = one[row], other[row]
        out[row] = value if first[row] else otherwise


def choose_greater(one: Array, other: Array, out: Array) -> None:
    """Write the greater value of each row, of equal ones the first; NaN is the greatest."""
    for row in range(out.shape[0]):
        x, y = one[row], other[row]
        out[row] = x if (x != x) | (x >= y) else y  # noqa: PLR0124 - true of nan


def choose_lesser(one: Array, other: Array, out: Array) -> None:
    """Write the lesser value of each row, of equal ones the first; NaN is the greatest."""
    for row in range(out.shape[0]):
        x, y = one[row], other[row]
        out[row] = y if (x != x) | (y < x) else x  # noqa: PLR0124
