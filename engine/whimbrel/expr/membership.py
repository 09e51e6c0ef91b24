"""Tests whether values are among many, prepared once for all batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.expr.direct_evaluation import FEW_CHOICES, is_one_of
from whimbrel.expr.type_predicates import is_text

_ROWS_FOR_HASHING: Final = 1 / 8
"""Rows per sought text from which Arrow, which hashes all sought texts each time, is faster than a set of Python."""


def among_numbers(wanted: np.ndarray[Any, Any]) -> Callable[[Any], Any]:
    """Whether each number of an array, or a single one, is one of these. NaN is none.

    >>> among_numbers(np.array([7, 3]))(np.array([1, 3, 9])).tolist()
    [False, True, False]
    """
    few = 0 < len(wanted) <= FEW_CHOICES
    return partial(is_one_of, wanted=wanted) if few else partial(_in_order, ordered=np.unique(wanted))


def among_values(wanted: Sequence[Any], type_: pa.DataType) -> Callable[[Any], Any]:
    """Whether each value of an Arrow array, or a scalar, is one of these; false for null.

    >>> among_values(["a", "c"], pa.string())(pa.array(["a", "b", None])).to_pylist()
    [True, False, False]
    """
    listed = pa.array(wanted, type_)
    return (partial(_hashed, listed=listed, texts=frozenset(wanted)) if is_text(type_)
            else partial(pc.is_in, value_set=listed))


def _in_order(values: Any, ordered: np.ndarray[Any, Any]) -> Any:
    if not len(ordered) or (values.dtype.kind in "iu" and values.size >= len(ordered)):
        return np.isin(values, ordered)  # by a table, if the numbers are close to each other
    return ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values


def _hashed(values: Any, listed: pa.Array, texts: frozenset[str]) -> Any:
    if isinstance(values, pa.Scalar) or len(values) > _ROWS_FOR_HASHING * len(texts):
        return pc.is_in(values, listed)
    return pa.array([value in texts for value in values.to_pylist()], pa.bool_())
