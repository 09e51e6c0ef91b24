"""Metrics and current result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.clock import INF, MIN_TIME, format_instant
from whimbrel.clock.instant import Moment
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.migration_hints import METRICS, absent
from whimbrel.run.operator_metrics import OperatorMetrics


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counters of a run.

    Attributes
    ----------
    rows, rows_per_s : int, float
        Rows read so far, and rows per second recently.
    fraction_read : float or None
        Fraction of the rows read, from 0 to 1. With an unknown number of rows: of a replay's time, or None.
    watermark : datetime, int or None
        No row before this time can follow; None while there is none.
    newest : datetime, int or None
        Largest event time seen.
    age_s : float or None
        Time from the newest event to the clock of a replay, in seconds of the log; in ticks for integer times.
    late_dropped, late_adjusted : int
        Late rows, and rows against the order of :meth:`assume`, that were dropped or adjusted.
    duplicate_samples, missing_samples : int
        Of blocks of samples: samples that overlapping blocks repeated, and samples in gaps so far.
    skipped_windows : int
        Windows of ``rewindow`` and ranges of ``sync`` that were left out because they touch a gap.
    late_by_partition : mapping of str to mapping
        Late rows by source and partition, for the hundred partitions with the most.
    late_by : mapping of str to mapping of int to int
        Rows of each feed by lateness: up to how many ticks, in increasing round durations. For logs use
        :func:`whimbrel.lateness`.
    buffered_rows : int
        Rows buffered by all operators. An aggregate of windows counts one for each open window and group.
    buffered_bytes : int
        Bytes of rows that wait to be sorted or for the other input of a union, and of the history that functions of
        time and signals keep. Partial aggregates that wait to be sorted count, too, and the open windows of an
        aggregate that serves several latencies. Open windows of one latency do not count. Rows that joins, patterns,
        sessions and ``top_k`` keep do not count either, nor do settled result rows.
    sorted_runs : int
        Sorted runs that wait to be merged; they grow with disorder.
    buffered : mapping of str to int
        Rows buffered by each operator of the optimized plan, named as in ``explain()``, and by each source. Equal names
        are numbered.
    settled_rows, evicted_rows : int
        Settled result rows, and how many of the oldest were evicted.
    elapsed_s : float
        Seconds since the start.
    feeds : mapping of str to FeedStatus
        Status of each feed by name: connection, dead letters, and rows dropped by load shedding.
    dead_letters : mapping of str to mapping of str to int
        Messages of feeds and lines of files that are no rows, by source and reason.
    sink_error : str
        Why the sink is retrying now, such as brokers that are unreachable; empty otherwise.
    steps : tuple of Step
        The operators of the optimized plan with their counters, inputs first.
    """

    rows: int = 0
    rows_per_s: float = 0.0
    fraction_read: float | None = None
    watermark: Moment = None
    newest: Moment = None
    age_s: float | None = None
    late_dropped: int = 0
    late_adjusted: int = 0
    duplicate_samples: int = 0
    missing_samples: int = 0
    skipped_windows: int = 0
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
    dead_letters: Mapping[str, Mapping[str, int]] = field(default_factory=dict, hash=False)
    sink_error: str = ""
    steps: tuple[OperatorMetrics, ...] = ()

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = absent("A Metrics object", METRICS)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The current result of a query.

    Attributes
    ----------
    table : pyarrow.Table
        start, end, payload: first the settled rows, then the provisional ones, which assume that the stream ends now.
    settled : int
        How many rows of the table are settled.
    version : int
        Increases with every change.
    metrics : Metrics
    final : bool
        The stream has ended; everything is settled.
    rearranged : int
        Increases when new settled rows are not in the order of start. While it stays the same, settled rows keep their
        positions, apart from evicted ones.
    """

    table: pa.Table
    settled: int
    version: int
    metrics: Metrics
    final: bool
    rearranged: int = 0


def moment(ticks: int, schema: Schema) -> Moment:
    """Convert ticks to a readable time.

    None for the smallest and the largest time.
    """
    return None if ticks in (MIN_TIME, INF) else format_instant(ticks, schema.unit, schema.zone)
