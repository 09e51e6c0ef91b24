"""Find the source rows of a result row, to prioritize them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whimbrel.errors import WhimbrelError
from whimbrel.expr import Col, Expr, lift, type_of
from whimbrel.operators import AsofJoin, Join, SemiJoin, TopK
from whimbrel.plan import Operator, Source, times_needed
from whimbrel.progressive import ProgressiveQuery
from whimbrel.progressive.plan.plan_chain import chain_of
from whimbrel_workbench.frames.labels import labels

_KEEPS_COLUMNS = (TopK, Join, SemiJoin, AsofJoin)
"""Operators whose rows have the columns of their first input, whichever it is grouped by, and extra columns."""


@dataclass(frozen=True, slots=True)
class PriorityFilter:
    """What is known of rows of the source from the keys of a row of the answer.

    Parameters
    ----------
    conditions : tuple of Expr
        Of columns of the source.
    values : tuple of str
        The values of the keys that they speak of.
    unsupported : tuple of str
        Keys of which no condition can speak: they are computed, or of a type that has no literals.
    """

    conditions: tuple[Expr, ...]
    values: tuple[str, ...]
    unsupported: tuple[str, ...]


def sought(query: ProgressiveQuery, row: pa.Table, keys: Sequence[str]) -> PriorityFilter:
    """What rows of the source must meet to be of a row of the answer."""
    conditions, values, unsupported = [], [], []
    for key in keys:
        name = _source_column(query, key)
        condition = None if name is None else _condition(query, name, row.column(key)[0])
        if condition is None:
            unsupported.append(key)
        else:
            conditions.append(condition)
            values.append(labels(row, [key]).names[0])
    return PriorityFilter(tuple(conditions), tuple(values), tuple(unsupported))


def times_sought(query: ProgressiveQuery, start: int) -> tuple[int, int]:
    """The times (from, up to) of rows of the source of which a row of the answer is made that starts there."""
    source = chain_of(query.plan)[-1].op
    if not query.block_run.split.tail_keeps_rows and isinstance(source, Source):  # it is made of several windows
        return times_needed(query.plan, start, start + 1)[source]
    first, last = query.block_run.split.window_times(np.array([start]))
    return int(first[0]), int(last[0]) + 1


def _condition(query: ProgressiveQuery, name: str, value: pa.Scalar) -> Expr | None:
    """That a column has a value; None where no expression can say so."""
    try:
        found = Col(name) == lift(value.as_py()) if value.is_valid else Col(name).is_null()
        type_of(found, query.block_run.states.condition_schema)
    except (WhimbrelError, OverflowError, ValueError):  # Python has no days after the year 9999, and no nanoseconds
        return None
    return found


def _source_column(query: ProgressiveQuery, key: str) -> str | None:
    """The column of the source that a column of the answer is, as it is; None where it is none.

    The source may have another column of the same name.
    """
    name, source = key, query.block_run.states.source
    for node in chain_of(query.plan):
        if isinstance(node.op, Source):
            same = (node.op.name, node.op.rows) == (source.name, source.rows)
            return name if same and name in node.schema else None
        below = _column_below(node.op, node.inputs[0].schema.names, name)
        if below is None:
            return None
        name = below
    return None


def _column_below(op: Operator, names: Sequence[str], name: str) -> str | None:
    """Which of the columns of the first input a column of the output is; None where it is computed, or nobody knows."""
    if isinstance(op, _KEEPS_COLUMNS):
        return name if name in names else None
    return next((below for below in names if op.partitioned(below) == name), None) if op.arity == 1 else None
