"""Make an ordered column or function of time the event time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import Expr, columns_of, type_of
from whimbrel.expr.monotone import NoOrder, ValueOrder, order_of
from whimbrel.kernels import Kernel
from whimbrel.operators.lifetimes.retime_kernel import OrderedRetimeKernel, RetimeKernel, WatermarkFunction
from whimbrel.plan import KnownInput, LineageRequest, Operator, Ordered, OrderedColumn, Properties, fluent, orders

_EVENT_TIME = {"start_time": ValueOrder("increasing", strict=True)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Retime(Operator):
    """Make an ordered column or function of time the event time.

        time     0    5    10   15
        in         a    b  c            (points at 2, 7, 10)
        out      ab                     ((start_time() - 2) // 6: two points at 0, one at 1)
                  c

    Each event becomes a point at the new time. The watermark passes through a function of event time, so that a group
    is complete once the watermark of the input has passed all its events, also where no event follows. With an ordered
    column (``assume(increasing=...)``) the watermark is its largest value so far less its band. Events wait until then.

        seq      3    1    5    4       (banded 2: the watermark is 1, 1, 3, 3)
        out      1    3    4    5

    Parameters
    ----------
    start : Expr
        Increasing function of ``start_time()`` or of ordered columns, an integer or a timestamp. Monotone analysis
        proves it.
    band : int
        So much the new times may be against their order, in ticks.

    Notes
    -----
    Shapes: one row out per row in. State: none, or with columns or clocks that go back the rows that later ones may
    precede.
    Source: ordered attributes of Gigascope (Cranor et al., SIGMOD 2003), section 2.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [2, 7, 10], "seq": [100, 205, 204]}, time="at")
    >>> events.retime((wb.start_time() - 2) // 6).aggregate(n=wb.count()).collect().to_pylist()
    [{'start': 0, 'end': 1, 'n': 2}, {'start': 1, 'end': 2, 'n': 1}]
    >>> numbered = events.assume(increasing="seq", band=1)
    >>> numbered.retime(wb.col.seq).tumbling_window(100).aggregate(n=wb.count()).collect().to_pylist()
    [{'start': 100, 'end': 200, 'n': 1}, {'start': 200, 'end': 300, 'n': 2}]
    """

    row_by_row: ClassVar[bool] = True
    accepts_edges: ClassVar[bool] = True

    start: Expr
    band: int = 0

    def schema(self, *upstream: Schema) -> Schema:
        type_ = type_of(self.start, upstream[0], where=self.show())
        if pa.types.is_timestamp(type_):
            return Schema(upstream[0].fields, type_.unit, type_.tz)
        if not pa.types.is_integer(type_) or type_ == pa.uint64():
            raise ExpressionError(f"A time must be an integer or a timestamp, got {self.start.show()} of type {type_}.",
                                  where=self.show(), hint="Round it, or cast it to int64.")
        return Schema(upstream[0].fields)

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(duration=1, causal=False, own_clock=upstream[0].causal or upstream[0].own_clock)

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        """Ordered columns after the change of the time."""
        columns = columns_of(self.start)
        if not columns:
            return known[0].ordered
        alone = len(columns) == 1 and "start_time()" not in self.start.show()
        return tuple(OrderedColumn(each.name, ValueOrder(each.order.direction)) for each in known[0].ordered
                     if alone and each.name in columns)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted | columns_of(self.start),)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.always(),)

    def kernel(self, *upstream: Schema) -> Kernel:
        schema = self.schema(*upstream)
        if not columns_of(self.start):
            clock = WatermarkFunction(self.start, upstream[0].select(()), self.show())
            if not self.band:
                return RetimeKernel(self.start, clock, schema, self.show())
            return OrderedRetimeKernel(self.start, schema, self.band, self.show(), clock)
        return OrderedRetimeKernel(self.start, schema, self.band, self.show())

    def show(self) -> str:
        return f"retime({self.start.show()})"


@fluent
def retime(schema: Schema, start: Expr, *, known: Properties) -> Retime:
    """Make an ordered column or function of time the event time.

    See :class:`whimbrel.operators.Retime`.

    Parameters
    ----------
    start : Expr
        Such as ``(wb.start_time() + 30) // 60``, or ``col.seq`` after ``assume(increasing="seq")``. Of a decreasing
        column, its negative value.
    """
    if not isinstance(start, Expr):
        raise ExpressionError(f"start must be an expression, got {start!r}.", where=f"retime({start!r})",
                              hint="Use a function of wb.start_time(), or an ordered column.")
    where = f"retime({start.show()})"
    type_of(start, schema, where=where)
    found = order_of(start, schema, {**orders(known.ordered), **_EVENT_TIME})
    needs = "retime() needs an increasing function of start_time() or of ordered columns"
    if isinstance(found, NoOrder):
        raise PlanError(f"{needs}, and {found.part} {found.reason}.", where=where, hint=_hint(start, known))
    if found.direction == "decreasing":
        raise PlanError(f"{needs}, and this one falls.", where=where, hint="Multiply it by -1.")
    return Retime(start=start, band=found.band)


def _hint(start: Expr, known: Properties) -> str:
    """What to do about a function in no order."""
    unordered = sorted(columns_of(start) - {each.name for each in known.ordered})
    if unordered:
        return f"Declare the order before, such as assume(increasing={unordered[0]!r})."
    return "Add, multiply and divide by literals, or round down."
