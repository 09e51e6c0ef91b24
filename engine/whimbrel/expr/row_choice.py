"""Choose between two values for each row, compiled or by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import frozen
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.rows import choose as primitive

_choose = Compiled(primitive.choose_values)
_extremes = {"greatest": Compiled(primitive.choose_greater), "least": Compiled(primitive.choose_lesser)}
_WORTH_COMPILING_ROWS = 4_096
"""Rows from which on the branches that NumPy takes cost more than a call."""


def choose_values(first: Any, one: Any, other: Any) -> Any:
    """``numpy.where`` for arrays and scalars of one type, without a branch for each row.

    Examples
    --------
    >>> choose_values(np.array([True, False]), np.array([1, 2]), np.int64(7)).tolist()
    [1, 7]
    """
    if np.ndim(first) == 0 or one.dtype != other.dtype or one.dtype.kind == "c":
        return np.where(first, one, other)
    if one.dtype == np.bool_:
        return (first & one) | (~first & other)
    if len(first) < _WORTH_COMPILING_ROWS:
        return np.where(first, one, other)
    words = np.dtype(f"u{one.dtype.itemsize}")
    given = [frozen(each if each.ndim else np.full(len(first), each)).view(words) for each in (one, other)]
    out = np.empty(len(first), one.dtype)
    if not _choose.ready(frozen(first), *given, out.view(words)):
        return np.where(first, one, other)
    _choose(frozen(first), *given, out.view(words))
    return out


def choose_extremes(function: str, one: Any, other: Any) -> Any:
    """The greatest or least of two numbers in each row, in one pass; None where the loop is not ready or not needed."""
    rows = max(np.size(one), np.size(other))
    if rows < _WORTH_COMPILING_ROWS or one.dtype != other.dtype or one.dtype.kind not in "iuf":
        return None
    given = [frozen(each if each.ndim else np.full(rows, each)) for each in (one, other)]
    out = np.empty(rows, one.dtype)
    if not _extremes[function].ready(*given, out):
        return None
    _extremes[function](*given, out)
    return out
