"""Keep rows that satisfy a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Schema
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import (
    Condition,
    Cost,
    Expr,
    all_of,
    calls_python,
    can_fail,
    check_text,
    columns_of,
    marked_cheap,
    parts_of,
    predicate,
    trace,
    type_of,
    why_expensive,
)
from whimbrel.kernels import Kernel, Stateless, selected_rows
from whimbrel.plan import KnownInput, LineageRequest, Operator, Ordered, Properties, Reach, fluent, reads_exactly


@dataclass(frozen=True, kw_only=True, eq=False)
class Where(Operator):
    """Keep the events whose payload satisfies a condition. Lifetimes do not change.

        time     0    5    10
        in       2────────
                      3────
        out           3────          (where x > 2)

    Parameters
    ----------
    condition : Expr
        Of type bool. Null counts as false.
    cost : {"cheap", "expensive"}, optional
        What the user says of the condition.

    Notes
    -----
    Python functions and regular expressions are expensive. An expensive condition is a step of its own, which no
    aggregate absorbs. Its parts that must all be true are evaluated one after the other, each on the rows that passed
    those before it. Cheap parts come first; Python functions that are marked as cheap are the last of them. Then come
    expensive ones, by measured cost and the share of rows that they keep. Expensive ones that can fail come last.
    Shapes: at most as many rows out as in, columns unchanged. State: none.
    Source: Trill (VLDB 2015), section 3.2; Hellerstein and Stonebraker, Predicate Migration (SIGMOD 1993).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "x": [2, 3]}, time="at")
    >>> events.where(wb.col.x > 2).collect().to_pylist()
    [{'start': 5, 'end': 6, 'at': 5, 'x': 3}]
    """

    accepts_edges: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    condition: Expr
    cost: Cost | None = None

    @property
    def is_expensive(self) -> bool:
        """True if the condition is expensive.

        The user says so, or else its text does.
        """
        return self.cost == "expensive" or (self.cost is None and why_expensive(self.condition) is not None)

    @property
    def stays(self) -> bool:
        """True if it stays a step of its own.

        It does if it is expensive, or calls a Python function that is marked as cheap. Such a function can fail, so it
        sees only the rows that pass the cheap conditions, whatever its mark.
        """
        return self.is_expensive or (self.cost is None and calls_python(self.condition))

    def schema(self, *upstream: Schema) -> Schema:
        type_ = type_of(self.condition, upstream[0], where=self.show())
        if not pa.types.is_boolean(type_):
            raise ExpressionError(f"A condition must be boolean, got {self.condition.show()} of type {type_}.",
                                  where=self.show(), hint="Compare it with a value, such as `> 0`.")
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=False, apart=upstream[0].no_period(),
                       sampling=upstream[0].with_missing_samples())

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return known[0].ordered

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted | columns_of(self.condition),)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.same(reads_exactly(self)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return CostlyWhereKernel(self.condition, self.cost) if self.stays else WhereKernel(self.condition)

    def notes(self, *upstream: Schema) -> Sequence[str]:
        if self.cost is not None:
            return []
        notes = [f"{name} is marked as cheap" for name in marked_cheap(self.condition)]
        return [*notes, f"expensive, because of {why_expensive(self.condition)}"] if self.is_expensive else notes

    def show(self) -> str:
        return f"where({self.condition.show()}{f', cost={self.cost!r}' if self.cost else ''})"


@fluent
def where(schema: Schema, *conditions: Condition, cost: Cost | None = None) -> Where:
    """Keep events for which every condition is true; null counts as false.

    Parameters
    ----------
    *conditions : Expr or callable
        Such as ``col.x > 3`` or ``lambda e: e.x > 3``.
    cost : {"cheap", "expensive"}, optional
        What an evaluation costs. Default: Python functions and regular expressions are expensive. An expensive
        condition is evaluated last, on the rows that pass the cheap ones.
    """
    if cost not in ("cheap", "expensive", None):
        raise PlanError(f'cost must be "cheap" or "expensive", got {cost!r}.', where="where(cost=...)",
                        hint="Leave it out, and the condition decides.")
    if not conditions:
        raise PlanError("where() needs a condition.", where="where()", hint="Add one, such as where(col.x > 3).")
    whole, *others = (trace(condition, where="where()") for condition in conditions)
    for condition in (whole, *others):
        check_text(condition, schema.names, "where()")
    for other in others:
        whole = whole & other
    return Where(condition=whole, cost=cost)


class WhereKernel(Stateless):
    """Marks rows as absent; moves the rest together only when few are left, or where they stay."""

    def __init__(self, condition: Expr) -> None:
        self.condition = condition

    def apply(self, batch: Batch) -> Batch:
        return self.kept(batch, predicate(self.condition, batch))

    def kept(self, batch: Batch, kept: np.ndarray[Any, Any]) -> Batch:
        """The rows that are there and for which this is true."""
        if batch.absent is not None:
            kept = kept & ~batch.absent
        rows = int(np.count_nonzero(kept))
        if rows == len(batch):
            return batch
        if 2 * rows > len(batch) and self.storage is None:
            return batch.with_absent(~kept)
        return selected_rows(batch, kept, rows, self.storage)


@dataclass(eq=False)
class MeasuredCondition:
    """A condition, and what it cost so far.

    Parameters
    ----------
    condition : Expr
    rows, rows_kept : int
        Rows for which it was evaluated, and for which it was true.
    ns : int
        Nanoseconds that this took.
    """

    condition: Expr
    rows: int = 0
    rows_kept: int = 0
    ns: int = 0

    @property
    def ns_per_dropped_row(self) -> float:
        """What it costs to drop a row; 0 while nothing is known, so that it is measured."""
        return self.ns / max(self.rows - self.rows_kept, 0.5) if self.rows else 0.0


class CostlyWhereKernel(WhereKernel):
    """Evaluates the parts of a condition one after the other, each on the rows that passed those before it.

    Only parts that cannot fail change their order, so that no measurement decides on an error.

    Attributes
    ----------
    first : Expr or None
        The cheap parts.
    marked, ordered, last : list of MeasuredCondition
        Python functions that are marked as cheap, and expensive parts: those that cannot fail, and those that can. All
        are in the order in which they were written.
    """

    def __init__(self, condition: Expr, cost: Cost | None) -> None:
        super().__init__(condition)
        parts = list(parts_of(condition))
        costly = [part for part in parts if cost == "expensive" or why_expensive(part) is not None]
        cheap = [part for part in parts if not any(part is other for other in costly)]
        written_out = [part for part in cheap if not calls_python(part)]
        self.first = all_of(written_out) if written_out else None
        self.marked = [MeasuredCondition(part) for part in cheap if calls_python(part)]
        self.ordered = [MeasuredCondition(part) for part in costly if not can_fail(part)]
        self.last = [MeasuredCondition(part) for part in costly if can_fail(part)]

    def apply(self, batch: Batch) -> Batch:
        if self.first is not None:
            batch = self.kept(batch, predicate(self.first, batch))
        batch = batch.compact(self.storage)
        for each in (*self.marked, *sorted(self.ordered, key=lambda part: part.ns_per_dropped_row), *self.last):
            if not len(batch):
                break
            began = perf_counter_ns()
            kept = predicate(each.condition, batch)
            each.ns += perf_counter_ns() - began
            each.rows += len(batch)
            batch = self.kept(batch, kept).compact(self.storage)
            each.rows_kept += len(batch)
        return batch
