"""Replay of a log at its arrival times, faster than real time."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Ticks
from whimbrel.clock import INF, MIN_TIME, Duration, Instant
from whimbrel.connect.ordering import ordering_spec
from whimbrel.connect.partition_watermarks import PartitionWatermarks, in_partitions
from whimbrel.connect.replay.arrival_time import ArrivalTime
from whimbrel.connect.replay.clock_protocol import NEVER
from whimbrel.connect.replay.replay_clock import INFINITE, ReplayClock, checked_speed
from whimbrel.connect.replay.replay_reader import PIECE_ROWS, USUAL_SPEED, Chunks, ReplayReader
from whimbrel.connect.tables.lifetime_columns import row_named
from whimbrel.errors import PlanError, SourceError
from whimbrel.kernels import ascends, ordered, with_gaps
from whimbrel.plan.source import Source

_DAY_S = 86_400


class Replay(Source):
    """Feed that delivers each row of a log at its arrival time.

    Its clock is faster than real time.

    The first row is delivered at once. The time of the replay stops while nothing reads it, so a paused view resumes
    where it was. Rows must be in order of arrival.

    Parameters
    ----------
    source : Source
        The log. Its arrival column sets the pace, or its time column if it has none. With ``arrival=wb.FILE_ORDER``,
        each row arrives at the newest event time so far.
    speed : float, optional
        Seconds of the log per second; ``float("inf")``: as fast as possible. For integer arrivals: ticks per second.
        Default: 1000.
    start, end : str, datetime, date or int, optional
        Deliver only rows that arrived in ``[start, end)``. Earlier rows are skipped without waiting.
    clock : ReplayClock, optional
        The clock with the time and the speed. Default: one clock per run, shared by all replays of its queries.
    every : str, timedelta or int (ticks), optional
        Deliver rows in batches of this much log time, at its end. The batches are the same in each run, at any speed.
    reorder_latency, late, partition
        Ordering of the feed. Default: that of the log.
    latency_later : bool
        Whether the replay may be created without a reorder latency. A query must then set one; see
        :meth:`check_latency`.

    Raises
    ------
    PlanError
        Without a reorder latency, or with partitions without `max_lag`: an unbounded stream cannot be sorted whole.
    SourceError
        While reading, if arrivals are null or not in order; it names the row.

    Examples
    --------
    >>> from whimbrel.connect.tables.memory import ArrowSource
    >>> log = ArrowSource(pa.table({"t": [3, 1, 2], "seen": [3, 4, 5]}), time="t", arrival="seen")
    >>> feed = Replay(log, speed=float("inf"), start=4, reorder_latency=3)
    >>> next(feed.read(["t"])).sync.tolist()
    [1, 2]
    """

    live = True

    def __init__(self, source: Source, speed: float | None = None, *, start: Instant | None = None,
                 end: Instant | None = None, clock: ReplayClock | None = None, every: Duration | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None,
                 partition: str | PartitionWatermarks | None = None, latency_later: bool = False) -> None:
        where = f"replay({source.name}, speed={USUAL_SPEED if speed is None else speed!r})"
        if source.live:
            raise PlanError(f"replay() needs a log, but {source.name!r} is a feed.", where=where,
                            hint="Use a file or a table.")
        if source.edges:
            raise PlanError(f"replay() cannot read {source.name!r} because it has start and end edges.", where=where,
                            hint="Use a log with one row per event and its end in a column.")
        if clock is not None and speed is not None:
            raise PlanError("speed= cannot be used with clock=, because the clock has the speed.", where=where,
                            hint="Use clock.speed = ... to set it.")
        self._source, self._where = source, where
        self.clock, self._speed = clock, None if speed is None else checked_speed(speed, where=where)
        self._order = source.arrival or source.time
        on_timebase = source.arrival is None and source.sampling is not None
        self._order_columns = () if on_timebase else (self._order,)
        type_ = source.schema.time_type if on_timebase else source.schema.type_of(self._order, where=where)
        self._arrivals = ArrivalTime(type_, self._order)
        if clock is not None:
            clock.adopt(self._arrivals, where=where)
        self._start = None if start is None else self._arrivals.first_tick(start, where=where)
        self._end = None if end is None else self._arrivals.first_tick(end, where=where)
        self._every = None if every is None else self._arrivals.span("every", every, where=where)
        self.name = source.name
        self.schema = source.schema
        self.time = source.time
        self.arrival = source.arrival
        self.longest, self.hidden = source.longest, source.hidden
        self.sampling = source.sampling if on_timebase else None
        self.file_order = source.file_order
        self.in_order = self._order == self.time and not self.file_order
        self.rows = source.rows if start is None and end is None else None
        known = source.disorder
        promised = ordering_spec(reorder_latency, late or known.late, source.schema.unit, default=known.reorder_latency,
                           where=where)
        promised = replace(known, reorder_latency=promised.reorder_latency, late=promised.late)
        self.disorder = in_partitions(promised, partition, source.schema, where=where)
        if self.disorder.partition is not None and self.disorder.lag is None:
            raise PlanError("A partitioned replay needs max_lag: without it no result can settle.", where=where,
                            hint=f"Use partition=wb.PartitionWatermarks(by={self.disorder.partition!r}, "
                                 'max_lag="12h").')
        if not latency_later:
            self.check_latency()
        self._first_row: int | None = 0 if self._start is None else None

    def check_latency(self) -> None:
        if self.disorder.partition is None and self.disorder.reorder_latency is None:
            raise PlanError("A replay needs a reorder latency, because an unbounded stream cannot be sorted whole.",
                            where=self._where, hint='Use replay(..., reorder_latency="12h"), or '
                                                    '.at_latencies("1s", "12h") on the query.')

    def again(self) -> Source | None:
        return self._at(None, INFINITE)

    def on_clock(self, clock: ReplayClock) -> Replay:
        """A copy of the replay on another clock."""
        clock.adopt(self._arrivals, where=self._where)
        return self._at(clock, None)

    def _at(self, clock: ReplayClock | None, speed: float | None) -> Replay:
        copied = copy.copy(self)
        copied.clock, copied._speed = clock, speed  # noqa: SLF001 - its own
        return copied

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        self.schema.select(columns)
        return ReplayReader(self._chunks(tuple(columns), offset), self._arrivals, last=self._last, clock=self.clock,
                        speed=self._speed, whole=self._every is not None)

    def _chunks(self, columns: Sequence[str], offset: int) -> Chunks:
        if self._first_row is None:
            self._first_row = yield from self._find_start()
        with closing(self._rows(columns, self._first_row + offset)) as parts:
            yield from parts if self._every is None else _in_spans(parts, self._every)

    def _find_start(self) -> Generator[None, None, int]:
        """First row of the replay, found from the arrival column alone, which is cheaper than skipping rows."""
        row = 0
        with closing(self._rows((), 0)) as parts:
            for _, arrivals in parts:
                early = int(np.searchsorted(arrivals, cast(int, self._start)))
                row += early
                if early < len(arrivals):
                    break
                yield None
        return row

    @cached_property
    def _last(self) -> int | None:
        """Arrival tick of the last row; NEVER if it is unknown, None without rows."""
        if not self._source.rows:
            return NEVER if self._source.rows is None else None
        if self.file_order:
            return NEVER  # the newest time is known only after all rows
        parts = cast(Generator[Batch], self._source.read(self._order_columns, self._source.rows - 1))
        with closing(parts):
            batch = next(parts)
        if not self._order_columns:
            last = batch.time(-1)
        else:
            column = batch.column(self._order)
            if column.valid is not None and not column.valid[-1]:
                return NEVER  # reading it is an error
            last = int(_ticks(column)[-1])
        last = last if self._end is None else min(last, self._end - 1)
        if self._start is not None and last < self._start:
            return None
        return last if self._every is None else int(_end_of_span(last, self._every))

    def _rows(self, columns: Sequence[str], row: int) -> Generator[tuple[Batch, Ticks]]:
        """Batches of the log from a row on, up to the end of the replay, with arrival ticks."""
        last = self._newest_before(row) if self.file_order else MIN_TIME
        # A log is no feed, so it has no None.
        parts = cast(Generator[Batch], self._source.read(list(dict.fromkeys([*columns, *self._order_columns])), row))
        with closing(parts):
            # A clock waits until each replay knows its next arrival, so read in small pieces.
            for piece in (part.slice(first, first + PIECE_ROWS)
                          for part in parts for first in range(0, len(part), PIECE_ROWS)):
                batch, arrivals = self._checked(piece, last, row)
                kept = len(arrivals) if self._end is None else int(np.searchsorted(arrivals, self._end))
                if kept:
                    yield batch.slice(0, kept).select(columns), arrivals[:kept]
                if kept < len(arrivals):
                    return
                last = int(arrivals[-1])
                row += len(arrivals)

    def _newest_before(self, row: int) -> int:
        """The newest event time before a row, which sets the pace of the rows from there on."""
        newest = MIN_TIME
        if row:
            with closing(cast(Generator[Batch], self._source.read((), 0))) as parts:
                for part in parts:
                    newest = max(newest, int(part.sync[: row].max()))
                    row -= len(part)
                    if row <= 0:
                        break
        return newest

    def _checked(self, batch: Batch, last: int, first_row: int) -> tuple[Batch, Ticks]:
        """Rows with checked arrival ticks; if these are event times, the order is noted on the batch."""
        if self.file_order:
            return batch, np.maximum(np.maximum.accumulate(batch.sync), last)
        if not self._order_columns:
            return batch, batch.sync
        column = batch.column(self._order)
        if column.valid is not None and not column.valid.all():
            never = row_named(first_row, self._source.lies_in, int(np.argmin(column.valid)))
            raise SourceError(f"{never} has no arrival time: {self._order!r} is null.", where=self._where,
                              hint="Drop rows without an arrival time first (rows count from 0).")
        arrivals = _ticks(column)
        batch = with_gaps(batch) if self.in_order else batch
        if arrivals[0] < last or not (ordered(batch) if self.in_order else ascends(arrivals)):
            back = 0 if arrivals[0] < last else 1 + int(np.argmax(arrivals[1:] < arrivals[:-1]))
            row = row_named(first_row, self._source.lies_in, back)
            raise SourceError(f"{row} arrived before the previous row: {self._order!r} decreases.",
                              where=self._where, hint=self._order_hint())
        return batch, arrivals

    def _order_hint(self) -> str:
        if self.arrival is None:
            return ("Use arrival=... with the column that rows are ordered by, arrival=wb.FILE_ORDER for the order of "
                    "the file, or a sorted log.")
        return f"Sort the log by {self._order!r} first (rows count from 0)."


def _ticks(column: Column) -> Ticks:
    arrivals = np.asarray(column.values).astype(np.int64, copy=False)
    return arrivals * _DAY_S if pa.types.is_date32(column.type) else arrivals


def _in_spans(parts: Generator[tuple[Batch, Ticks]], span: int) -> Generator[tuple[Batch, Ticks]]:
    """The rows, due at the end of the time span of their arrival; a span is never split over batches."""
    held: list[tuple[Batch, Ticks]] = []
    for batch, arrivals in parts:
        held.append((batch, _end_of_span(arrivals, span)))
        if held[-1][1][-1] > held[0][1][0]:
            rows, ends = _together(held)
            complete = int(np.searchsorted(ends, ends[-1]))  # further rows of the last span may follow
            yield rows.slice(0, complete), ends[:complete]
            held = [(rows.slice(complete, len(rows)), ends[complete:])]
    if held:
        yield _together(held)


def _together(held: Sequence[tuple[Batch, Ticks]]) -> tuple[Batch, Ticks]:
    return Batch.concat([rows for rows, _ in held]), np.concatenate([ends for _, ends in held])


def _end_of_span(arrivals: Any, span: int) -> Any:
    """The last tick of the time span of an arrival."""
    return np.minimum(arrivals // span * span, INF - span) + (span - 1)
