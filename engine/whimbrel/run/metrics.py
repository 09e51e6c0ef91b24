"""What a run can say about itself, and what its answer looks like at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.clock import INF, MIN_TIME, format_instant
from whimbrel.clock.instant import Moment
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.run.operator_metrics import OperatorMetrics


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counters of a run.

    Attributes
    ----------
    rows, rows_per_s : int, float
        Rows read so far, and lately per second.
    fraction_read : float or None
        Share of the sources' rows read, 0 to 1; where nobody knows how many there are, of a replay's time; else None.
    watermark : datetime, int or None
        No row before this time can follow; None while nothing is promised.
    newest : datetime, int or None
        Largest event time seen.
    age_s : float or None
        Of a replay: how far its clock is past the newest event, in seconds of the log (of plain integers: in ticks).
    late_dropped, late_adjusted : int
        Rows that came later than promised.
    late_by_partition : mapping of str to mapping
        How many rows came late, by source and partition: of each source that has partitions, the hundred with most.
    late_by : mapping of str to mapping of int to int
        Of each feed: how many rows were late by up to so many ticks, in growing steps of round spans of time, by the
        largest time before them. Logs that can be read again are measured by :func:`whimbrel.lateness`.
    buffered_rows, buffered_bytes : int
        Rows held back or remembered by all operators, and bytes of those that wait to be sorted.
    sorted_runs : int
        Runs in which rows wait to be sorted: the more, the more out of order they came.
    buffered : mapping of str to int
        The rows held back or remembered by each operator of the plan that runs, named as in ``explain()``, and by each
        source. Those of the same name are numbered.
    settled_rows, evicted_rows : int
        Result rows that can no longer change, and how many of the oldest of them are no longer kept.
    elapsed_s : float
        Seconds since the start.
    feeds : mapping of str to FeedStatus
        By name: whether each feed is connected, what was refused, what was given up under overload.
    sink_error : str
        What keeps its sink from being written just now, such as brokers that are away; it is tried on.
    steps : tuple of Step
        The operators of the plan that runs, inputs before what they feed, each with its counters.
    """

    rows: int = 0
    rows_per_s: float = 0.0
    fraction_read: float | None = None
    watermark: Moment = None
    newest: Moment = None
    age_s: float | None = None
    late_dropped: int = 0
    late_adjusted: int = 0
    late_by_partition: Mapping[str, Mapping[Any, int]] = field(default_factory=dict, hash=False)
    late_by: Mapping[str, Mapping[int, int]] = field(default_factory=dict, hash=False)
    buffered_rows: int = 0
    buffered_bytes: int = 0
    sorted_runs: int = 0
    buffered: Mapping[str, int] = field(default_factory=dict, hash=False)
    settled_rows: int = 0
    evicted_rows: int = 0
    elapsed_s: float = 0.0
    feeds: Mapping[str, FeedStatus] = field(default_factory=dict, hash=False)
    sink_error: str = ""
    steps: tuple[OperatorMetrics, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The answer at one moment.

    Attributes
    ----------
    table : pyarrow.Table
        start, end, payload: first the rows that are settled, then those that would be the answer if the stream ended
        now, which may still change.
    settled : int
        How many rows of the table can no longer change.
    version : int
        Grows with every change.
    metrics : Metrics
    final : bool
        The stream has ended; everything is settled.
    rearranged : int
        Grows when settled rows do not follow those before in the order of start: while it stays the same, they stand
        where they stood in the snapshot before, less those that were forgotten.
    """

    table: pa.Table
    settled: int
    version: int
    metrics: Metrics
    final: bool
    rearranged: int = 0


def moment(ticks: int, schema: Schema) -> Moment:
    """Ticks as a time that people read; None before the first and after the last of times."""
    return None if ticks in (MIN_TIME, INF) else format_instant(ticks, schema.unit, schema.zone)
