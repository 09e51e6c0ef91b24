"""Windows whose borders belong to them otherwise than by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whimbrel.batch import Batch, Schema, Ticks, check_reach
from whimbrel.clock import INF, MIN_TIME, TickUnit, check_positive, show_grid
from whimbrel.clock.window_borders import CLOSED, Closed, Label, WindowBorders
from whimbrel.errors import PlanError
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import (
    KnownInput,
    LineageRequest,
    Operator,
    Ordered,
    Properties,
    Reach,
    TimeGrid,
    WindowGrid,
    ceil_to,
    earlier,
    floor_to,
    later,
)


def check_closed(closed: Any, where: str) -> None:
    """Refuse what says nothing about borders."""
    if closed is not None and closed not in CLOSED:
        raise PlanError(f"closed must be 'left', 'right', 'both' or 'none', got {closed!r}.", where=where,
                        hint="Use 'both' for windows that have the events on both of their borders.")


@dataclass(frozen=True, kw_only=True, eq=False)
class ClosedWindow(Operator):
    """Round lifetimes to windows with other borders.

        time     0    5    10   15
        in            a                (a: an event at 5; size 5)
        out      a────                 (closed="right": the window is (0, 5])
        out      a─────────            (closed="both": the windows [0, 5] and [5, 10])
        out                            (closed="none": the windows (0, 5) and (5, 10) lack it)

    An event on a border belongs to the window that begins there (left), to the one that ends there (right), to both, or
    to none. Other events belong to the same windows as in :class:`whimbrel.operators.HoppingWindow`.

    Parameters
    ----------
    size : int, > 0
        Length of a window, in ticks.
    hop : int, > 0
        Ticks from one window to the next. Events in the gaps are dropped when hop > size.
    closed : {"left", "right", "both", "none"}
        Which borders belong to a window.
    offset : int
        Shifts the grid, in ticks.
    label : {"start", "end"}
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.
    remembers : bool
        Whether events retain their start before rounding.

    Notes
    -----
    The input duration is ignored. With "both" an event on a border lasts for the windows on both of its sides, and an
    aggregate cuts its results into windows. Shapes: at most one row out per row in. State: none.
    Source: docs/semantics.md, windows; the words are those of Polars and pandas.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [3, 5]}, time="at")
    >>> events.tumbling_window(5, closed="both").aggregate(n=wb.count()).collect().to_pylist()
    [{'start': 0, 'end': 5, 'n': 2}, {'start': 5, 'end': 10, 'n': 1}]
    """

    accepts_edges: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    size: int
    hop: int
    closed: Closed
    offset: int = 0
    label: Label = "start"
    unit: TickUnit = None
    remembers: bool = True

    @property
    def borders(self) -> WindowBorders:
        return WindowBorders(self.label, self.closed)

    @property
    def gaps(self) -> bool:
        """True if there are gaps between windows."""
        return self.hop > self.size

    @property
    def even(self) -> bool:
        """True if each event lasts for one window."""
        return self.gaps or (self.borders.one_sided and self.size % self.hop == 0)

    @property
    def late_start(self) -> int:
        """Ticks from an event to the time that is rounded."""
        return 0 if self.gaps and not self.borders.one_sided else self.borders.late_start

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()
        check_positive(self.unit, where=where, size=self.size, hop=self.hop)
        if self.label not in ("start", "end"):
            raise PlanError(f"label must be 'start' or 'end', got {self.label!r}.", where=where,
                            hint="Use 'end' for the time at which the result is settled.")
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        grid = WindowGrid(self.size, self.hop, self.offset, self.label, shared=self.borders.shared and not self.gaps)
        return Properties(causal=upstream[0].causal and self.label == "end", packed=upstream[0].packed, grid=grid,
                          duration=self.size if self.even else None,
                          time_grid=None if self.size % self.hop else TimeGrid(self.hop, self.offset))

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return known[0].ordered

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    @property
    def _longest(self) -> int:
        return self.size if self.even else self.size + self.hop

    def reach(self, *inputs: Reach) -> Reach | None:
        if self.label == "end":
            return inputs[0].wider(self.hop + 1, 0, self._longest)
        return inputs[0].wider(0, self.hop + 1, self._longest)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        first = wanted.start if wanted.starting else earlier(wanted.start, self._longest - 1)
        first = ceil_to(first, self.hop, self.offset)
        last = floor_to(earlier(wanted.end, 1), self.hop, self.offset)
        if self.label == "end":
            first, last = earlier(first, self.hop - 1), later(last, 1)
        else:
            last = later(last, self.hop)
        return (wanted.starts(earlier(first, self.late_start), earlier(last, self.late_start)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return ClosedKernel(self)

    def show(self) -> str:
        hop, size, *offset = show_grid(self.hop, self.offset, self.unit, self.size)
        parts = [size, *([hop] if self.hop != self.size else []), *offset]
        parts += [f"label={self.label!r}"] if self.label != "start" else []
        parts += [f"closed={self.closed!r}"]
        return f"{'tumbling' if self.hop == self.size else 'hopping'}_window({', '.join(parts)})"


class ClosedKernel(Stateless):
    """Rounds starts and ends to the grid, those on a border by what it belongs to."""

    def __init__(self, window: ClosedWindow) -> None:
        self.window = window

    def apply(self, batch: Batch) -> Batch:
        window = self.window
        batch = starts_only(batch)
        check_reach(batch, window.size + window.hop + abs(window.offset) + 1, window.show())
        if window.gaps:
            batch = batch.take(np.flatnonzero(self._within(batch.sync)))
        start = self._snap(batch.sync + window.late_start)
        began = batch.first_start if window.remembers else None
        if window.even:
            return batch.having(sync=start, ends=window.size, ids=None, began=began)
        whole = 0 if window.size % window.hop else window.size
        end = self._snap(batch.sync + window.borders.late_end + window.size - whole) + whole
        rows = batch.having(sync=start, ends=end, ids=None, began=began)
        return rows.take(np.flatnonzero(start < end)) if window.closed == "none" else rows

    def _within(self, times: Ticks) -> NDArray[np.bool_]:
        """Which events are in a window."""
        window = self.window
        away = np.abs(times - self._snap(times + window.late_start))
        last = window.size if window.closed == "both" or window.late_start else window.size - 1
        return (away <= last) & (away > 0) if window.closed == "none" else away <= last

    def _snap(self, time: Ticks) -> Ticks:
        window = self.window
        if window.label == "start":
            return time - (time - window.offset) % window.hop
        return time + (window.offset - time) % window.hop

    def output_watermark(self, watermark: int) -> int:
        if watermark in (INF, MIN_TIME):
            return watermark
        window = self.window
        time = watermark + window.late_start
        if window.label == "start":
            return time - (time - window.offset) % window.hop
        return time + (window.offset - time) % window.hop
