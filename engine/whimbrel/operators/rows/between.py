"""Keep the events of a range of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF, TickUnit, format_instant
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, Reach


@dataclass(frozen=True, kw_only=True, eq=False)
class Between(Operator):
    """Keep the events that are active in a range of time.

        time     0    5    10   15   20
        in       a─────────
                           b─────────
                                     c─
        out      a─────────                (between(5, 12): lifetimes do not change)
                           b─────────

    The planner reads only the rows of each source on which these events depend.

    Parameters
    ----------
    start, end : int
        The range ``[start, end)``, in ticks.
    clip : bool
        Whether lifetimes are cut at the bounds.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.
    zone : str, optional
        Time zone, for printing.
    reads : tuple of str
        Why the planner reads all rows of a source, for ``explain()``.

    Notes
    -----
    Shapes: at most as many rows out as in, columns unchanged. State: none.
    Source: TiLT (ASPLOS 2023), section 4.3, where a query is evaluated for a range of time.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": range(100), "x": range(100)}, time="at", name="log")
    >>> sums = events.tumbling_window(10).aggregate(total=wb.sum(wb.col.x)).between(25, 40)
    >>> sums.collect().to_pylist()
    [{'start': 20, 'end': 30, 'total': 245}, {'start': 30, 'end': 40, 'total': 345}]
    >>> print(sums.explain().splitlines()[-1].strip())
    └─ log(x, 20 rows, part of 100 rows)
    """

    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    start: int
    end: int
    clip: bool = False
    unit: TickUnit = None
    zone: str | None = None
    reads: tuple[str, ...] = ()

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = replace(upstream[0], apart=upstream[0].no_period(), sampling=upstream[0].with_missing_samples())
        return replace(known, duration=None, grid=None, time_grid=None, starts_only=False,
                       sampling=None) if self.clip else known

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        known = inputs[0]
        if not self.clip:
            return known
        return None if known.longest is None else known.wider(known.longest, 0, min(known.longest,
                                                                                   self.end - self.start))

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        if self.clip:
            start = max(wanted.start, self.start)
            return (wanted.during(start, max(start, min(wanted.end, self.end)), Exact.LIFETIMES),)
        if wanted.start <= self.start and self.end <= wanted.end and not wanted.starting:
            return (wanted.during(self.start, self.end, Exact.LIFETIMES),)
        return (wanted.same(Exact.LIFETIMES),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return BetweenKernel(self.start, self.end, clip=self.clip)

    def notes(self, *upstream: Schema) -> tuple[str, ...]:
        return self.reads

    def show(self) -> str:
        return f"between({self._shown(self.start)}, {self._shown(self.end)})"

    def _shown(self, ticks: int) -> str:
        instant = format_instant(ticks, self.unit, self.zone)
        return repr(instant.isoformat()) if isinstance(instant, datetime) else str(ticks)


class BetweenKernel(Stateless):
    """Compares lifetimes with the range."""

    def __init__(self, start: int, end: int, *, clip: bool) -> None:
        self.start, self.end, self.clip = start, end, clip

    def apply(self, batch: Batch) -> Batch:
        batch = batch.compact()
        kept = (batch.sync < self.end) & (batch.other > self.start)
        rows, first = int(np.count_nonzero(kept)), int(kept.argmax()) if len(kept) else 0
        if rows < len(batch):
            batch = batch.slice(first, first + rows) if kept[first : first + rows].all() else batch.only(kept)
        if not self.clip:
            return batch
        return batch.having(sync=np.maximum(batch.sync, self.start), ends=np.minimum(batch.other, self.end))

    def output_watermark(self, watermark: int) -> int:
        return INF if watermark >= self.end else watermark
