"""Actions of a stream: explain, collect, start, run on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from whimbrel import progressive as progressing
from whimbrel import run as running
from whimbrel.clock import Duration
from whimbrel.errors import PlanError
from whimbrel.migration_hints import renamed
from whimbrel.optimize import borders, notes_on_levels, notes_on_loops, optimize
from whimbrel.plan import Node, Operator, Sink, explain, readable
from whimbrel.progressive import ProgressiveQuery
from whimbrel.run import Checkpoints, Lineage, Pipeline, Profile, Run, Samples
from whimbrel.stream.result_frames import check_form, converted
from whimbrel.stream.results import ResultMethods
from whimbrel.stream.two_levels import TwoLevels

if TYPE_CHECKING:
    from whimbrel.stream.lateness import Lateness

_MEASURED_ROWS = 4_000_000


class Actions(ResultMethods, TwoLevels):
    """Explain a query, collect its result, start it, or run it on Spark."""

    node: Node

    def explain(self, *, on: Any = None, measure: bool = False) -> str:
        """Show the plan and the optimized plan.

        Parts that are over time have their definitions in the notation of the TiLT paper, and how far they read. Notes
        at the end say why other operators are not over time, or not in a periodic loop, or not in the low level.

        Parameters
        ----------
        measure : bool
            Run the query on the first four million rows of its sources. Each step then has its rows, and its time for
            each row. Not for feeds: use :meth:`whimbrel.Run.explain` of their runs.
        on : pyspark.sql.SparkSession, optional
            Show how Spark executes the query: the steps of Spark SQL, those of the engine's kernels, and the exchange
            of rows between them.
        """
        if on is not None:
            from whimbrel.spark import explain_on_spark  # when it is asked for

            return explain_on_spark(self.node, on)
        plan = optimize(self.node)
        if measure and any(source.live for source in self.node.sources()):
            raise PlanError("explain(measure=True) cannot read a feed, whose rows may not come again.",
                            where="explain(measure=True)", hint="Start the query, and use explain() of its run.")
        found = (*borders((plan,)), *notes_on_loops(self.node), *notes_on_levels(self.node))
        notes = "".join(f"\nnote: {note}" for note in found)
        lines = running.explain_measured(self.node, _MEASURED_ROWS) if measure else running.explain_costs(plan, {})
        return readable(f"{explain(self.node)}\n\nruns as\n{lines}{notes}")

    def kernels(self) -> str:
        """Show the generated source code of the query.

        The code is generated for the first rows of the sources.
        """
        pipeline = Pipeline(optimize(self.node))
        for number, source in enumerate(pipeline.sources):
            rows = source.read(source.schema.names)
            first = next((batch for batch in rows if batch is not None), None)
            if first is not None:
                pipeline.push(number, first.slice(0, 64))
        for number in range(len(pipeline.sources)):
            pipeline.finish(number)
        notes = [f"# note: {note}" for node in self.node.walk() if isinstance(node.op, Operator)
                 for note in node.op.notes(*(below.schema for below in node.inputs))]
        return "\n\n".join([*(text for kernel in pipeline.kernels for text in kernel.sources), *notes])

    def on_spark(self, spark: Any, *, exchange: Literal["key", "time", "order"] | None = None,
                 native: bool | None = None) -> Any:
        """Run the query on Spark, as a lazy DataFrame.

        Columns: start, end and payload.

        Aggregates over windows run in two phases: partial aggregates where the rows are, in Spark SQL or in the
        engine's kernels, and the merge. Steps per key are partitioned by key. Windows and joins with bounded lifetimes
        are partitioned by time ranges. All other steps run in one task, in time order. User-defined aggregates and
        patterns run in the tasks too. ``explain(on=spark)`` shows the plan. No job runs now, except one that measures
        the source when time ranges are needed.

        Parameters
        ----------
        spark : pyspark.sql.SparkSession
        exchange : {"key", "time", "order"}, optional
            The partitioning of an exchange of rows. Default: chosen by the planner.
        native : bool, optional
            Whether Spark SQL computes the partial aggregates. Default: where its results are identical.

        Raises
        ------
        PlanError
            For feeds, for sources whose rows may be late, and for options that the query does not allow.
        """
        from whimbrel.spark import SparkExecution  # when it is asked for

        return SparkExecution(self.node, spark, exchange=exchange, native=native).frame()

    def start_on_spark(self, *, path: str | os.PathLike[str] | None = None, table: str | None = None,
                       checkpoint: str | os.PathLike[str], every: str | None = None, available_now: bool = False,
                       partitions: int | None = None) -> Any:
        """Start the query on a streaming DataFrame of Spark.

        Settled rows are written to a folder or a table.

        Tasks process each micro-batch, and keep the engine's state for the next one. Steps per key are partitioned by
        key. Result rows appear exactly once, also when the query is killed and started again with the same checkpoint.
        They have start, end, payload, and the micro-batch that settled them (`batch`).

        All rows of a micro-batch arrive at the same time. A row is late when it is older than the newest row of the
        earlier micro-batches, minus the reorder latency. The late policy of the source drops late rows, adjusts them or
        raises an error.

        Parameters
        ----------
        path, table : str, optional
            The target of settled rows: a folder of Parquet files, or a table of Spark's catalog.
        checkpoint : str or path
            A folder for this query alone, which all tasks can access.
        every : str, optional
            The minimum time between two micro-batches, such as ``"10s"``. Default: none.
        available_now : bool
            Process the available rows, and stop.
        partitions : int, optional
            The number of partitions of the keys, fixed at the first start. Default: the number of Spark's cores.

        Returns
        -------
        whimbrel.spark.SparkRun
            With ``wait()``, ``stop()``, ``finish()`` and ``last_batch``.

        Raises
        ------
        PlanError
            For a query with other sources than one streaming DataFrame, or with a side output of late rows.
        CheckpointError
            When the checkpoint belongs to another query.
        SinkError
            When files with result rows are missing or truncated. Only a folder of this machine is checked.
        """
        from whimbrel.spark import SparkRun, SparkSink  # when it is asked for

        sink = SparkSink(None if path is None else os.fspath(path), table)
        return SparkRun(self.node, sink, Path(checkpoint), partitions, every=every, available_now=available_now)

    def collect(self, *, threads: int = 1, on: Any = None,
                as_: Literal["arrow", "polars", "pandas", "duckdb"] = "arrow") -> Any:
        """Run the query to its end, and return the exact result.

        Columns: start, end and payload. Rows are in the order of start.

        The end is null when none is known.

        Parameters
        ----------
        threads : int
            How many time ranges run in parallel. It applies to tables and Parquet files in time order, and to queries
            with bounded lifetimes, such as windows; other queries run on one thread. The rows are the same. Rows of
            one start may have another order, and the last digit of a sum of floats may differ.
        on : pyspark.sql.SparkSession, optional
            Where it runs, as with :meth:`on_spark`; the result is returned here.
        as_ : {"arrow", "polars", "pandas", "duckdb"}
            The form of the result: a table of Arrow, a data frame of Polars or pandas, or a relation of DuckDB.

        Raises
        ------
        MissingExtraError
            Without the library of `as_`, before anything runs.
        """
        check_form(as_)
        if on is not None:
            from whimbrel.spark import collect_on_spark

            return converted(collect_on_spark(self.node, on), as_)
        return converted(running.collect(self.node, threads), as_)

    def collect_samples(self) -> Samples:
        """Run the query, and return samples as arrays with a timebase.

        Times are not stored.

        The rows must be samples of one signal, such as those of :func:`whimbrel.from_samples` or ``assume(rate=...)``.
        Rows that a step has left out are gaps.

        Returns
        -------
        whimbrel.Samples

        Examples
        --------
        >>> import numpy as np
        >>> import whimbrel as wb
        >>> talk = wb.from_samples({"x": np.arange(5, dtype="int16")}, rate=8000, unit="us")
        >>> found = talk.where(wb.col.x != 2).collect_samples()
        >>> found, found["x"].dtype, found["x"].tolist(), found.gaps
        (Samples(4 of x at 8000 per second, 1 gap), dtype('int16'), [0, 1, 3, 4], [(2, 1)])
        """
        return running.collect_samples(self.node)

    def batches(self, *, timeout: float | Duration | None = 30.0) -> Iterator[pa.RecordBatch]:
        """Iterate over settled rows in record batches.

        Each batch comes as soon as its rows are settled.

        Parameters
        ----------
        timeout : float (seconds), str, timedelta or None
            How long to wait for the server of a feed that was never there. None: forever.

        Raises
        ------
        SourceError
            When the server cannot be reached in that time. A server that is lost later is waited for.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [0, 4, 12]}, time="at")
        >>> counts = log.tumbling_window(10).aggregate(n=wb.count())
        >>> [n for batch in counts.batches() for n in batch["n"].to_pylist()]
        [2, 1]
        """
        return running.batches(self.node, timeout)

    def progressive(self, every: Duration | None = None, *, seconds: float | None = None, at: Sequence[float] = (),
                 confidence: float = 0.95, order: Literal["random", "newest", "oldest", "time"] | None = None,
                 seed: int = 0, block_rows: int | None = None,
                 resume: str | os.PathLike[str] | None = None, late: Lateness | None = None,
                 intervals: Literal["approximate", "guaranteed"] = "approximate") -> ProgressiveQuery:
        """Estimate the result progressively (online aggregation).

        The estimates converge to the exact result. See :class:`whimbrel.ProgressiveQuery`.

        A query that aggregates tables or files over tumbling or hopping windows reads blocks in random order, and its
        estimates have intervals. Other queries run in time order, and say why.

        Parameters
        ----------
        every : str, timedelta or int
            How often an update comes: a fraction of the rows such as ``"1%"`` (the default; 65,536 rows when their
            number is unknown), a duration such as ``"50ms"``, or a number of rows.
        seconds, at : float and sequence of float, optional
            Instead of `every`: seconds between updates; or updates at these fractions of the rows, and at the end.
        confidence : float
            Confidence of each interval, over all updates together.
        order : {"random", "newest", "oldest", "time"}, optional
            Order of the blocks. Default: random if possible, otherwise time order.
        seed : int
            Seed of the random order.
        block_rows : int, optional
            Rows of a block, if the source can cut blocks anywhere. Default: a 200th of all rows, within bounds.
        resume : str or path, optional
            A file of :meth:`whimbrel.ProgressiveQuery.save`. The query resumes without reading those rows again.
        late : Lateness, optional
            Lateness of earlier rows, so that intervals allow for late rows of a feed, or of a log that ends now.
        intervals : {"approximate", "guaranteed"}
            Approximate intervals assume that the sample shows how much the rest may differ. Guaranteed ones hold for
            any data within known bounds, and are wider. Without known bounds there is none, and `summary` says why.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": range(100_000), "x": [n % 7 for n in range(100_000)]}, time="at")
        >>> query = log.tumbling_window(100_000).aggregate(n=wb.count(), total=wb.sum(wb.col.x))
        >>> for answer in query.progressive(at=[0.1, 0.5]):
        ...     print(f"{answer.fraction_read:.0%}", answer.table["total"].to_pylist(), f"{answer.relative_error:.1%}")
        10% [299841] 0.2%
        50% [299952] 0.1%
        100% [299995] 0.0%
        """
        return progressing.progressive(progressing.in_parts(self.node, order), every, seconds=seconds, at=at,
                                       order=order, confidence=confidence, seed=seed, block_rows=block_rows,
                                       resume=resume, late=late, intervals=intervals)

    def profile(self) -> Profile:
        """Profile the query: run it to its end, and measure.

        The profile shows the time by operator, by kernel, and of waiting for the compiler.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1, 4, 12], "x": [1, 2, 3]}, time="at", name="log")
        >>> spent = events.where(wb.col.x > 1).tumbling_window(10).aggregate(n=wb.count()).profile()
        >>> spent.operators.select(["operator", "rows_in", "rows_out"]).to_pylist()[0]
        {'operator': 'log', 'rows_in': 3, 'rows_out': 3}
        """
        return running.profile(self.node)

    def lineage(self, row: Mapping[str, Any] | None = None, /, *, limit: int = 1000, **columns: Any) -> Lineage:
        """Find the source events of a result row.

        The sources are read again.

        Parameters
        ----------
        row : mapping of str to value, optional
            A row of the result, such as one of ``to_pylist()``: start, end, columns.
        limit : int
            Events of each source to show, the newest; all are counted.
        **columns
            Instead of a row, or with it: ``start=`` (the rows at that time), and values of columns such as keys.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> rows = {"at": [1, 4, 5, 12], "k": ["a", "b", "a", "a"], "x": [10, 20, 30, 40]}
        >>> log = wb.from_arrow(rows, time="at", name="log")
        >>> sums = log.where(col.x > 5).group_by("k").tumbling_window(10).aggregate(total=wb.sum(col.x))
        >>> found = sums.lineage(start=0, k="a")
        >>> print(found)
        2 events of log
        log → where(col.x > 5) → tumbling_window(10) → group_by(k).aggregate(total=sum(col.x))
        >>> found.events["log"].select(["start", "x"]).to_pylist()
        [{'start': 1, 'x': 10}, {'start': 5, 'x': 30}]
        >>> found.rerun().to_pylist()
        [{'start': 0, 'end': 10, 'k': 'a', 'total': 40}]
        """
        return running.lineage(self.node, {**(row or {}), **columns}, limit=limit)

    @renamed(to="sink")
    def start(self, *, keep_rows: int = 1_000_000, sink: Sink | None = None,
              checkpoints: Checkpoints | None = None) -> Run:
        """Start the query on a thread of its own.

        Parameters
        ----------
        keep_rows : int
            Settled result rows to keep; older ones are evicted, and counted in the metrics.
        sink : Sink, optional
            Where settled rows go, such as ``wb.sinks.parquet("out")``.
        checkpoints : Checkpoints, optional
            Where checkpoints are stored. A run that is started again with them resumes, also after a crash. Each
            settled row is in the sink exactly once, if the sink supports it.
        """
        return running.start(self.node, keep_rows=keep_rows, sinks=(sink,), checkpoints=checkpoints)[0]
