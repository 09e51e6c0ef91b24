"""Sliding windows of months, quarters and years."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whimbrel.batch import Batch, Schema
from whimbrel.clock import TickUnit, format_instant
from whimbrel.clock.calendar_grid import CalendarGrid, instants, shown_by_clocks
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.errors import KernelError
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach
from whimbrel.temporal.bounds import HERE


@dataclass(frozen=True, kw_only=True, eq=False)
class CalendarSlidingWindow(Operator):
    """Keep each event active for months, quarters or years.

        time     30   58   59             (days of 1970; size 1mo)
        in       a                        (a: on 31 January)
        out      a────                    (a: until 28 February, at the same time of day)

    A day that the month does not have becomes its last one. An end that the clock skips is the first moment after it,
    and of one that comes twice the first is taken.

    Parameters
    ----------
    size : CalendarSpan
    zone : str
    unit : {"s", "ms", "us", "ns"}

    Notes
    -----
    The input duration is ignored. Shapes: one row out per row in. State: none. Source: docs/semantics.md, windows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import whimbrel as wb
    >>> at = pa.array([1_706_700_000], pa.timestamp("s", "Europe/Berlin"))
    >>> row, = wb.from_arrow(pa.table({"at": at}), time="at").sliding_window("1mo").collect().to_pylist()
    >>> print(row["start"], "to", row["end"])
    2024-01-31 12:20:00+01:00 to 2024-02-29 12:20:00+01:00
    """

    accepts_edges: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    size: CalendarSpan
    zone: str
    unit: TickUnit

    @property
    def grid(self) -> CalendarGrid:
        """The days of the zone."""
        return CalendarGrid(CalendarSpan(1, "d"), self.zone, self.unit)

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=upstream[0].causal, packed=upstream[0].packed, sampling=upstream[0].sampling)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        return HERE.reach_of_starts(inputs[0], (self.size.longest + 1) * self.grid.day)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (HERE.starts(wanted, (self.size.longest + 1) * self.grid.day),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return CalendarSlidingKernel(self)

    def show(self) -> str:
        zone = "" if self.zone == "UTC" else f", timezone={self.zone!r}"
        return f"sliding_window({self.size.show()!r}{zone})"


class CalendarSlidingKernel(Stateless):
    """Reads the clock at each start, and finds when it shows the same time in a later month."""

    def __init__(self, window: CalendarSlidingWindow) -> None:
        self.window = window

    def apply(self, batch: Batch) -> Batch:
        batch = starts_only(batch)
        if not len(batch):
            return batch
        window, grid, times = self.window, self.window.grid, batch.sync
        first, last = grid.range
        low, high = int(times.min()), int(times.max())
        if low < first or high > last - (window.size.longest + 2) * grid.day:
            raise KernelError(f"A calendar window must stay within years 1 to 9999 and the time unit, got a row at "
                              f"{format_instant(low if low < first else high, grid.unit, None)}.", where=window.show(),
                              hint="Remove such rows first with where(...).")
        walls = shown_by_clocks(times, window.zone, window.unit)
        days = walls // grid.day
        later = window.size.after(days) * grid.day + (walls - days * grid.day)
        return batch.having(ends=instants(later, window.zone, window.unit), ids=None)
