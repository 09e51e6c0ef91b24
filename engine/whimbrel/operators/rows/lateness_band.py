"""Keep the rows of one latency band."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from whimbrel.batch import Batch, Mask, Schema, Ticks
from whimbrel.clock import INF, MIN_TIME, TickUnit, quote_ticks
from whimbrel.clock.lateness import each_late_before, late_before
from whimbrel.disorder import AdvancesWhenIdle, LowWatermark
from whimbrel.kernels import Kernel
from whimbrel.plan import Operator, OrderingSpec, Properties

_MOSTLY = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class LatenessBand(Operator):
    """Keep the rows of a source whose lateness is within a band.

    With hw the largest event time so far, the lateness of a row at t is hw - t.

        time     1  5  3  9  2      (in the order of arrival)
        lateness 0  0  2  0  7
        out      1  5  3  9         (lateness <= 2)
        out                  2      (2 < late <= 10)

    Parameters
    ----------
    over : int
        Rows with a larger lateness pass; -1 includes rows that are in order.
    upto : int
        And by no more than this: the band's reorder latency.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.
    partitions : OrderingSpec, optional
        Of a source with partitions: then hw is the largest time of the row's partition, or the low watermark if that is
        later. The planner fills it in.

    Notes
    -----
    It reads a source in arrival order. Queries at several latencies that share no aggregate have one band for each two
    consecutive latencies, and the planner sorts after it.
    Shapes: rows pass or do not. State: the largest time seen, and how many rows came later than `upto`.
    Source: Chandramouli et al., Impatience (ICDE 2018), section V.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9]}, time="at", arrival="seen", name="log")
    >>> early, late = log.at_latencies(2, 10)
    >>> early.collect()["at"].to_pylist(), late.collect()["at"].to_pylist()
    ([1, 3, 5, 9], [1, 2, 3, 5, 9])
    """

    takes_any_order: ClassVar[bool] = True

    over: int = -1
    upto: int
    unit: TickUnit = None
    partitions: OrderingSpec | None = None

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=False, in_order=False, apart=upstream[0].no_period(),
                       sampling=upstream[0].with_missing_samples())

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted if self.partitions is None else wanted | {str(self.partitions.partition)},)

    def partitioned(self, *by: str) -> str | None:
        return None  # how late a row is depends on all rows before it

    def kernel(self, *upstream: Schema) -> Kernel:
        return BandKernel(self, None if self.partitions is None else LowWatermark.of(self.partitions, upstream[0]))

    def show(self) -> str:
        minimum = "" if self.over < 0 else f"{quote_ticks(self.over, self.unit)} < "
        by = "" if self.partitions is None else f" by {self.partitions.partition}"
        return f"band({minimum}late <= {quote_ticks(self.upto, self.unit)}{by})"


class BandKernel(AdvancesWhenIdle):
    """Follows the largest time seen, row by row, in the order of arrival.

    Attributes
    ----------
    newest : int
        Largest time seen, or come to without a row.
    late_dropped, late_adjusted : int
        Rows that came later than the band takes; none is adjusted.
    """

    def __init__(self, band: LatenessBand, time: LowWatermark | None = None) -> None:
        self.over, self.upto, self.time = band.over, band.upto, time
        self.newest = MIN_TIME
        self.late_dropped = self.late_adjusted = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        if self.time is not None:
            return self._push_by_partition(batch, self.time)
        before, sync = self.newest, batch.sync
        oldest = int(sync.min())
        self.newest = max(before, int(sync.max()))
        self.watermark = late_before(self.newest, self.upto)
        if oldest >= self.watermark and self.over < 0:
            return [batch]
        if oldest >= late_before(self.newest, self.over):
            return []
        return self._within(batch, np.maximum(np.maximum.accumulate(sync), before))

    def _push_by_partition(self, batch: Batch, time: LowWatermark) -> list[Batch]:
        newest = time.follow(batch).current
        self.newest = time.newest
        self.watermark = max(self.watermark, late_before(time.now, self.upto))
        return self._within(batch, newest)

    def _within(self, batch: Batch, newest: Ticks) -> list[Batch]:
        """The rows of the band; `newest` are the times from which their lateness counts."""
        later = batch.sync < each_late_before(newest, self.upto)
        if later.any():
            self.late_dropped += int(np.count_nonzero(later))
            if self.time is not None:
                self.time.count_late(batch.take(np.flatnonzero(later)))
        return _without(batch, later if self.over < 0 else later | (batch.sync >= each_late_before(newest, self.over)))

    def late_by_partition(self, maximum: int) -> Mapping[Any, int] | None:
        """Late rows of the `maximum` partitions that have the most; None without partitions."""
        return None if self.time is None else self.time.late_rows(maximum)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if watermark == INF:
            self.watermark = INF
        return []

    def advance_idle(self, time: int) -> list[Batch]:
        if self.time is None:
            self.newest = reached = max(self.newest, time)
        else:
            reached = self.time.advance_idle(time)
        self.watermark = max(self.watermark, late_before(reached, self.upto))
        return []


def _without(batch: Batch, out: Mask) -> list[Batch]:
    """The rows that stay; copied only where few do."""
    stay = len(batch) - int(np.count_nonzero(out))
    if stay * _MOSTLY > len(batch):
        return [batch.with_absent(out) if stay < len(batch) else batch]
    return [batch.take(np.flatnonzero(~out))] if stay else []
