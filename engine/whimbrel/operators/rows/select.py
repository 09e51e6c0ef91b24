"""Choose, rename and compute columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from whimbrel.batch import Batch, Field, Schema
from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.expr import Col, Column, Expr, columns_of, evaluate, key_of, named_columns, named_words, type_of
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import (
    HIDDEN,
    KnownInput,
    LineageRequest,
    Operator,
    Ordered,
    Properties,
    Reach,
    fluent,
    ordered_values,
    reads_exactly,
    schema_over,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Select(Operator):
    """Compute a new payload row by row. Lifetimes do not change.

        time     0    5    10
        in       2────────
                      3────
        out      4────────           (select double = 2 * x)
                      6────

    Parameters
    ----------
    columns : tuple of (str, Expr)
        Name and value of each column of the result.

    Notes
    -----
    Shapes: as many rows out as in. State: none. Columns that are only chosen or renamed are not copied.
    Source: Trill (VLDB 2015), section 3.2.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "x": [2, 3]}, time="at")
    >>> events.select(double=2 * wb.col.x).collect().to_pylist()
    [{'start': 0, 'end': 1, 'double': 4}, {'start': 5, 'end': 6, 'double': 6}]
    """

    accepts_edges: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    columns: tuple[tuple[str, Expr], ...]

    def schema(self, *upstream: Schema) -> Schema:
        if not self.columns:
            raise PlanError("select() needs at least one column.", where="select()",
                            hint='Add one, such as select("name", total=col.a + col.b).')
        try:
            return upstream[0].with_fields([_field(name, expr, upstream[0], "") for name, expr in self.columns])
        except WhimbrelError:  # the text of many columns takes long
            where = self.show()
            return upstream[0].with_fields([_field(name, expr, upstream[0], where) for name, expr in self.columns],
                                           where=where)

    def properties(self, *upstream: Properties) -> Properties:
        kept = {expr.name: name for name, expr in self.columns if isinstance(expr, Col)}
        return replace(upstream[0], apart=upstream[0].apart_as(kept), sampling=upstream[0].sampling_as(kept))

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return ordered_values(self.columns, schemas[0], known[0].ordered)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (frozenset[str]().union(*(columns_of(expr) for _, expr in self.narrowed(wanted).columns)),)

    def narrowed(self, wanted: frozenset[str]) -> Select:
        columns = tuple((name, expr) for name, expr in self.columns if name in wanted)
        return self if len(columns) in (0, len(self.columns)) else replace(self, columns=columns)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def partitioned(self, *by: str) -> str | None:
        return key_of(self.columns, by[0]) or HIDDEN

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        exact = wanted.same(reads_exactly(self))
        return (exact.through(dict(self.columns), inputs[0].schema),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return SelectKernel(self, schema_over(self, upstream))

    def show(self) -> str:
        return f"select({named_words(self.columns)})"


@fluent
def select(schema: Schema, /, *names: str | Expr, **columns: Column) -> Select:
    """Keep columns by name, and compute columns by keyword.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1], "x": [10]}, time="at")
    >>> events.select("x", double=wb.col.x * 2).schema.show()
    'x: int64, double: int64'
    """
    return Select(columns=named_columns("select", names, columns, schema.names))


@fluent
def with_columns(schema: Schema, /, **columns: Column) -> Select:
    """Add columns, or replace columns of the same name.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1], "x": [10]}, time="at")
    >>> events.with_columns(double=wb.col.x * 2).schema.show()
    'at: int64, x: int64, double: int64'
    """
    computed = dict(named_columns("with_columns", (), columns, schema.names))
    kept = [(name, computed.pop(name)) if name in computed else _kept(name) for name in schema.names]
    return Select(columns=(*kept, *computed.items()))


@lru_cache(1 << 14)
def _kept(name: str) -> tuple[str, Expr]:
    """A column as it is. It is shared: a chain of calls would make as many as the square of its length."""
    return name, Col(name)


def _field(name: str, expr: Expr, schema: Schema, where: str) -> Field:
    if type(expr) is Col and expr.name == name and name in schema:
        return schema.fields[schema.index(name)]
    return Field(name, type_of(expr, schema, where=where))


class SelectKernel(Stateless):
    """Evaluates each column over the batch."""

    def __init__(self, select: Select, schema: Schema) -> None:
        self.exprs = [expr for _, expr in select.columns]
        self.schema = schema

    def apply(self, batch: Batch) -> Batch:
        columns, place = batch.columns, batch.schema.index
        return batch.computed(self.schema, tuple([
            columns[place(expr.name, where=expr.name)] if type(expr) is Col else evaluate(expr, batch, self.storage)
            for expr in self.exprs]))
