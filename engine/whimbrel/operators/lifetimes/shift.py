"""Move all events in time by one amount."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Pulse, Schema, Ticks, check_reach
from whimbrel.clock import INF, MIN_TIME, TickUnit, quote_ticks
from whimbrel.errors import KernelError
from whimbrel.expr import col
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.lifetimes.alter_lifetime import AlterLifetime
from whimbrel.operators.lifetimes.lifetime import Span, span
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach, Sampling, TimeGrid, earlier, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class Shift(Operator):
    """Move each event by an amount. Its duration does not change.

        time     0    5    10
        in       a────                 (a: [0, 5))
        out         a────              (3: [3, 8))

    Parameters
    ----------
    amount : int
        Ticks to move by, not the time to move to. Negative is earlier, and needs look-ahead.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    An event without a known end still has none. An amount computed from columns gives an
    :class:`~whimbrel.operators.AlterLifetime`. Shapes: one row out per row in. State: none. Raises a KernelError when
    a time would leave the range of int64. Source: Trill (VLDB 2015), section 3.1 (ShiftEventLifetime).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0], "until": [5], "x": [2]}, time="at", end="until").select("x")
    >>> events.shift(3).collect().to_pylist()
    [{'start': 3, 'end': 8, 'x': 2}]
    """

    accepts_edges: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    amount: int
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        grid = None if known.grid is None else replace(known.grid, offset=known.grid.offset + self.amount)
        # The lookahead of an event that is early does not depend on a grid.
        time_grid = None if known.time_grid is None or self.amount < 0 else TimeGrid(known.time_grid.hop,
                                                                           known.time_grid.offset + self.amount)
        return Properties(intervals_only=known.intervals_only, duration=known.duration, grid=grid, time_grid=time_grid,
                          causal=known.causal and self.amount >= 0, starts_only=known.starts_only, apart=known.apart,
                          points=known.points, packed=known.packed, sampling=self._sampling(known.sampling))

    def _sampling(self, known: Sampling | None) -> Sampling | None:
        return known if known is None or known.phase is None else replace(known, phase=known.phase + self.amount)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0].shifted(self.amount)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (replace(wanted.same(), start=earlier(wanted.start, self.amount), end=earlier(wanted.end, self.amount)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return ShiftKernel(self)

    def show(self) -> str:
        return f"shift({quote_ticks(self.amount, self.unit)})"


@fluent
def shift(schema: Schema, amount: Span) -> Operator:
    """Move each event by an amount, later or (negative) earlier. See :class:`whimbrel.operators.Shift`.

    Parameters
    ----------
    amount : str, timedelta, int, Expr or callable
        An expression must keep the order of events.
    """
    by = span(amount, schema, where="shift()")
    if isinstance(by, int):
        return Shift(amount=by, unit=schema.unit)
    return AlterLifetime(start=col.start + by, unit=schema.unit)


class ShiftKernel(Stateless):
    """Moves both ends of every row, edges too."""

    def __init__(self, shift: Shift) -> None:
        self.shift = shift

    def apply(self, batch: Batch) -> Batch:
        ends = batch.ends
        if not isinstance(ends, int):
            ends = np.where(ends == INF, INF, self._moved(ends))
        times = batch.times
        if isinstance(times, Pulse):
            check_reach(batch, abs(self.shift.amount), self.shift.show())
            return batch.having(sync=times.shifted(self.shift.amount), ends=ends)
        return batch.having(sync=self._moved(times), ends=ends, gaps=batch.gaps)

    def _moved(self, times: Ticks) -> Ticks:
        amount = self.shift.amount
        known = times[times != INF]
        if len(known) and not MIN_TIME < min(int(known.min()), int(known.min()) + amount) <= max(
                int(known.max()), int(known.max()) + amount) < INF:
            raise KernelError("A shifted time leaves int64.", where=self.shift.show(), hint="Use a smaller amount.")
        with np.errstate(over="ignore"):  # only where there is no known end
            return times + amount

    def output_watermark(self, watermark: int) -> int:
        if watermark in (INF, MIN_TIME):
            return watermark
        return max(MIN_TIME, min(INF, watermark + self.shift.amount))
