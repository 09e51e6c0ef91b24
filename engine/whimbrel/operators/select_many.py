"""One row becomes many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Field, Schema
from whimbrel.batch import Column as Items
from whimbrel.errors import ExpressionError, PlanError, SchemaError
from whimbrel.expr import Column, Expr, check_name, columns_of, evaluate, trace, type_of
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import Operator, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectMany(Operator):
    """Make a row of each item of a list, of each part of a string, or of each of several values.

        time     0    5    10
        in       [2, 3]────            ([0, 10))
        out      2─────────            (two rows, both [0, 10))
                 3─────────

    Parameters
    ----------
    column : str
        The list or string column, which holds the item afterwards; with `values` the column that is made (or replaced).
    split : str, optional
        What separates the parts of a string.
    values : tuple of Expr
        The values, all of one type.

    Notes
    -----
    Other columns and the lifetime are repeated. A list that is empty or null makes no row; an item that is null makes
    one. Shapes: any number of rows out per row in. State: none. Source: Trill (VLDB 2015), section 3.2 (SelectMany).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0], "line": ["to be"], "x": [2]}, time="at").select("line", "x")
    >>> events.select_many("line", split=" ").collect().to_pylist()
    [{'start': 0, 'end': 1, 'line': 'to', 'x': 2}, {'start': 0, 'end': 1, 'line': 'be', 'x': 2}]
    >>> events.select_many("y", [wb.col.x, wb.col.x * 10]).select("y").collect().to_pylist()
    [{'start': 0, 'end': 1, 'y': 2}, {'start': 0, 'end': 1, 'y': 20}]
    """

    column: str
    split: str | None = None
    values: tuple[Expr, ...] = ()

    def schema(self, *upstream: Schema) -> Schema:
        made = Field(self.column, self._item_type(upstream[0]))
        if self.column not in upstream[0]:
            return upstream[0].with_fields([*upstream[0], made])
        return upstream[0].with_fields(made if field.name == self.column else field for field in upstream[0])

    def _item_type(self, schema: Schema) -> pa.DataType:
        where = self.show()
        if self.values:
            first, *others = (type_of(value, schema, where=where) for value in self.values)
            for value, type_ in zip(self.values[1:], others, strict=True):
                if type_ != first:
                    raise ExpressionError(f"{self.values[0].show()} is {first}, but {value.show()} is {type_}.",
                                          where=where, hint="cast one: .cast(...)")
            return first
        type_ = schema.type_of(self.column, where=where)
        if self.split is not None:
            if not pa.types.is_string(type_) and not pa.types.is_large_string(type_):
                raise SchemaError(f"Column {self.column!r} is {type_}; only strings can be split.", where=where)
            return type_
        if not pa.types.is_list(type_) and not pa.types.is_large_list(type_) and not pa.types.is_fixed_size_list(type_):
            raise SchemaError(f"Column {self.column!r} is {type_}, not a list.", where=where,
                              hint=f'such as select_many({self.column!r}, split=",") for a string')
        return type_.value_type

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        read = frozenset[str]().union(*map(columns_of, self.values)) if self.values else frozenset((self.column,))
        return (wanted - {self.column} | read,)

    def kernel(self, *upstream: Schema) -> Kernel:
        return SelectManyKernel(self, self.schema(*upstream))

    def show(self) -> str:
        values = f", [{', '.join(value.show() for value in self.values)}]" if self.values else ""
        split = "" if self.split is None else f", split={self.split!r}"
        return f"select_many({self.column!r}{values}{split})"


@fluent
def select_many(schema: Schema, column: str, values: Sequence[Column] = (), *, split: str | None = None) -> SelectMany:
    """A row for each item of a list. See :class:`whimbrel.operators.SelectMany`.

    Parameters
    ----------
    column : str
        A list column; with `split` a string column; with `values` the column to make.
    values : sequence of Expr, optional
        A row for each of these instead.
    split : str, optional
        Such as ``","``.
    """
    if split == "" or (split is not None and values):
        raise PlanError("Give a text to split by, or values, but not both.", where=f"select_many({column!r}, ...)")
    check_name(column, "select_many")
    return SelectMany(column=column, split=split,
                      values=tuple(trace(value, where=f"select_many({column!r}, ...)") for value in values))


class SelectManyKernel(Stateless):
    """Repeats rows, and puts the items beside them."""

    def __init__(self, operator: SelectMany, schema: Schema) -> None:
        self.operator = operator
        self.schema = schema

    def apply(self, batch: Batch) -> Batch:
        batch = batch.compact()
        rows, items = self._chosen(batch) if self.operator.values else self._exploded(batch)
        repeated = batch.take(rows)
        columns = [items if name == self.operator.column else repeated.column(name) for name in self.schema.names]
        return replace(repeated, schema=self.schema, columns=tuple(columns))

    def _chosen(self, batch: Batch) -> tuple[np.ndarray[Any, Any], Items]:
        values = self.operator.values
        columns = Items.concat([evaluate(value, batch) for value in values])
        rows = np.repeat(np.arange(len(batch)), len(values))
        return rows, columns.take(rows + np.tile(np.arange(len(values)), len(batch)) * len(batch))

    def _exploded(self, batch: Batch) -> tuple[np.ndarray[Any, Any], Items]:
        lists = batch.column(self.operator.column).to_arrow()
        if self.operator.split is not None:
            lists = pc.split_pattern(lists, self.operator.split)
        rows = Items.from_arrow(pc.list_parent_indices(lists))
        return np.asarray(rows.values), Items.from_arrow(pc.list_flatten(lists))
