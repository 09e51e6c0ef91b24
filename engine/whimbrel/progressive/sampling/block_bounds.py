"""Bounds for the contribution of each block to aggregates.

They hold for any rows that the block may have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from whimbrel.aggregates import Count, Mean, Sum
from whimbrel.batch import Ticks
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Col, Expr, columns_of, evaluate, substitute, type_of
from whimbrel.operators import GroupAggregate, HoppingWindow, Select, SetDuration, Shift, Where
from whimbrel.plan import Aggregate, Blocks, Source
from whimbrel.progressive.plan.query_split import SplitQuery

Array = np.ndarray[Any, Any]

_KEEPS_COLUMNS = (GroupAggregate, HoppingWindow, SetDuration, Shift, Where)
"""Operators before a window that keep the rows and the columns of their input."""
_WIDE = 2.0
"""Blocks that may add this many times more than others are read first."""
_FEW = 8
"""At most one of this many blocks is read first."""
_MAX_BITS = 32
"""The width of integers whose type alone is a useful bound."""
_LARGEST = 1e150


class Ends(NamedTuple):
    """Bounds of the inputs of an aggregate.

    Attributes
    ----------
    low, high : numpy.ndarray of float64
        By block, the smallest and the largest number of its rows; 0 if it has none.
    full : numpy.ndarray of bool
        By block, whether each of its rows has a number.
    footers : bool
        Whether the bounds are from file statistics, which ignore NaN.
    """

    low: Array
    high: Array
    full: Array
    footers: bool = False


class BlockBounds:
    """Bounds of what blocks may add to the values of a query.

    Parameters
    ----------
    split : SplitQuery
    source : Source
    blocks : Blocks
    begun : numpy.ndarray of int64
        Blocks that are read first in any case.

    Attributes
    ----------
    certain : numpy.ndarray of int64
        Blocks that may add far more than others, the widest first; they are read first, and are not part of the sample.
    ends : dict of int to Ends
        By value with known bounds.
    unknown : list of (str, list of str)
        Reasons for missing bounds, with the names of their values.
    not_nan : tuple of str
        Values whose bounds are valid only if no number is NaN.
    """

    def __init__(self, split: SplitQuery, source: Source, blocks: Blocks, begun: Ticks) -> None:
        self.ends: dict[int, Ends] = {}
        reasons: dict[str, list[str]] = {}
        found: dict[str, Ends | str] = {}
        for value, (name, aggregate) in enumerate(zip(split.values.names, split.values.made_of, strict=True)):
            ends: Ends | str
            if reason := _without_sum(split, aggregate):
                ends = reason
            elif isinstance(aggregate, Count):
                rows = np.ones(len(blocks))
                ends = Ends(rows, rows, np.full(len(blocks), aggregate.counts_rows))
            else:
                assert aggregate is not None
                assert aggregate.expr is not None
                shown = aggregate.expr.show()
                if shown not in found:
                    found[shown] = _ends(split, aggregate.expr, source, blocks)
                ends = found[shown]
            if isinstance(ends, str):
                reasons.setdefault(ends, []).append(name)
            else:
                self.ends[value] = ends
        self.unknown = list(reasons.items())
        names = split.values.names
        self.not_nan = tuple(names[value] for value, ends in self.ends.items() if ends.footers)
        self.certain = _certain(self.ends.values(), blocks, begun)


def wide_blocks(split: SplitQuery, source: Source, blocks: Blocks) -> Ticks:
    """The blocks that may add far more to an aggregate than others, by file statistics, the widest first."""
    inputs = {aggregate.expr.show(): aggregate.expr for _, aggregate in split.finish.of.measures
              if aggregate.expr is not None}
    found = [_ends(split, expr, source, blocks) for expr in inputs.values()] if split.one_each else []
    return _certain([ends for ends in found if isinstance(ends, Ends)], blocks, np.empty(0, np.int64))


def _certain(known: Iterable[Ends], blocks: Blocks, begun: Ticks) -> Ticks:
    rows, count = blocks.rows.astype(np.float64), len(blocks)
    wide = np.zeros(count)
    for ends in known:
        maximum = rows * np.maximum(np.maximum(ends.high, -ends.low), ends.high - ends.low)
        wide = np.maximum(wide, maximum / max(float(np.median(maximum)), 1e-300))
    wide[begun] = 0.0
    order = np.argsort(-wide, kind="stable")[: count // _FEW]
    return np.asarray(order[wide[order] > _WIDE])


def _without_sum(split: SplitQuery, aggregate: Aggregate | None) -> str:
    """Why the value is not a sum, mean or count of source rows; empty if it is."""
    if aggregate is None:
        return "it is computed of several aggregates"
    if not isinstance(aggregate, Count | Sum | Mean):
        return f"{aggregate.name} is not made of a sum"
    if not split.one_each:
        return "the number of events in a time range is unknown"
    if isinstance(aggregate, Sum) and aggregate.widen:
        return "its sum is a decimal"
    return ""


def _ends(split: SplitQuery, expr: Expr, source: Source, blocks: Blocks) -> Ends | str:
    """Bounds of the input of an aggregate; or why there are none."""
    type_ = type_of(expr, split.finish.rows, where="progressive()")
    if not (pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)):
        return f"values of type {type_} have no bounds"
    if pa.types.is_uint64(type_):
        return "unsigned integers of 64 bits have no bounds"
    below = _of_source(split, expr)
    if below is not None and source.in_memory:
        found = _in_memory(below, source, blocks)
        if found is not None:
            return found
    elif isinstance(below, Col) and (extremes := source.extremes(blocks, below.name)) is not None:
        low, high = (np.asarray(each, np.float64) for each in extremes)
        if _sure(low) and _sure(high):
            return Ends(low, high, np.zeros(len(blocks), np.bool_), footers=pa.types.is_floating(type_))
    by_type = _of_type(type_)
    if by_type is not None:
        low, high = (np.full(len(blocks), end) for end in by_type)
        return Ends(low, high, np.zeros(len(blocks), np.bool_))
    if below is None:
        return f"{expr.show()} is not computed from rows of the source"
    if source.in_memory:
        return f"{expr.show()} is not a finite number in all rows"
    return f"there are no statistics of the smallest and largest {expr.show()}"


def _of_source(split: SplitQuery, expr: Expr) -> Expr | None:
    """The expression over source columns; None if an operator changes rows."""
    node = split.states
    while node.inputs:
        if isinstance(node.op, Select):
            expr = substitute(expr, dict(node.op.columns))
        elif not isinstance(node.op, _KEEPS_COLUMNS):
            return None
        node = node.inputs[0]
    return expr


def _in_memory(expr: Expr, source: Source, blocks: Blocks) -> Ends | None:
    """Bounds from one pass over all rows; None if the expression fails or is not finite."""
    names = sorted(columns_of(expr) & {*source.schema.names})
    numbers, there = [], []
    try:
        for batch in source.read(names):
            if batch is not None:
                column = evaluate(expr, batch)
                if not column.fixed or column.values.dtype.kind not in "iufb":
                    return None
                numbers.append(np.asarray(column.values, np.float64))
                there.append(np.ones(len(batch), np.bool_) if column.valid is None else column.valid)
    except WhimbrelError:  # perhaps for rows that the query filters out
        return None
    values, known = np.concatenate(numbers), np.concatenate(there)
    if not _sure(values[known]):
        return None
    first = blocks.first
    low = np.minimum.reduceat(np.where(known, values, np.inf), first)
    high = np.maximum.reduceat(np.where(known, values, -np.inf), first)
    some = low <= high
    return Ends(np.where(some, low, 0.0), np.where(some, high, 0.0), np.logical_and.reduceat(known, first))


def _sure(numbers: Array) -> bool:
    """Whether all are finite, and small enough to be added up."""
    return bool((np.abs(numbers) < _LARGEST).all())


def _of_type(type_: pa.DataType) -> tuple[float, float] | None:
    """The bounds of a type, if they are narrow enough to be useful."""
    if pa.types.is_boolean(type_):
        return 0.0, 1.0
    if not pa.types.is_integer(type_) or type_.bit_width > _MAX_BITS:
        return None
    values = 2.0**type_.bit_width
    return (-values / 2, values / 2 - 1) if pa.types.is_signed_integer(type_) else (0.0, values - 1)
