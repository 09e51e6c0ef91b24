"""Make a monotone function of event time the event time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.expr import Expr
from whimbrel.expr.monotone import NoOrder, ValueOrder, order_of
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.lifetimes.lifetime import check_time, times
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, fluent

_EVENT_TIME = {"start_time": ValueOrder("increasing", strict=True)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Retime(Operator):
    """Make an increasing function of event time the event time.

        time     0    5    10   15
        in         a    b  c            (points at 2, 7, 10)
        out      ab                     ((start_time() - 2) // 6: two points at 0, one at 1)
                  c

    Each event becomes a point at the new time. The watermark passes through the function too. A group of the results is
    complete once the watermark of the input has passed all its events, also where no event follows.

    Parameters
    ----------
    start : Expr
        Increasing function of ``start_time()``. Monotone analysis proves it.

    Notes
    -----
    Shapes: one row out per row in. State: none. Source: ordered attributes of Gigascope (Cranor et al., SIGMOD 2003),
    section 2.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [2, 7, 10]}, time="at")
    >>> events.retime((wb.start_time() - 2) // 6).aggregate(n=wb.count()).collect().to_pylist()
    [{'start': 0, 'end': 1, 'n': 2}, {'start': 1, 'end': 2, 'n': 1}]
    """

    row_by_row: ClassVar[bool] = True
    accepts_edges: ClassVar[bool] = True

    start: Expr

    def schema(self, *upstream: Schema) -> Schema:
        check_time(self.start, upstream[0], where=self.show())
        found = order_of(self.start, upstream[0], _EVENT_TIME)
        if isinstance(found, NoOrder):
            raise ExpressionError(f"retime() needs an increasing function of start_time(), and {found.part} "
                                  f"{found.reason}.", where=self.show(),
                                  hint="Add, multiply and divide by literals, or round down.")
        if found.direction == "decreasing":
            raise ExpressionError("retime() needs an increasing function of start_time(), and this one falls.",
                                  where=self.show(), hint="Multiply it by -1.")
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(duration=1, causal=False)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.always(),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return RetimeKernel(self.start, upstream[0].select(()), self.show())

    def show(self) -> str:
        return f"retime({self.start.show()})"


@fluent
def retime(schema: Schema, start: Expr) -> Retime:
    """Make an increasing function of event time the event time. See :class:`whimbrel.operators.Retime`.

    Parameters
    ----------
    start : Expr
        Such as ``(wb.start_time() + 30) // 60``.
    """
    if not isinstance(start, Expr):
        raise ExpressionError(f"start must be an expression, got {start!r}.", where=f"retime({start!r})",
                              hint="Use a function of wb.start_time().")
    return Retime(start=start)


class RetimeKernel(Stateless):
    """Computes the new times of rows and watermarks alike."""

    def __init__(self, start: Expr, schema: Schema, where: str) -> None:
        self.start, self.schema, self.where = start, schema, where

    def apply(self, batch: Batch) -> Batch:
        rows = starts_only(batch.compact())
        start, known = times(self.start, rows, where=self.where)
        if not known.all():
            raise KernelError(f"The new time of the event at {rows.sync[~known][0]} is null.", where=self.where,
                              hint="Use a function that has a value at all times.")
        return rows.having(sync=start, ends=1, ids=None)

    def output_watermark(self, watermark: int) -> int:
        if watermark in (INF, MIN_TIME):
            return watermark
        moment = Batch(self.schema, np.array([watermark]), 1, ())
        try:
            start, _ = times(self.start, moment, where=self.where)
        except KernelError:  # an explicit watermark far away: no row can have such a time
            return self.watermark
        return int(start[0])
