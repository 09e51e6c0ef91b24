"""Row group pruning of Parquet files by footer statistics (predicate pushdown)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, logical_type
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Binary, Call, Col, Expr, Lit, Unary, predicate

if TYPE_CHECKING:
    import pyarrow.parquet as pq

Comparison = Literal["==", "!=", "<", "<=", ">", ">="]

_TURNED: dict[str, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_SAME: dict[str, Comparison] = {turned: turned for turned in _TURNED.values()}
_OPPOSITE: dict[Comparison, Comparison] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def may_meet(ends: Callable[[str], Column | None], conditions: Sequence[Expr]) -> bool:
    """Whether a row may meet all conditions, from the smallest and the largest value of each column.

    Comparisons of a column with values, combined by `&`, `|` and `~`, are evaluated; the result is True for all others.
    """
    return all(_may_meet(ends, condition) for condition in conditions)


def _may_meet(ends: Callable[[str], Column | None], condition: Expr, negated: bool = False) -> bool:
    match condition:
        case Unary("~", denied):
            return _may_meet(ends, denied, not negated)
        case Binary("|" | "&" as op, left, right):
            combined = all if (op == "&") is not negated else any
            return combined(_may_meet(ends, side, negated) for side in (left, right))
        case Binary(op, Col(name), Lit() as bound) if op in _TURNED:
            return _may_compare(ends(name), _SAME[op], bound, negated)
        case Binary(op, Lit() as bound, Col(name)) if op in _TURNED:
            return _may_compare(ends(name), _TURNED[op], bound, negated)
        case Call("between", (x, Lit() as low, Lit() as high)):
            return _may_meet(ends, Binary("&", Binary(">=", x, low), Binary("<=", x, high)), negated)
        case Call("is_in", (Col(name),), values):
            combined = all if negated else any
            return combined(_may_compare(ends(name), "==", Lit(value), negated) for value in values)
    return True


def _may_compare(ends: Column | None, op: Comparison, bound: Lit, negated: bool) -> bool:
    if ends is None or bound.value is None:
        return True
    if negated:
        op = _OPPOSITE[op]
    if pa.types.is_floating(ends.type) and (negated or op == "!="):
        return True  # NaN meets these, and no footer tells of it
    if op == "!=" and pa.types.is_string(ends.type):
        return True  # footers shorten texts
    # Of values from a to b one may be below a bound only if a is, and above it only if b is.
    match op:
        case "<" | "<=":
            return _compared(ends, op, bound)[0]
        case ">" | ">=":
            return _compared(ends, op, bound)[1]
        case "!=":
            return any(_compared(ends, op, bound))
    return _compared(ends, "<=", bound)[0] and _compared(ends, ">=", bound)[1]


def _compared(ends: Column, op: Comparison, bound: Lit) -> tuple[bool, bool]:
    """What the engine itself says of the smallest and of the largest value."""
    rows = Batch(Schema((Field("x", ends.type),)), np.zeros(2, np.int64), 1, (ends,))
    try:
        smallest, largest = predicate(Binary(op, Col("x"), bound), rows).tolist()
    except WhimbrelError:
        return True, True
    return smallest, largest


def smallest_and_largest(group: pq.RowGroupMetaData, fields: pa.Schema, name: str) -> Column | None:
    """Smallest and largest value of a column from footer statistics; None if missing or not reliable."""
    if name not in fields.names:
        return None
    if "." in name and any(pa.types.is_nested(field.type) for field in fields):
        return None  # the footer names fields of structs in the same way
    type_ = logical_type(fields.field(name).type)
    number = next((index for index in range(group.num_columns) if group.column(index).path_in_schema == name), None)
    if number is None or not (pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_string(type_)
                              or pa.types.is_date(type_) or pa.types.is_timestamp(type_)):
        return None
    statistics: Any = group.column(number).statistics
    if statistics is None or not statistics.has_min_max or statistics.physical_type == "INT96":
        return None
    try:
        if pa.types.is_timestamp(type_) and type_.unit == "ns":  # Python's times are too coarse
            if "nanoseconds" not in str(statistics.logical_type):
                return None
            return Column.from_arrow(pa.array([statistics.min_raw, statistics.max_raw], pa.int64()).cast(type_))
        return Column.from_arrow(pa.array([statistics.min, statistics.max], type_))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
