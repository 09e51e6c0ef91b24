"""Ingress of a source: late policy, reordering and watermark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Mask, elapsed
from whimbrel.clock import INF, MIN_TIME, round_spans, show_ticks, tell_ticks
from whimbrel.disorder.idle_advance import AdvancesWhenIdle
from whimbrel.disorder.low_watermark import LowWatermark
from whimbrel.disorder.sorter import Sorter
from whimbrel.disorder.sorter_sizes import SorterSizes
from whimbrel.disorder.source_watermark import SourceWatermark
from whimbrel.disorder.watermark_generator import Array, ArrivalWatermarks, WatermarkGenerator
from whimbrel.errors import DisorderError, SourceError
from whimbrel.kernels import with_gaps
from whimbrel.plan import OrderingSpec, Source


class Ingress(SorterSizes, AdvancesWhenIdle):
    """Applies a source's reorder latency L and late policy.

    With hw the largest time seen, current = max(current, hw - L); a row is late if its time is before current. Whether
    it is depends on the rows before it alone, never on how rows are cut into batches.

        arrives  1  5  3  9  2     (L = 4)
        current  1  1  1  5  5     so the last row, at 2, is late

    Where the source has partitions each has a current of its own, and rows leave, all in one order of time, when the
    low watermark has passed them.

    Attributes
    ----------
    rows, late_dropped, late_adjusted : int
        Counted rows.
    time : Timekeeper
        The watermark generator, for all rows or by partition.
    late_by : array of int64, or None
        For a feed: a histogram of lateness. Its bounds are the :func:`~whimbrel.clock.round_spans`. A feed cannot be
        measured afterwards.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.disorder: OrderingSpec = source.disorder
        self.sorter = Sorter()
        self.time = watermark_generator_of(source)
        self.rows = self.late_dropped = self.late_adjusted = 0
        self.late_by = np.zeros(len(round_spans(source.schema.unit)), np.int64) if source.live else None

    def begin_again(self, row: int) -> None:
        """Ready for rows from anywhere in time, from this one of the source on: asked when no row waits."""
        self.time = watermark_generator_of(self.source)
        self.rows, self.late_dropped, self.late_adjusted = row, 0, 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        first = self.rows
        self.rows += len(batch)
        if self.disorder.reorder_latency == 0:  # checked at once, also for a partition that lags
            batch = with_gaps(batch)
        on_time = isinstance(self.time, SourceWatermark) and self.time.on_time(batch)
        moments = None if on_time else self.time.follow(batch)
        if self.time.newest == INF:  # looked for here, where the newest time is known, since a search reads every row
            raise self._without_end(batch, first)
        if moments is not None:
            self._measure(elapsed(moments.newest, batch.sync))
            late = batch.sync < moments.current
            if late.any():
                batch = self._late(batch, late, moments, first)
        elif self.late_by is not None:
            self.late_by[0] += len(batch)
        self.watermark = self.time.now
        if self.source.as_it_comes or (on_time and self.disorder.reorder_latency == 0):
            return [batch] if len(batch) else []
        self.sorter.add(batch)
        return self.sorter.release(self.watermark) if self.watermark > MIN_TIME else []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = max(self.watermark, watermark)
        if watermark != INF:
            self.time.now = max(self.time.now, watermark)  # a punctuation is better informed than the rows
        return self.sorter.release(INF if watermark == INF else self.watermark)

    def advance_idle(self, time: int) -> list[Batch]:
        passed = self.disorder.passed(time)
        return self.advance(passed) if passed > self.watermark else []

    def late_by_partition(self, maximum: int) -> Mapping[Any, int] | None:
        """Late rows of the `maximum` partitions that have the most; None without partitions."""
        return None if self.disorder.partition is None else self.time.late_rows(maximum)

    @property
    def buffered_bytes(self) -> int:
        return 0 if self.source.as_it_comes else super().buffered_bytes

    @property
    def newest(self) -> int:
        """Largest time seen, in ticks."""
        return self.time.newest

    def _measure(self, late_by: Array) -> None:
        if self.late_by is None:
            return
        late = late_by[late_by > 0]
        self.late_by[0] += len(late_by) - len(late)
        if len(late):
            spans = round_spans(self.source.schema.unit)
            indices = np.minimum(np.searchsorted(spans, late), len(spans) - 1)
            self.late_by += np.bincount(indices, minlength=len(spans))

    def _late(self, batch: Batch, late: Mask, moments: ArrivalWatermarks, first: int) -> Batch:
        policy = self.disorder.late
        if policy == "raise":
            raise self._error(batch, int(np.flatnonzero(late)[0]), moments, first)
        self.time.count_late(batch.take(np.flatnonzero(late)))
        moved, ends = np.where(late, moments.current, batch.sync), batch.other
        removed = late if self.disorder.drops else moved >= ends
        self.late_dropped += int(np.count_nonzero(removed))
        self.late_adjusted += int(np.count_nonzero(late & ~removed))
        return batch.having(sync=moved, ends=ends).take(np.flatnonzero(~removed))

    def _without_end(self, batch: Batch, first: int) -> SourceError:
        row, name = int(np.argmax(batch.sync)), self.source.time
        return SourceError(f"A time must be below 2**63 - 1 ticks, got {INF} in {name!r} of row {first + row:,}.",
                           where=f'time="{name}"',
                           hint="Fix or drop the row.")

    def _error(self, batch: Batch, row: int, moments: ArrivalWatermarks, first: int) -> DisorderError:
        schema, latency = self.source.schema, self.disorder.reorder_latency
        time, current, newest = (int(times[row]) for times in (batch.sync, moments.current, moments.newest))
        promised = latency is None or current > newest - latency  # otherwise than by rows
        passed = current if promised else newest
        shown, when = (pa.scalar(ticks).cast(schema.time_type).as_py() for ticks in (time, passed))
        hint = 'Use reorder_latency="..." for rows at most so late, or late="drop"/"adjust"/"side_output".'
        source = self.source
        if source.arrival is None and not (source.live or source.edges or self.disorder.partition):
            hint = f"Use arrival=wb.FILE_ORDER to sort a bounded log in memory. {hint}"
        if latency is None or promised:
            why = f"{shown} arrived when the watermark was {when}"
            if self.disorder.lag is not None:
                hint = ('Use a longer lag for partitions: wb.PartitionWatermarks(by=..., max_lag="..."); '
                        'or late="drop"/"adjust".')
        else:
            bound = f"a reorder latency of {show_ticks(latency, schema.unit)}" if latency else "rows in time order"
            why = f"{shown} arrived after {when}, with {bound}"
        which = f"Row {first + row:,} of {self.source.name}{self.time.where(batch, row)}"
        if location := self.source.lies_in(first + row):
            which, hint = f"{which} ({location})", f"List the files in time order. {hint}"
        return DisorderError(
            f"{which} is late, with a lateness of {tell_ticks(passed - time, schema.unit)}: {why}.",
            where=f'time="{self.source.time}"', hint=hint)


def watermark_generator_of(source: Source) -> WatermarkGenerator:
    """What follows the time of a source."""
    disorder = source.disorder
    if disorder.partition is None:
        return SourceWatermark(disorder.reorder_latency, in_order=source.in_order)
    return LowWatermark(disorder, source.schema.type_of(disorder.partition))
