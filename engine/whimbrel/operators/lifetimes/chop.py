"""Cut lifetimes at a time grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Schema, Ticks, check_reach
from whimbrel.clock import INF, MIN_TIME, Duration, TickUnit, check_positive, duration_ticks, grid_offset, show_grid
from whimbrel.errors import KernelError
from whimbrel.kernels import PORTION_ROWS, Kernel
from whimbrel.plan import (
    Exact,
    KnownInput,
    LineageRequest,
    Operator,
    Properties,
    Reach,
    TimeGrid,
    ceil_to,
    floor_to,
    fluent,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Chop(Operator):
    """Cut each event at the points of a time grid.

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
        Shifts the grid, in ticks. It begins at the epoch, and on a Monday for a period in weeks (``"1w"``).
    asked : str
        What the user wrote, if that was not a call of chop.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Pieces are made as time passes. An event without a known end is cut until the stream ends, and is then a
    KernelError. Very many pieces come in portions, so that a filter or an aggregate after it
    needs no memory for all of them. A result with more pieces than fit in memory is a KernelError that names the
    event. Shapes: a row for each period that an event is part of. State: active events.
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
    asked: str = ""

    def schema(self, *upstream: Schema) -> Schema:
        check_positive(self.unit, where=self.show(), period=self.period)
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        time_grid = upstream[0].time_grid
        return Properties(causal=upstream[0].causal, apart=upstream[0].no_period(), points=upstream[0].points,
                          time_grid=None if time_grid is None else time_grid.joined(TimeGrid(self.period, self.offset)))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        known = inputs[0]
        return None if known.longest is None else known.wider(known.longest, 0, min(known.longest, self.period))

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        time_grid, grid = inputs[0].properties.time_grid, TimeGrid(self.period, self.offset)
        if time_grid is not None and time_grid.on(grid):  # every piece is a cell of the grid
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


_PIECES_AT_ONCE = 8
"""As many pieces of each event, on average, are made in one portion however many events there are."""


class ChopKernel(Kernel):
    """Holds what is left of each event, and cuts off pieces in the order of time: all that start before `cut`."""

    def __init__(self, chop: Chop, schema: Schema) -> None:
        self.chop = chop
        self.rest = Batch.empty(schema)
        self.input_watermark = self.due = self.cut = MIN_TIME
        self.longest = [0, 0]

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        check_reach(batch, 2 * self.chop.period + abs(self.chop.offset), self.chop.show(), ends=True)
        self.rest = Batch.concat([self.rest, batch])
        self.due = max(self.due, int(batch.sync[-1]))
        return self.next_portion()

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.input_watermark = watermark
        if watermark == INF and (endless := self.rest.other == INF).any():
            at = self._shown(int(self.rest.sync[endless][0]))
            raise KernelError(f"Cannot chop the event that is still active at {at} because its end is unknown.",
                              where=self.chop.asked or self.chop.show(),
                              hint="Limit it with hold(limit=...) or clip_duration(...)." if self.chop.asked else
                              "End it with clip_duration(...), or drop it with where(...).")
        self.due = max(self.due, watermark)
        return self.next_portion()

    @property
    def more(self) -> bool:
        return self.cut < self.due

    def next_portion(self) -> list[Batch]:
        time = self._portion()
        pieces = self._pieces_before(time)
        self.cut = self.due if time == self.due or not len(self.rest) else max(time, int(self.rest.sync.min()))
        self.watermark = min(self.input_watermark, self.cut) if self.more else self.input_watermark
        return pieces

    @property
    def growing(self) -> str:
        start, end = self.longest
        pieces = (end - start) // self.chop.period + 1
        return f"an event that starts at {self._shown(start)} has {pieces:,} pieces" if end > start else ""

    @property
    def buffered_rows(self) -> int:
        return len(self.rest)

    def _remember_longest(self) -> None:
        known = np.where(self.rest.other == INF, self.rest.sync, self.rest.other)
        lasts = known.astype(np.float64) - self.rest.sync
        row = int(lasts.argmax())
        if lasts[row] > self.longest[1] - self.longest[0]:
            self.longest = [int(self.rest.sync[row]), int(known[row])]

    def _shown(self, time: int) -> str:
        try:
            return str(pa.scalar(time).cast(self.rest.schema.time_type).as_py())
        except (OverflowError, ValueError):  # a year that Python does not have
            return str(time)

    def _counts(self, start: Ticks, end: Ticks, time: int) -> tuple[Ticks, Ticks]:
        """Of each row that starts before a time: the grid point it is in, and how many pieces start before the time."""
        first_point = start - (start - self.chop.offset) % self.chop.period
        last = np.minimum(end, time) - 1  # the last moment at which a piece may start
        # Over more than half of time the distance is more than int64 holds, but never twice as much.
        with np.errstate(over="ignore"):
            pieces = (last - first_point).view(np.uint64) // np.uint64(self.chop.period) + np.uint64(1)
        return first_point, np.minimum(pieces, np.uint64(INF)).astype(np.int64)

    def _portion(self) -> int:
        """The time before which about as many pieces start as may be given at once, or as start first if more do."""
        begun = self.rest.sync < self.due
        start, end = self.rest.sync[begun], self.rest.other[begun]
        limit = max(PORTION_ROWS, _PIECES_AT_ONCE * len(start))
        if not len(start):
            return self.due
        lasts = np.minimum(end, self.due).sum(dtype=np.float64) - start.sum(dtype=np.float64)
        if lasts / self.chop.period + 2 * len(start) <= limit:  # no fewer than there are
            return self.due
        if self._counts(start, end, self.due)[1].sum(dtype=np.float64) <= limit:
            return self.due
        self._remember_longest()
        low, high = int(start.min()) + 1, self.due
        while high - low > 1:
            middle = (low + high) // 2
            begun = start < middle
            if self._counts(start[begun], end[begun], middle)[1].sum(dtype=np.float64) <= limit:
                low = middle
            else:
                high = middle
        return low

    def _pieces_before(self, time: int) -> list[Batch]:
        """Cut off the pieces that start before a time."""
        due = np.flatnonzero(self.rest.sync < time)
        if not len(due):
            return []
        period = self.chop.period
        rows = self.rest.take(due)
        first_point, count = self._counts(rows.sync, rows.other, time)
        begins = np.repeat(np.cumsum(count) - count, count)
        point = np.repeat(first_point, count) + (np.arange(len(begins)) - begins) * period
        start = np.maximum(np.repeat(rows.sync, count), point)
        end = np.minimum(np.repeat(rows.other, count), point + period)
        order = np.argsort(start, kind="stable")
        which = np.repeat(np.arange(len(rows)), count)[order]
        pieces = rows.take(which).having(sync=start[order], ends=end[order], ids=None)
        left = np.flatnonzero(first_point + count * period < rows.other)
        later = self.rest.take(np.flatnonzero(self.rest.sync >= time))
        begun = rows.having(sync=first_point + count * period).take(left)
        self.rest = Batch.concat([begun, later])
        return [pieces]
