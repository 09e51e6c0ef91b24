"""Explode rows: one row per item."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Field, Schema, logical_type
from whimbrel.batch import Column as Items
from whimbrel.clock import MIN_TIME
from whimbrel.errors import ExpressionError, PlanError, SchemaError
from whimbrel.expr import (
    Column,
    Condition,
    Expr,
    RowFunction,
    check_name,
    check_text,
    columns_of,
    evaluate,
    split,
    trace,
    type_of,
)
from whimbrel.kernels import PORTION_ROWS, Kernel
from whimbrel.plan import HIDDEN, KnownInput, LineageRequest, Operator, Properties, Reach, fluent, reads_exactly

__all__ = ["ItemType"]

ItemType: TypeAlias = pa.DataType
"""What may be given as the type of the items of lists."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Explode(Operator):
    """Explode rows: one row per item of a list.

    A string gives one row for each part; `values` give one row each.

        time     0    5    10
        in       [2, 3]────            ([0, 10))
        out      2─────────            (two rows, both [0, 10))
                 3─────────

    Parameters
    ----------
    column : str
        The list or string column, which then has the item. With `values`: the column to add or replace.
    split : str, optional
        The separator of the parts of a string.
    values : tuple of Expr
        The values, all of one type.
    times : Expr, optional
        How many times the values are repeated; null or less than one gives no row.
    listed : Expr, optional
        A list expression, instead of all these.

    Notes
    -----
    Other columns and the lifetime are repeated. A null item gives one row. An empty list or a null list gives none, as
    in SQL; in Polars it gives a row with null. `union` adds these rows, as the last example does.
    Very many rows come in portions. Shapes: any number of rows out per row in. State: rows
    whose portions are not all given. Source: Trill (VLDB 2015), section 3.2 (SelectMany).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0], "line": ["to be"], "x": [2]}, time="at").select("line", "x")
    >>> events.explode("line", split=" ").collect().to_pylist()
    [{'start': 0, 'end': 1, 'line': 'to', 'x': 2}, {'start': 0, 'end': 1, 'line': 'be', 'x': 2}]
    >>> events.explode("y", [wb.col.x, wb.col.x * 10]).select("y").collect().to_pylist()
    [{'start': 0, 'end': 1, 'y': 2}, {'start': 0, 'end': 1, 'y': 20}]
    >>> events.explode("y", [5 + wb.start_time()], times=wb.col.x).select("y").collect().to_pylist()
    [{'start': 0, 'end': 1, 'y': 5}, {'start': 0, 'end': 1, 'y': 5}]

    A Python function may answer with any list:

    >>> events.explode("y", lambda e: [n * n for n in range(e.x)]).select("y").collect().to_pylist()
    [{'start': 0, 'end': 1, 'y': 0}, {'start': 0, 'end': 1, 'y': 1}]

    Rows of empty and null lists are kept, with null:

    >>> lists = wb.from_arrow({"at": [0, 1, 2], "x": [[5], [], None]}, time="at").select("x")
    >>> without = lists.where(wb.col.x.list.length().fill_null(0) == 0).with_columns(x=wb.col.x.list.get(0))
    >>> lists.explode("x").union(without).collect()["x"].to_pylist()
    [5, None, None]
    """

    column: str
    split: str | None = None
    values: tuple[Expr, ...] = ()
    times: Expr | None = None
    listed: Expr | None = None

    def schema(self, *upstream: Schema) -> Schema:
        made = Field(self.column, self._item_type(upstream[0]))
        if self.column not in upstream[0]:
            return upstream[0].with_fields([*upstream[0], made])
        return upstream[0].with_fields(made if field.name == self.column else field for field in upstream[0])

    def _item_type(self, schema: Schema) -> pa.DataType:
        where = self.show()
        if self.times is not None:
            many = type_of(self.times, schema, where=where)
            if not pa.types.is_integer(many):
                raise ExpressionError(f"times must be an integer, got {many}.", where=where,
                                      hint="Cast it: .cast(int).")
        if self.values:
            first, *others = (type_of(value, schema, where=where) for value in self.values)
            for value, type_ in zip(self.values[1:], others, strict=True):
                if type_ != first:
                    raise ExpressionError(f"Values must have one type, got {self.values[0].show()} ({first}) and "
                                          f"{value.show()} ({type_}).",
                                          where=where, hint="Cast one: .cast(...).")
            return first
        if self.listed is not None:
            return _item_of(type_of(self.listed, schema, where=where), self.listed.show(), where)
        type_ = schema.type_of(self.column, where=where)
        if self.split is not None:
            if not pa.types.is_string(type_) and not pa.types.is_large_string(type_):
                raise SchemaError(f"split= needs a string column, got {self.column!r} of type {type_}.", where=where,
                                  hint="Remove split= for a list column.")
            return type_
        return _item_of(type_, f"Column {self.column!r}", where,
                        f'explode({self.column!r}, split=",") for a string')

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], apart=None, sampling=None, packed=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        made = [expr for expr in (*self.values, self.times, self.listed) if expr is not None]
        read = frozenset[str]().union(*map(columns_of, made)) if made else frozenset((self.column,))
        return (wanted - {self.column} | read,)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def partitioned(self, *by: str) -> str | None:
        return HIDDEN if by[0] == self.column else by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        kept = [name for name in inputs[0].schema.names if name != self.column]
        return (wanted.only(kept).same(reads_exactly(self)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return ExplodeKernel(self, self.schema(*upstream))

    def show(self) -> str:
        values = f", [{', '.join(value.show() for value in self.values)}]" if self.values else ""
        split = "" if self.split is None else f", split={self.split!r}"
        times = "" if self.times is None else f", times={self.times.show()}"
        listed = "" if self.listed is None else f", {self.listed.show()}"
        return f"explode({self.column!r}{listed}{values}{times}{split})"


def _item_of(type_: pa.DataType, what: str, where: str, hint: str = "") -> pa.DataType:
    if not pa.types.is_list(type_) and not pa.types.is_large_list(type_) and not pa.types.is_fixed_size_list(type_):
        raise SchemaError(f"explode() needs a list; {what[0].lower() + what[1:]} has type {type_}.",
                          where=where, hint=hint and f"Use {hint}.")
    return type_.value_type


@fluent
def explode(schema: Schema, column: str, values: Sequence[Column] | Condition = (), *,
                times: int | Condition | None = None, split: str | None = None,
                item_type: ItemType | None = None) -> Explode:
    """Give one row for each item of a list. See :class:`whimbrel.operators.Explode`.

    Parameters
    ----------
    column : str
        A list column; with `split` a string column; with `values` the column to make.
    values : sequence of Expr, Expr or callable, optional
        Give one row for each of these, or for each item of this list.
    times : int, Expr or callable, optional
        How many times the values are repeated: ``[col.x], times=col.n``.
    split : str, optional
        Such as ``","``.
    item_type : pyarrow.DataType, optional
        Type of the items of a Python function, if sample rows do not determine it.
    """
    if not isinstance(column, str):
        raise PlanError("explode() needs the name of a column first.", where="explode(...)",
                        hint='Use a name, such as explode("v", lambda row: [row.a, row.b]).')
    where = f"explode({column!r}, ...)"
    listed = isinstance(values, Expr) or callable(values)
    if split is not None and (not isinstance(split, str) or not split):
        raise PlanError(f"split must be a non-empty string, got {split!r}.", where=where,
                        hint='Use a separator, such as explode("tags", split=",").')
    if split is not None and (listed or values):
        raise PlanError("explode() takes split= or values, got both.", where=where,
                        hint='Use explode("tags", split=",") or explode("x", [col.a, col.b]).')
    if times is not None and (listed or not values):
        raise PlanError("times= needs values.", where=where, hint="Add values, such as [col.x], times=col.n.")
    check_name(column, "explode")
    if not listed and (isinstance(values, str | bytes) or not isinstance(values, Iterable)):
        raise PlanError(f"explode() needs a list of values, got {values!r}.", where=where,
                        hint=f"Use explode({column!r}, [{values!r}]), or explode({column!r}) for the items of a list.")
    chosen = () if listed else tuple(trace(value, where=where) for value in cast(Any, values))
    for value in chosen:
        check_text(value, schema.names, where)
    made = trace(values, where=where) if listed else None
    if item_type is not None:
        if not isinstance(made, RowFunction):
            raise PlanError("item_type= is only for Python functions.", where=where,
                            hint="Remove item_type=, or cast the expressions: .cast(...).")
        made = replace(made, declared=pa.list_(logical_type(item_type)))
    return Explode(column=column, split=split, listed=made,
                      times=None if times is None else trace(times, where=where),
                      values=chosen)


_MAX_TIMES = 1 << 62


class ExplodeKernel(Kernel):
    """Repeat rows, one for each item. Rows with very many items give them in portions."""

    def __init__(self, operator: Explode, schema: Schema) -> None:
        self.operator = operator
        self.schema = schema
        self.waiting: list[Batch] = []
        self.given = 0  # rows made of the first one that waits
        self.input_watermark = MIN_TIME
        self.maximum = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        if not self.operator.values:
            rows, items = self._exploded(batch)
            return self._repeated(batch, rows, items)
        self.waiting.append(batch)
        return [] if len(self.waiting) > 1 else self.next_portion()

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.input_watermark = watermark
        self._update_watermark()
        return []

    def _update_watermark(self) -> None:
        known = self.input_watermark
        self.watermark = min(known, int(self.waiting[0].sync[0])) if self.waiting else known

    @property
    def more(self) -> bool:
        return bool(self.waiting)

    @property
    def growing(self) -> str:
        return f"a row is taken {self.maximum:,} times" if self.maximum else ""

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.waiting))

    def next_portion(self) -> list[Batch]:
        out, remaining = list[Batch](), PORTION_ROWS
        while self.waiting and remaining > 0:
            batch = self.waiting.pop(0)
            lengths = self._lengths(batch)
            lengths[0] -= self.given
            fitting = np.cumsum(np.minimum(lengths, remaining + 1).astype(np.int64))
            whole = int(np.searchsorted(fitting, remaining, "right"))
            used = int(fitting[whole - 1]) if whole else 0
            part = min(remaining - used, int(lengths[whole])) if whole < len(batch) else 0
            counts = np.append(lengths[:whole], part)[: len(batch)]
            begun = batch.slice(0, len(counts))
            first = np.zeros(len(counts), np.int64)
            first[0] = self.given
            out += self._repeated(begun, *self._chosen(begun, counts, first))
            remaining -= used + part
            if whole < len(batch):
                self.waiting.insert(0, batch.slice(whole, len(batch)))
                self.given = part + (0 if whole else self.given)
                break
            self.given = 0
        self._update_watermark()
        return out

    def _repeated(self, batch: Batch, rows: np.ndarray[Any, Any], items: Items) -> list[Batch]:
        if not len(rows):
            return []
        repeated = batch.take(rows)
        columns = [items if name == self.operator.column else repeated.column(name) for name in self.schema.names]
        return [replace(repeated, schema=self.schema, columns=tuple(columns))]

    def _lengths(self, batch: Batch) -> np.ndarray[Any, Any]:
        """How many rows each row makes."""
        values = len(self.operator.values)
        if self.operator.times is None:
            return np.full(len(batch), values, np.int64)
        times = evaluate(self.operator.times, batch)
        given = np.asarray(times.values)
        if given.dtype == np.uint64:
            given = np.minimum(given, np.uint64(_MAX_TIMES))
        counts = np.where(times.validity(), np.clip(given.astype(np.int64), 0, _MAX_TIMES // values), 0)
        self.maximum = max(self.maximum, int(counts.max(initial=0)))
        return counts * values

    def _chosen(self, batch: Batch, counts: np.ndarray[Any, Any],
                first: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], Items]:
        """Rows and values: so many of each row, from its `first` one on."""
        values = self.operator.values
        columns = Items.concat([evaluate(value, batch) for value in values])
        rows = np.repeat(np.arange(len(batch)), counts)
        inside = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts - first, counts)
        return rows, columns.take(rows + inside % len(values) * len(batch))

    def _exploded(self, batch: Batch) -> tuple[np.ndarray[Any, Any], Items]:
        listed = self.operator.listed
        column = batch.column(self.operator.column) if listed is None else evaluate(listed, batch)
        lists = column.to_arrow()
        if self.operator.split is not None:
            rows, pieces = split(lists, self.operator.split)
            return rows, Items.from_arrow(pieces)
        # A null may have items below it in memory: its length is null, and its items are not among the flattened ones.
        lengths = Items.from_arrow(pc.list_value_length(lists))
        there = np.where(lengths.validity(), lengths.values, 0)
        return np.repeat(np.arange(len(batch)), there), Items.from_arrow(pc.list_flatten(lists))
