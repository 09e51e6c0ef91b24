"""A log that happens again: rows come when they came, only faster."""

from __future__ import annotations

import copy
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import cast

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Ticks
from whimbrel.clock import MIN_TIME, ticks_per_second
from whimbrel.clock.duration import Duration
from whimbrel.connect.columnar import BATCH_ROWS
from whimbrel.connect.instant import Instant, first_tick
from whimbrel.connect.pace import Clock, Pace
from whimbrel.connect.partitions import Partitions, in_partitions
from whimbrel.connect.promise import promise
from whimbrel.connect.timeline import time_unit
from whimbrel.errors import PlanError, SourceError
from whimbrel.plan.source import Source

_DAY_S = 86_400


class Replay(Source):
    """A feed made of a log: each row becomes known when its arrival says, `speed` times as fast.

    The first row comes at once. While nobody reads, the replay's time stands still, so a paused view goes on where it
    was. Rows must lie in the order of their arrival.

    Parameters
    ----------
    source : Source
        The log. Rows are paced by its arrival column, or by its time column if it has none.
    speed : float
        Seconds of the log per second; ``float("inf")``: as fast as they are read. For arrivals that are plain
        integers, ticks per second.
    start, end : str, datetime, date or int, optional
        Only rows that arrived in ``[start, end)``. Earlier rows are skipped, not waited for.
    reorder_latency, late, partition
        The order that the feed promises; default: what the log promises.

    Raises
    ------
    PlanError
        Without a reorder latency, or with partitions that have no lag: a feed has no end at which its rows could be
        sorted.
    SourceError
        While reading, when arrivals are null or not in order; it names the row.

    Examples
    --------
    >>> from whimbrel.connect.memory import ArrowSource
    >>> log = ArrowSource(pa.table({"t": [3, 1, 2], "seen": [3, 4, 5]}), time="t", arrival="seen")
    >>> feed = Replay(log, speed=float("inf"), start=4, reorder_latency=3)
    >>> next(feed.read(["t"])).sync.tolist()
    [1, 2]
    """

    live = True

    def __init__(self, source: Source, speed: float = 1000, *, start: Instant | None = None,
                 end: Instant | None = None, reorder_latency: Duration | None = None, late: str | None = None,
                 partition: str | Partitions | None = None, _clock: Clock = time) -> None:
        where = f"replay({source.name}, speed={speed!r})"
        if source.live:
            raise PlanError(f"{source.name!r} is a feed already.", where=where, hint="replay a file or a table")
        if source.edges:
            raise PlanError(f"The edges of {source.name!r} cannot be replayed.", where=where,
                            hint="replay a log of intervals: one row an event, with its end in a column")
        if isinstance(speed, bool) or not isinstance(speed, int | float) or not speed > 0:
            raise PlanError(f"A replay cannot go at {speed!r} times real time.", where=where,
                            hint='such as speed=1000, or float("inf") for as fast as possible')
        self._source, self._clock, self._where = source, _clock, where
        self._order = source.arrival or source.time
        type_ = source.schema.type_of(self._order, where=where)
        self._ticks_per_s = speed * (ticks_per_second(time_unit(type_, self._order, where)[0]) or 1)
        self._start = None if start is None else first_tick(start, type_, self._order, where=where)
        self._end = None if end is None else first_tick(end, type_, self._order, where=where)
        self.name = source.name
        self.schema = source.schema
        self.time = source.time
        self.arrival = source.arrival
        self.longest = source.longest
        self.rows = source.rows if start is None and end is None else None
        known = source.disorder
        promised = promise(reorder_latency, late or known.late, source.schema.unit, default=known.reorder_latency,
                           where=where)
        promised = replace(known, reorder_latency=promised.reorder_latency, late=promised.late)
        self.disorder = in_partitions(promised, partition, source.schema, where=where)
        if self.disorder.partition is not None and self.disorder.lag is None:
            raise PlanError("A feed has no end, so it must say how far its partitions may be behind.", where=where,
                            hint=f'give a lag: partition=wb.Partitions(by={self.disorder.partition!r}, lag="12h")')
        if self.disorder.partition is None and self.disorder.reorder_latency is None:
            raise PlanError("A feed has no end, so it must say how late a row may be.", where=where,
                            hint='give a reorder latency: replay(..., reorder_latency="12h")')

    def again(self) -> Source | None:
        log = copy.copy(self)
        log._ticks_per_s = float("inf")  # noqa: SLF001 - its own
        return log

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        self.schema.select(columns)
        return self._read(tuple(columns), offset)

    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        first_row = yield from self._find_start()
        pace: Pace | None = None
        with closing(self._arrivals(columns, first_row + offset)) as parts:
            for batch, came in parts:
                pace = pace or Pace(int(came[0]), self._ticks_per_s, self._clock)
                yield from _paced(batch, came, pace)

    def _find_start(self) -> Generator[None, None, int]:
        """First row of the replay, found on the arrivals alone: cheaper than skipping whole rows."""
        row = 0
        if self._start is not None:
            with closing(self._arrivals((), 0)) as parts:
                for _, came in parts:
                    early = int(np.searchsorted(came, self._start))
                    row += early
                    if early < len(came):
                        break
                    yield None
        return row

    def _arrivals(self, columns: Sequence[str], row: int) -> Generator[tuple[Batch, Ticks]]:
        """Batches of the log from a row on, up to the end of the replay, with the ticks at which their rows came."""
        last = MIN_TIME
        # A log is no feed, so it has no None.
        parts = cast(Generator[Batch], self._source.read(list(dict.fromkeys([*columns, self._order])), row))
        with closing(parts):
            for batch in parts:
                came = self._checked(batch.column(self._order), last, row)
                kept = len(came) if self._end is None else int(np.searchsorted(came, self._end))
                if kept:
                    yield batch.slice(0, kept).select(columns), came[:kept]
                if kept < len(came):
                    return
                last = int(came[-1])
                row += len(came)

    def _checked(self, column: Column, last: int, first_row: int) -> Ticks:
        if column.valid is not None and not column.valid.all():
            raise SourceError(f"Row {first_row + int(np.argmin(column.valid)):,} never came: {self._order!r} is null.",
                              where=self._where, hint="rows count from 0; drop rows without an arrival first")
        came = np.asarray(column.values).astype(np.int64, copy=False)
        if pa.types.is_date32(column.type):
            came = came * _DAY_S
        backwards = came < np.concatenate(([last], came[:-1]))
        if backwards.any():
            row = first_row + int(np.argmax(backwards))
            raise SourceError(f"Row {row:,} came before the row in front of it: {self._order!r} goes back.",
                              where=self._where, hint=self._order_hint())
        return came

    def _order_hint(self) -> str:
        if self.arrival is None:
            return "say which column rows are ordered by: arrival=... where the log is read; or sort the log"
        return f"rows count from 0; sort the log by {self._order!r} first"


def _paced(batch: Batch, came: Ticks, pace: Pace) -> Iterator[Batch | None]:
    """The rows of a batch as they become due; None where a wait ended without any."""
    at = 0
    while True:
        due = int(np.searchsorted(came, pace.tick(), side="right"))
        stop = min(due, at + BATCH_ROWS)
        yield batch.slice(at, stop) if stop > at else None
        at = stop
        if at == len(batch):
            return
        if at == due:
            pace.wait(int(came[at]))
