"""Create streams from tables, files, DataFrames and replays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from whimbrel.clock import Duration, Instant, Rate
from whimbrel.connect import (
    ArrowSource,
    EdgeSource,
    ParquetSource,
    PartitionWatermarks,
    Replay,
    ReplayClock,
    pandas_source,
)
from whimbrel.connect.files.parquet_row_numbers import NumberedParquet
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.tables.time_column_markers import SEQUENCE, is_stated
from whimbrel.errors import PlanError
from whimbrel.migration_hints import renamed
from whimbrel.operators import BlockSamples
from whimbrel.operators.rows.block_samples import Duplicates
from whimbrel.plan import Node, Source
from whimbrel.stream.read_signals import with_samples
from whimbrel.stream.stream import Stream


def read_parquet(path: FilePath | Iterable[FilePath], *, time: str, end: str | None = None, arrival: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None,
                 partition: str | PartitionWatermarks | None = None, name: str | None = None,
                 samples: str | Sequence[str] | None = None, rate: Rate | None = None, jitter: Duration | None = None,
                 duplicates: Duplicates = "raise", filesystem: Any = None) -> Stream:
    """Create a stream from Parquet files.

    Only the footers are read now.

    Parameters
    ----------
    path : str, path, or several
        A file, a folder, or a pattern such as ``"logs/*.parquet"``: files are read in the natural order of their
        names, ``part-2`` before ``part-10``. A list is read in its own order. Where folders in a folder or pattern
        name columns, such as ``day=2024-01-02``, these are columns of the rows in them, and files are read in the order
        of their values. Addresses are read too: ``s3://``, ``gs://``, ``az://`` and ``https://``.
    time : str
        The event-time column: a timestamp, a date, or integers. ``wb.SEQUENCE``: the number of the row, from 0, in a
        column ``sequence``.
    end : str, optional
        When events end; without it each lasts one tick. A null end is not known.
    arrival : str, optional
        When rows arrived. Rows are in this order, so their event times may not be. ``wb.FILE_ORDER`` where rows lie in
        the order in which they arrived and no column says when: a replay then gives each at the newest time so far.
    reorder_latency : str, timedelta or int, optional
        How far out of order a row may be. Default: 0; with an arrival column, the log is read whole and sorted.
    late : {"raise", "drop", "adjust", "side_output"}, optional
        What happens to late rows. "side_output" is "drop" with :func:`whimbrel.late_rows` as the side output.
    partition : str or PartitionWatermarks, optional
        The column within whose values rows are in order. A row is late if it is late in its own partition.
        See :class:`whimbrel.PartitionWatermarks`, which also sets when rows settle.
    name : str, optional
        For plans, errors and ``on({...})``.
    samples : str or sequence of str, optional
        Columns with a block of samples in each row, a list of numbers. The stream then has an event for each sample,
        and these columns only. `time` is the time of the first sample of a block. Blocks are sorted as blocks, and
        late ones are treated as late rows. Samples that no block has are gaps.
    rate : int, float, str, Fraction or Decimal, optional
        Samples per second of the blocks. For a row per sample, use ``assume(rate=...)``.
    jitter : str, timedelta or int (ticks), optional
        Most time between a block and its first sample. Default: one tick.
    duplicates : {"raise", "first"}
        Overlapping blocks with equal samples give them once. Different samples are an error, or the first ones stay.
    filesystem : pyarrow.fs.FileSystem or fsspec.AbstractFileSystem, optional
        Where all paths are. Default: this machine, or for an address its file system, with the credentials of the
        environment.

    Notes
    -----
    Unused columns are not read. Row groups are not read if their statistics exclude the filters after the source;
    ``explain()`` shows them. Errors in unread data, such as a row out of order, are therefore not found.

    A column that a file lacks is null in its rows. Where types differ, a column takes the one that holds every value
    exactly: text is text in whatever layout, the wider of two integers, floats or decimals, the finer of two
    units of time. A column that is all null in a file takes its type from the others. Anything else, such as integers
    in one file and floats or text in another, is an error that names both files, before a row is read. An index without
    a name that pandas wrote to a file is no column, unless it is asked for, such as ``end="__index_level_0__"``.
    """
    source: Source
    if is_stated(time, SEQUENCE):
        source = NumberedParquet(path, end=end, arrival=arrival, reorder_latency=reorder_latency, late=late,
                                 partition=partition, name=name, filesystem=filesystem)
    else:
        source = ParquetSource(path, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency, late=late,
                               partition=partition, name=name, filesystem=filesystem)
    return Stream(with_samples(source, samples, rate, jitter=jitter, duplicates=duplicates, call="read_parquet"))


def from_arrow(data: Any, *, time: str, end: str | None = None, arrival: str | None = None,
               reorder_latency: Duration | None = None, late: str | None = None,
               partition: str | PartitionWatermarks | None = None, name: str | None = None,
               samples: str | Sequence[str] | None = None, rate: Rate | None = None, jitter: Duration | None = None,
               duplicates: Duplicates = "raise") -> Stream:
    """Create a stream from a table in memory.

    The table is of Arrow, Polars or DuckDB, or a dict of lists. Parameters as in :func:`read_parquet`.

    The table stays as it is, and so do arrays that it shares memory with: the order of its rows is looked at once.

    Examples
    --------
    >>> import whimbrel as wb
    >>> wb.from_arrow({"at": [1, 4], "x": [10, 20]}, time="at").collect().to_pylist()
    [{'start': 1, 'end': 2, 'at': 1, 'x': 10}, {'start': 4, 'end': 5, 'at': 4, 'x': 20}]
    """
    source = ArrowSource(data, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency, late=late,
                         partition=partition, name=name)
    return Stream(with_samples(source, samples, rate, jitter=jitter, duplicates=duplicates, call="from_arrow"))


def from_edges(data: Any, *, sync: str, other: str, punctuation: str | None = None,
               reorder_latency: Duration | None = None, late: str | None = None,
               partition: str | PartitionWatermarks | None = None, name: str | None = None) -> Stream:
    """Create a stream from a table of start and end edges.

    Each edge is a row of its own.

    An end edge has the payload of its start edge; ends of equal starts and payloads are taken first in, first out.
    The columns named here are no payload.

    Parameters
    ----------
    data : Arrow, Polars or DuckDB table, or a dict of lists
    sync : str
        When a row happens: the start of an event, or the end that an end edge tells.
    other : str
        Null for a start edge, the event's start for an end edge, the end for a row that is a whole event.
    punctuation : str, optional
        A bool column: true for rows that only say that no row before their `sync` follows: in their partition, or
        in any where the partition is null.
    reorder_latency : str, timedelta or int, optional
        How late a row may be; default: nothing.
    late : {"raise", "drop", "adjust", "side_output"}, optional
        What happens to rows later than that. A start edge that is dropped or moved takes its end edge with it.
    partition : str or PartitionWatermarks, optional
        The column by which rows are in order, where they are not as a whole. See :class:`whimbrel.PartitionWatermarks`.
    name : str, optional

    Examples
    --------
    >>> import whimbrel as wb
    >>> rows = {"at": [1, 3, 7, 9], "of": [None, None, 1, 3], "x": ["a", "b", "a", "b"]}
    >>> wb.from_edges(rows, sync="at", other="of").collect().to_pylist()
    [{'start': 1, 'end': 7, 'x': 'a'}, {'start': 3, 'end': 9, 'x': 'b'}]
    """
    return Stream(Node(EdgeSource(data, sync=sync, other=other, punctuation=punctuation,
                                  reorder_latency=reorder_latency, late=late, partition=partition, name=name)))


def from_pandas(frame: Any, *, time: str, end: str | None = None, arrival: str | None = None,
                reorder_latency: Duration | None = None, late: str | None = None,
                partition: str | PartitionWatermarks | None = None, name: str | None = None) -> Stream:
    """Create a stream from a pandas DataFrame.

    Parameters as in :func:`read_parquet`.

    The index is no column, unless `time`, `end`, `arrival` or `partition` names one of its levels.

    Examples
    --------
    >>> import pandas as pd
    >>> import whimbrel as wb
    >>> frame = pd.DataFrame({"x": [10, 20]}, index=pd.Index([1, 4], name="at"))
    >>> wb.from_pandas(frame, time="at").collect().to_pylist()
    [{'start': 1, 'end': 2, 'at': 1, 'x': 10}, {'start': 4, 'end': 5, 'at': 4, 'x': 20}]
    """
    return Stream(Node(pandas_source(frame, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency,
                                     late=late, partition=partition, name=name)))


@renamed(asked="data")
def from_spark(data: Any, *, time: str, end: str | None = None, arrival: str | None = None,
               columns: Sequence[str] | None = None, where: Any = None,
               between: tuple[Instant | None, Instant | None] | None = None,
               order: Literal["time", "newest", "random"] | None = None, reorder_latency: Duration | None = None,
               late: str | None = None, name: str | None = None, spark: Any = None,
               samples: str | Sequence[str] | None = None, rate: Rate | None = None, jitter: Duration | None = None,
               duplicates: Duplicates = "raise") -> Stream:
    """Create a stream from a DataFrame, table or query of Spark.

    No job runs now. See ``whimbrel.spark.SparkSource``.

    A DataFrame of ``spark.readStream`` is a feed. See ``whimbrel.spark.SparkFeed``.

    Parameters
    ----------
    data : pyspark.sql.DataFrame or str
        A DataFrame, the name of a table, or a query in SQL; a command is refused.
    time, end, arrival, reorder_latency, late, name
        As in :func:`read_parquet`. Default: no reorder latency is promised, and the rows are sorted here; with
        ``order="time"`` none is late.
    columns : sequence of str, optional
        The columns of the stream, in addition to those of time. Unused columns are never read. Default: all but an
        index that pandas wrote to a file, ``__index_level_0__``.
    where : str, Expr or pyspark.sql.Column, or several, optional
        The rows to read, in SQL or as an expression. It is pushed down to Spark and its files.
    between : (moment, moment), optional
        Only events that start at or after the first and before the second; None leaves a side open.
    order : {"time", "newest", "random"}, optional
        "time": Spark sorts, and a query over years needs little memory here. "newest" and "random": the rows that a
        progressive query reads first, the newest or a random sample. Default: the order of Spark, which costs least.
    samples, rate, jitter, duplicates
        Blocks of samples, as in :func:`read_parquet`.
    spark : pyspark.sql.SparkSession, optional
        Where names and SQL are looked up. Default: the running session.

    Examples
    --------
    ``wb.from_spark("logs.requests", time="at", where=col.level == "error", between=("2024-01-01", "2024-02-01"))``
    """
    from whimbrel.spark import spark_source  # when it is asked for

    source = spark_source(data, time=time, end=end, arrival=arrival, columns=columns, where=where, between=between,
                          order=order, reorder_latency=reorder_latency, late=late, name=name, spark=spark)
    return Stream(with_samples(source, samples, rate, jitter=jitter, duplicates=duplicates, call="from_spark"))


def replay(log: Stream | Source, speed: float | None = None, *, start: Instant | None = None,
           end: Instant | None = None, clock: ReplayClock | None = None, every: Duration | None = None,
           reorder_latency: Duration | None = None, late: str | None = None,
           partition: str | PartitionWatermarks | None = None) -> Stream:
    """Replay a log as a live feed.

    Rows arrive at their arrival times, `speed` times as fast.

    Parameters
    ----------
    log : Stream
        A log without further steps, or samples of blocks. Rows are paced by its arrival column, or by event time
        without one.
    speed : float, optional
        Seconds of the log per second; ``float("inf")`` for as fast as they are read. Default: 1000.
    start, end : str, datetime, date or int, optional
        Only rows that arrived in [start, end).
    clock : ReplayClock, optional
        Pauses, steps, sets and accelerates all replays that share it. By default each run has its own clock,
        ``run.clock``, for all replays of the query.
    every : str, timedelta or int (ticks), optional
        Rows arrive in batches of this much log time, at its end. Every run has the same batches.
    reorder_latency, late, partition : optional
        As in :func:`read_parquet`; default: those of the log. Only queries with ``at_latencies(...)`` need no
        reorder latency. Other queries raise an error when they are started or explained.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 4, 3, 12], "seen": [1, 5, 6, 13]}, time="at", arrival="seen")
    >>> feed = wb.replay(log, speed=float("inf"), reorder_latency=2, every=10)
    >>> [answer.metrics.rows for answer in feed.tumbling_window(5).aggregate(n=wb.count()).progressive(every=1)]
    [3, 4]
    """
    source, blocks = log.node.op if isinstance(log, Stream) else log, None
    if isinstance(log, Stream) and isinstance(source, BlockSamples):
        source, blocks = log.node.inputs[0].op, source
    if not isinstance(source, Source):
        raise PlanError("replay() needs a source without further steps.", where="replay(...)",
                        hint="Replay the source and run the query on it: query.on(wb.replay(source)).")
    if not isinstance(clock, ReplayClock | None):
        raise PlanError(f"clock must be the clock of a replay, got {type(clock).__name__}.", where="replay(clock=...)",
                        hint="Use run.clock of another run, or leave clock= out.")
    replayed = Node(Replay(source, speed, start=start, end=end, clock=clock, every=every,
                           reorder_latency=reorder_latency, late=late, partition=partition, latency_later=True))
    return Stream(replayed if blocks is None else Node(blocks, (replayed,)))
