"""Cut lifetimes at a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Schema, check_reach
from whimbrel.clock import INF, Duration, TickUnit, duration_ticks, grid_offset, show_grid
from whimbrel.errors import KernelError, PlanError
from whimbrel.kernels import Kernel
from whimbrel.plan import Beat, Exact, Given, Operator, Properties, Reach, Wanted, ceil_to, floor_to, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class Chop(Operator):
    """Cut each event at the points of a grid, so that no piece reaches over one.

        time     0    5    10   15
        in         a────────           (a: [2, 11))
        out        a──                 (period 5: [2, 5), [5, 10), [10, 11))
                      a────
                           a

    Parameters
    ----------
    period : int, > 0
        Ticks from one point of the grid to the next.
    offset : int
        Where the grid begins, in ticks. Default: the epoch; a Monday for a period in weeks (``"1w"``).
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Pieces are made as time passes, so an event without a known end is cut for as long as the stream goes on; when it
    ends, such an event is a KernelError. Shapes: a row for each period that an event is part of. State: active events.
    :meth:`stitch` is the inverse. Source: Trill (VLDB 2015), section 3.1 (Chop).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [2], "until": [11], "x": [3]}, time="at", end="until").select("x")
    >>> events.chop(5).collect().to_pylist()
    [{'start': 2, 'end': 5, 'x': 3}, {'start': 5, 'end': 10, 'x': 3}, {'start': 10, 'end': 11, 'x': 3}]
    """

    period: int
    offset: int = 0
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        if self.period <= 0:
            raise PlanError("A period must be longer than nothing.", where=self.show(),
                            hint='such as "5m", or 5 where time counts plain integers')
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        beat = upstream[0].beat
        return Properties(causal=upstream[0].causal, apart=upstream[0].no_period(),
                          beat=None if beat is None else beat.joined(Beat(self.period, self.offset)))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        known = inputs[0]
        return None if known.longest is None else known.wider(known.longest, 0, min(known.longest, self.period))

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: Wanted, *inputs: Given) -> tuple[Wanted, ...]:
        beat, grid = inputs[0].properties.beat, Beat(self.period, self.offset)
        if beat is not None and beat.on(grid):  # every piece is a cell of the grid
            start = floor_to(wanted.start, self.period, self.offset)
            return (wanted.during(start, ceil_to(wanted.end, self.period, self.offset), Exact.VALUES),)
        exact = Exact.LIFETIMES if wanted.starting or wanted.exact else Exact.VALUES
        return (wanted.during(wanted.start, wanted.end, exact),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return ChopKernel(self, upstream[0])

    def show(self) -> str:
        return f"chop({', '.join(show_grid(self.period, self.offset, self.unit))})"


@fluent
def chop(schema: Schema, period: Duration, *, offset: Duration | None = None) -> Chop:
    """Cut each event at a grid of `period`. See :class:`whimbrel.operators.Chop`."""
    where = f"chop({period!r})"
    return Chop(period=duration_ticks(period, schema.unit, where=where),
                offset=grid_offset(period, schema.unit, offset, where=where), unit=schema.unit)


class ChopKernel(Kernel):
    """Holds what is left of each event."""

    def __init__(self, chop: Chop, schema: Schema) -> None:
        self.chop = chop
        self.rest = Batch.empty(schema)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        check_reach(batch, 2 * self.chop.period + abs(self.chop.offset), self.chop.show(), ends=True)
        self.rest = Batch.concat([self.rest, batch])
        return self._pieces_before(int(batch.sync[-1]))

    def advance(self, frontier: int, port: int = 0) -> list[Batch]:
        self.frontier = frontier
        if frontier == INF and (endless := self.rest.other == INF).any():
            start = pa.scalar(int(self.rest.sync[endless][0])).cast(self.rest.schema.time_type).as_py()
            raise KernelError(f"An event that is still true at {start} has no known end, and the stream ended.",
                              where=self.chop.show(), hint="end it before, with clip_duration(...) or where(...)")
        return self._pieces_before(frontier)

    @property
    def buffered_rows(self) -> int:
        return len(self.rest)

    def _pieces_before(self, time: int) -> list[Batch]:
        """Cut off the pieces that start before a time."""
        due = np.flatnonzero(self.rest.sync < time)
        if not len(due):
            return []
        period, offset = self.chop.period, self.chop.offset
        rows = self.rest.take(due)
        last = np.minimum(rows.other, time) - 1  # the last moment at which a piece may start
        first_beat = rows.sync - (rows.sync - offset) % period
        count = (last - first_beat) // period + 1
        begins = np.repeat(np.cumsum(count) - count, count)
        beat = np.repeat(first_beat, count) + (np.arange(len(begins)) - begins) * period
        start = np.maximum(np.repeat(rows.sync, count), beat)
        end = np.minimum(np.repeat(rows.other, count), beat + period)
        order = np.argsort(start, kind="stable")
        which = np.repeat(np.arange(len(rows)), count)[order]
        pieces = replace(rows.take(which), sync=start[order], ends=end[order], ids=None)
        left = np.flatnonzero(first_beat + count * period < rows.other)
        later = self.rest.take(np.flatnonzero(self.rest.sync >= time))
        begun = rows.having(sync=first_beat + count * period).take(left)
        self.rest = Batch.concat([begun, later])
        return [pieces]
