"""Hopping windows with a larger hop under overload."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from whimbrel.batch import Batch, Schema, Ticks, check_reach
from whimbrel.clock import INF, MIN_TIME, quote_ticks
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.operators.windows.window import HoppingWindow
from whimbrel.plan import KnownInput, LineageRequest, Operator, OverloadSignal, Properties, TimeGrid, earlier, later


@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptiveWindow(Operator):
    """Hopping windows with a larger hop while their source signals overload.

        time     0    5    10   15   20   25   30   35   40
        in         a              b        c                   (size 20, hop 5; overload signal: hop 10)
        out      a───────────────────                        (a: [0, 20))
                                b──────────────              (b: [15, 30))
                                     c───────────────────    (c: [20, 40): [20, 30) is wide since event a)

    Time is divided into periods of the wider hop. A whole period has either the wider hop or the usual hop, for the
    starts and the ends of windows. The kernel decides this one window size before the period. All windows that it
    emits are therefore exact, and only windows between them are left out.

    Parameters
    ----------
    window : HoppingWindow
        The window of the plan. Its size is a multiple of the wider hop, which is a multiple of its own hop.
    relief : OverloadSignal

    Notes
    -----
    The decision comes one window size earlier because the end of a row's lifetime must be known when the row arrives.
    Shapes: one row out per row in. State: the hop of each period for which rows can follow.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel.operators import AdaptiveWindow
    >>> from whimbrel.plan import OverloadSignal
    >>> events = wb.from_arrow({"at": [2, 17, 26]}, time="at")
    >>> relief = OverloadSignal(hop=10, active=True)
    >>> window = AdaptiveWindow(window=events.hopping_window(20, 5).node.op, relief=relief)
    >>> rows, = window.kernel(events.schema).push(next(iter(events.sources[0].read([]))))
    >>> list(zip(rows.sync.tolist(), rows.other.tolist())), relief.left_out
    ([(0, 20), (15, 30), (20, 40)], 3)
    """

    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True
    accepts_edges: ClassVar[bool] = True

    window: HoppingWindow
    relief: OverloadSignal

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = self.window.properties(*upstream)
        return replace(known, duration=None, grid=None, time_grid=TimeGrid(self.window.hop, self.window.offset))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        span = self.window.size + self.relief.hop
        return (wanted.starts(earlier(wanted.start, span), later(wanted.end, span)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return WideningKernel(self)

    def show(self) -> str:
        return f"{self.window.show()} or hop {quote_ticks(self.relief.hop, self.window.unit)}"


class WideningKernel(Stateless):
    """Decides for each stretch whether it is wide when a row first begins in it, or a window before it."""

    def __init__(self, widening: AdaptiveWindow) -> None:
        self.window, self.relief = widening.window, widening.relief
        self.wide: dict[int, bool] = {}

    def fork(self) -> Self:
        clone = super().fork()
        clone.relief = replace(self.relief)  # what a look at the answer leaves out is not left out
        return clone

    def apply(self, batch: Batch) -> Batch:
        window = self.window
        batch = starts_only(batch)
        check_reach(batch, window.size + self.relief.hop + abs(window.offset), window.show())
        if not len(batch):
            return batch
        before = batch.sync < batch.sync.min() + window.size  # nobody could decide for them in time
        self._decide(batch.sync[before], relief=False)
        self._decide(batch.sync + window.size, relief=self.relief.active)
        self._decide(batch.sync, relief=False)
        return batch.having(sync=self._rounded(batch.sync), ends=self._rounded(batch.sync + window.size), ids=None,
                            began=batch.first_start if window.remembers else None)

    def _decide(self, time: Ticks, *, relief: bool) -> None:
        """Of the stretches of these times, those that are new: they are wide if there is to be relief."""
        for period in map(int, np.unique(self._on(self.relief.hop, time))):
            if period not in self.wide:
                self.wide[period] = relief
                self.relief.left_out += relief * (self.relief.hop // self.window.hop - 1)

    def _rounded(self, time: Ticks) -> Ticks:
        """Times on the grid, or on the wider one in stretches that are wide."""
        wider = self._on(self.relief.hop, time)
        periods, index = np.unique(wider, return_inverse=True)
        wide = np.array([self.wide[int(period)] for period in periods], np.bool_)[index]
        return np.where(wide, wider, self._on(self.window.hop, time))

    def output_watermark(self, watermark: int) -> int:
        if watermark in (INF, MIN_TIME):
            return watermark
        time: Any = np.array([watermark], np.int64)
        first, period = int(self._on(self.window.hop, time)[0]), int(self._on(self.relief.hop, time)[0])
        self.wide = {each: wide for each, wide in self.wide.items() if each >= period}
        return period if self.wide.get(period) else first

    def _on(self, hop: int, time: Ticks) -> Ticks:
        window = self.window
        if window.label == "start":
            return time - (time - window.offset) % hop
        return time + (window.offset - time) % hop
