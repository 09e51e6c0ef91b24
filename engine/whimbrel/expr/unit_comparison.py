"""Compare times or durations in different units without overflow.

What is counted in the finer unit is brought to the coarser one, rounded to the side where it says the same: that never
leaves int64, whereas ticks of 9999-12-31 in nanoseconds would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.clock import ticks_per_second

SEEN_FROM_THE_RIGHT = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def differ_in_unit(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether both are times, or both are spans, of different units."""
    both = (t.is_timestamp(left) and t.is_timestamp(right)) or (t.is_duration(left) and t.is_duration(right))
    return bool(both and left.unit != right.unit)


def compare_units(op: str, left: pa.DataType, right: pa.DataType, x: Any, y: Any) -> Any:
    """By row, whether it holds of ticks.

    >>> compare_units("<", pa.timestamp("s"), pa.timestamp("ms"), np.int64(5), np.array([5_000, 5_001]))
    array([False,  True])
    """
    op, factor, coarse, fine = _coarse_first(op, left, right, x, y)
    below = fine // np.int64(factor)
    whole = below * np.int64(factor) == fine
    match op:
        case "==":
            return (coarse == below) & whole
        case "!=":
            return (coarse != below) | ~whole
        case "<=":
            return coarse <= below
        case ">":
            return coarse > below
        case "<":
            return coarse < below + ~whole
    return coarse >= below + ~whole


def compare_units_source(op: str, left: pa.DataType, right: pa.DataType, x: str, y: str) -> str:
    """The same as text for one row.

    >>> compare_units_source(">", pa.timestamp("ms"), pa.timestamp("s"), "a[i]", "b[i]")
    '(b[i] < ceil_div(a[i], 1000))'
    """
    op, factor, coarse, fine = _coarse_first(op, left, right, x, y)
    if op in ("==", "!="):
        same = f"is_times({fine}, {coarse}, {factor})"
        return same if op == "==" else f"(not {same})"
    brought = f"floor_div({fine}, {factor})" if op in ("<=", ">") else f"ceil_div({fine}, {factor})"
    return f"({coarse} {op} {brought})"


def _coarse_first(op: str, left: pa.DataType, right: pa.DataType, x: Any, y: Any) -> tuple[str, int, Any, Any]:
    first, second = ticks_per_second(left.unit), ticks_per_second(right.unit)
    assert first is not None
    assert second is not None
    return (op, second // first, x, y) if first < second else (SEEN_FROM_THE_RIGHT[op], first // second, y, x)
