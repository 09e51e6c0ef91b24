"""Compute result columns from aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, frozen
from whimbrel.clock.calendar_grid import CalendarWindows
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.expr import Col, Expr, Lit, Reduced, When, children, evaluate, type_of
from whimbrel.expr.reductions import reduced_in
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import (
    HIDDEN,
    Aggregate,
    Exact,
    KnownInput,
    LineageRequest,
    Operator,
    Ordered,
    Properties,
    Reach,
    ordered_among,
)

__all__ = ["Running", "WindowBound"]

WindowBounds = tuple[int, int | None] | CalendarWindows
"""From the start of a result to the start and to the end of its window, in ticks, with None for a window without an
end; or the windows of a calendar."""

FILLED = "row is made"
"""The column that tells rows that were made for empty windows from others."""


@dataclass(frozen=True, eq=False, repr=False)
class WindowBound(Reduced):
    """The start or the end of the window of a result."""

    which: Literal["start", "end"]

    def show(self) -> str:
        return f"window_{self.which}()"


@dataclass(frozen=True, eq=False, repr=False)
class Running(Reduced):
    """The value of an aggregate over all rows since its group opened."""

    of: Aggregate

    kind: ClassVar[str] = "a running aggregate"
    computed_by: ClassVar[str] = "epoch_aggregate(...)"

    def show(self) -> str:
        return f"running({self.of.show()})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Results(Operator):
    """Compute result columns from aggregates, keys and window bounds.

    Lifetimes do not change.

        time     0    5    10
        in       2───────── 6     (count and sum: [0, 10))
        out      3─────────       (m = sum(col.x) / count())

    Parameters
    ----------
    keys : tuple of str
        Columns that are kept.
    columns : tuple of (str, Expr)
        Name and value of each other column, over columns named as the aggregates show.
    bounds : tuple of int, or CalendarWindows
        From the start of a result to the start and to the end of its window, in ticks. None if a window has no end. Or
        the windows of a calendar.
    constants : tuple of (str, Lit)
        What some columns are in the rows that were made for empty windows.

    Notes
    -----
    Shapes: as many rows out as in. State: none.
    Source: the result expressions of docs/semantics.md, windows and aggregates.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "x": [2, 4]}, time="at")
    >>> events.tumbling_window(10).aggregate(m=wb.sum(wb.col.x) / wb.count()).collect().to_pylist()
    [{'start': 0, 'end': 10, 'm': 3.0}]
    """

    accepts_edges: ClassVar[bool] = True

    keys: tuple[str, ...]
    columns: tuple[tuple[str, Expr], ...]
    bounds: WindowBounds = (0, 0)
    constants: tuple[tuple[str, Lit], ...] = ()

    def schema(self, *upstream: Schema) -> Schema:
        seen = self.seen(upstream[0])
        fields = [Field(name, seen.type_of(name)) for name in self.keys]
        for name, expr in self.columns:
            where = f"aggregate({name}={expr.show()})"
            try:
                type_ = type_of(expr, seen)
            except ExpressionError as error:
                raise ExpressionError(error.what, where=where, hint=error.hint) from None
            fields.append(Field(name, type_))
        for name, constant in self.constants:
            expr, where = dict(self.columns)[name], f"aggregate(fill={{{name!r}: {constant.value!r}}})"
            wanted = type_of(expr, seen)
            try:
                fits = type_of(When(Col(FILLED), constant, expr), seen) == wanted
            except ExpressionError:
                fits = False
            if not fits:
                raise ExpressionError(f"The fill value of {name!r} must be {wanted}, got {constant.value!r}.",
                                      where=where,
                                      hint="Use a value of the type of the column.")
        return upstream[0].with_fields(fields, where=self.show())

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return ordered_among(known[0].ordered, self.keys)

    def seen(self, schema: Schema) -> Schema:
        """Schema of the rows from which expressions are computed."""
        bounds = [Field(WindowBound(which).show(), schema.time_type) for which in ("start", "end")]
        return replace(schema, fields=(*schema.fields, *bounds))

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys else HIDDEN

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        bounded = any(isinstance(part, WindowBound) for _, expr in self.columns for part in reduced_in(expr))
        return (wanted.only(self.keys).same(Exact.STARTS if bounded else Exact.VALUES),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return ResultsKernel(self, self.seen(upstream[0]), self.schema(*upstream))

    def show(self) -> str:
        shown = [f"{name}={expr.show()}" for name, expr in self.columns]
        if self.constants:
            shown.append(f"fill={{{', '.join(f'{name!r}: {constant.value!r}' for name, constant in self.constants)}}}")
        return f"results({', '.join(shown)})"


class ResultsKernel(Stateless):
    """Evaluates each column over a batch to which the bounds of windows were added."""

    def __init__(self, results: Results, seen: Schema, schema: Schema) -> None:
        self.results, self.seen, self.schema = results, seen, schema
        constants = dict(results.constants)
        self.exprs = [When(Col(FILLED), constants[name], expr) if name in constants else expr
                      for name, expr in results.columns]

    def apply(self, batch: Batch) -> Batch:
        start = batch.sync if isinstance(batch.ends, int) else np.where(batch.ends < batch.sync, batch.ends, batch.sync)
        given = self.results.bounds
        times = ([None if each is None else start + each for each in given] if isinstance(given, tuple)
                 else given.windows_of(start))
        type_ = self.seen.time_type
        bounds = [Column.nulls(type_, len(batch)) if each is None else Column(type_, frozen(each)) for each in times]
        rows = batch.having(schema=self.seen, columns=(*batch.columns, *bounds))
        columns = [batch.column(name) for name in self.results.keys]
        for (name, _), expr in zip(self.results.columns, self.exprs, strict=True):
            try:
                columns.append(evaluate(expr, rows))
            except KernelError as error:
                where = f"{error.where} in aggregate({name}=...)"
                raise KernelError(error.what, where=where, hint=error.hint) from None
        return batch.having(schema=self.schema, columns=tuple(columns))


def distinct_aggregates(exprs: Sequence[Expr]) -> list[tuple[str, Aggregate]]:
    """Each aggregate once, by the name of the column in which its value stands.

    Raises
    ------
    ExpressionError
        When two different ones read alike, as functions of one name do.
    """
    found: dict[str, Aggregate] = {}
    for aggregate in (part for expr in exprs for part in reduced_in(expr) if isinstance(part, Aggregate)):
        known = found.setdefault(aggregate.show(), aggregate)
        if _meaning(known) != _meaning(aggregate):
            raise ExpressionError("Two different aggregates have the same text.", where=aggregate.show(),
                                  hint='Name each one, wb.aggregate(..., name="..."), and the functions that it calls.')
    return list(found.items())


def _meaning(item: object) -> object:
    """What tells aggregates apart that read alike: their parts, and functions by identity."""
    if isinstance(item, Expr) and not isinstance(item, Reduced):
        return type(item), item.show(), getattr(item, "function", None), tuple(map(_meaning, children(item)))
    if isinstance(item, Aggregate):
        return type(item), tuple(_meaning(getattr(item, name)) for name in item.__dataclass_fields__)
    return item if isinstance(item, str | int | float | bool | None | pa.DataType) or callable(item) else repr(item)
