"""Keep rows that satisfy a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Schema
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import Condition, Expr, check_text, columns_of, predicate, trace, type_of
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

    Notes
    -----
    Shapes: at most as many rows out as in, columns unchanged. State: none.
    Source: Trill (VLDB 2015), section 3.2.

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
        return WhereKernel(self.condition)

    def show(self) -> str:
        return f"where({self.condition.show()})"


@fluent
def where(schema: Schema, *conditions: Condition) -> Where:
    """Keep events for which every condition is true; null counts as false.

    Parameters
    ----------
    *conditions : Expr or callable
        Such as ``col.x > 3`` or ``lambda e: e.x > 3``.
    """
    if not conditions:
        raise PlanError("where() needs a condition.", where="where()", hint="Add one, such as where(col.x > 3).")
    whole, *others = (trace(condition, where="where()") for condition in conditions)
    for condition in (whole, *others):
        check_text(condition, schema.names, "where()")
    for other in others:
        whole = whole & other
    return Where(condition=whole)


class WhereKernel(Stateless):
    """Marks rows as absent; moves the rest together only when few are left, or where they stay."""

    def __init__(self, condition: Expr) -> None:
        self.condition = condition

    def apply(self, batch: Batch) -> Batch:
        kept = predicate(self.condition, batch)
        if batch.absent is not None:
            kept = kept & ~batch.absent
        rows = int(np.count_nonzero(kept))
        if rows == len(batch):
            return batch
        if 2 * rows > len(batch) and self.storage is None:
            return batch.with_absent(~kept)
        return selected_rows(batch, kept, rows, self.storage)
