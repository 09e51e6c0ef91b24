"""Round lifetimes to a window grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema, Ticks, check_reach
from whimbrel.clock import (
    INF,
    MIN_TIME,
    Duration,
    TickUnit,
    check_positive,
    duration_ticks,
    grid_offset,
    quote_ticks,
    show_grid,
)
from whimbrel.errors import PlanError
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, TimeGrid, ceil_to, earlier, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantize(Operator):
    """Round the lifetime of each event to all windows that it overlaps.

        time     0    5    10   15   20
        in       ..a───────             (a: [2, 10))
        out      a──────────────        (size 10, hop 5: [0, 15))
        out      ..a────────────        (the same with progress=1: [2, 15))

    The start goes down to the grid of `hop`; the end goes up to it, but the event lasts `size` at least. A result for
    [T, T + hop) includes the events that start in [T + hop - size, T + hop), and those still active in [T, T + hop).
    With `progress` the start goes down to that finer grid only. Results inside a window then cover the part of it that
    has passed, and are updated every `progress` ticks.

    Parameters
    ----------
    size : int, > 0
        Length of a window, in ticks.
    hop : int, > 0
        Ticks from one window to the next; at most `size`.
    offset : int
        Shifts the grid, in ticks. It begins at the epoch, and on a Monday for a hop in weeks (``"1w"``).
    progress : int, optional
        Ticks from one partial result to the next; divides `hop`.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    An event without a known end still has none. When size is not a multiple of hop, ends lie on the grid of the
    ends of windows. Shapes: one row out per row in. State: none.
    Source: QuantizeLifetime and ProgressiveQuantizeLifetime of Trill's open source.

    Examples
    --------
    >>> import whimbrel as wb
    >>> calls = wb.from_arrow({"at": [2, 11], "until": [10, 12]}, time="at", end="until")
    >>> calls.quantize(5, 5).aggregate(n=wb.count()).collect().to_pylist()
    [{'start': 0, 'end': 10, 'n': 1}, {'start': 10, 'end': 15, 'n': 1}]
    >>> calls.progressive_window(5, 5, 1).aggregate(n=wb.count()).collect().to_pylist()
    [{'start': 2, 'end': 10, 'n': 1}, {'start': 11, 'end': 15, 'n': 1}]
    """

    row_by_row: ClassVar[bool] = True

    size: int
    hop: int
    offset: int = 0
    progress: int | None = None  # word allowed: the progress of a window, from Trill
    unit: TickUnit = None

    @property
    def start_grid(self) -> int:
        """Ticks between the points that starts go down to."""
        return self.hop if self.progress is None else self.progress

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()
        check_positive(self.unit, where=where, size=self.size, hop=self.hop, progress=self.progress)
        if self.hop > self.size:
            raise PlanError(f"hop must be at most size, got {quote_ticks(self.hop, self.unit)}: gaps between windows "
                            "would not cover an event.", where=where,
                            hint="Use a smaller hop, or hopping_window.")
        if self.hop % self.start_grid:
            raise PlanError(f"progress must divide hop, got {quote_ticks(self.start_grid, self.unit)}: only then "
                            "partial results meet the windows.", where=where,
                            hint=f"Use a divisor, such as progress={quote_ticks(self.hop, self.unit)}.")
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        time_grid = None if self.size % self.hop else TimeGrid(self.start_grid, self.offset)
        return Properties(time_grid=time_grid, causal=upstream[0].causal and self.start_grid == 1)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        start, end = (ceil_to(time, self.start_grid, self.offset) for time in (wanted.start, wanted.end))
        if wanted.starting:
            return (wanted.starts(start, end, wanted.exact),)
        return (wanted.during(earlier(wanted.start, self.size), end, Exact.LIFETIMES),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return QuantizeKernel(self)

    def show(self) -> str:
        hop, size, *offset = show_grid(self.hop, self.offset, self.unit, self.size)
        parts = [size, hop, *([] if self.progress is None else [quote_ticks(self.progress, self.unit)]), *offset]
        return f"{'quantize' if self.progress is None else 'progressive_window'}({', '.join(parts)})"


@fluent
def quantize(schema: Schema, size: Duration, hop: Duration, *, offset: Duration | None = None) -> Quantize:
    """Round lifetimes to all windows that they overlap. See :class:`whimbrel.operators.Quantize`."""
    return _windows(f"quantize({size!r}, {hop!r})", schema, size=size, hop=hop, offset=offset)


@fluent
def progressive_window(schema: Schema, size: Duration, hop: Duration,
                       progress: Duration, *,  # word allowed: the progress of a window, from Trill
                       offset: Duration | None = None) -> Quantize:
    """Round lifetimes to windows with partial results, one every `progress`.

    See :class:`whimbrel.operators.Quantize`.
    """
    where = f"progressive_window({size!r}, {hop!r}, {progress!r})"
    return _windows(where, schema, size=size, hop=hop, progress=progress, offset=offset)


def _windows(where: str, schema: Schema, offset: Duration | None, **spans: Duration) -> Quantize:
    ticks: dict[str, Any] = {name: duration_ticks(span, schema.unit, where=where) for name, span in spans.items()}
    return Quantize(**ticks, offset=grid_offset(spans["hop"], schema.unit, offset, where=where), unit=schema.unit)


class QuantizeKernel(Stateless):
    """Rounds starts down and ends up."""

    def __init__(self, windows: Quantize) -> None:
        self.windows = windows

    def apply(self, batch: Batch) -> Batch:
        windows, other = self.windows, batch.other
        check_reach(batch, windows.size + windows.hop + abs(windows.offset), windows.show(), ends=True)
        ends = np.maximum(np.where(other == INF, batch.sync, other) + windows.hop - 1, batch.sync + windows.size)
        end = ends - (ends - windows.offset - windows.size) % windows.hop
        return batch.having(sync=self._start(batch.sync), ends=np.where(other == INF, INF, end), ids=None,
                            began=batch.first_start)

    def _start(self, time: Ticks) -> Ticks:
        return time - (time - self.windows.offset) % self.windows.start_grid

    def output_watermark(self, watermark: int) -> int:
        if watermark in (INF, MIN_TIME):
            return watermark
        return watermark - (watermark - self.windows.offset) % self.windows.start_grid
