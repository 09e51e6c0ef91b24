"""What a notebook user holds: a stream, what can be known of it, and the answers it gives."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from whimbrel import display
from whimbrel import progress as progressing
from whimbrel import run as running
from whimbrel.batch import Schema
from whimbrel.clock import Duration
from whimbrel.connect.instant import Instant
from whimbrel.elsewhere import STREAM, absent
from whimbrel.errors import PlanError
from whimbrel.expr import Column, Expr, Keys, check_key, check_name, named_columns, named_words, type_of
from whimbrel.optimize import optimize
from whimbrel.plan import Node, Operator, Operators, Sink, Source, check_lookahead, explain, readable
from whimbrel.progress import Progress
from whimbrel.run import Behind, Checkpoints, Pipeline, Profile, Run
from whimbrel.stream.bands import Bands, Query, at_latencies
from whimbrel.stream.grouping import alike, columns_of_keys, keeping, with_keys_as_columns, within_groups
from whimbrel.stream.handing_over import hand_over
from whimbrel.stream.methods import Methods
from whimbrel.stream.rebind import rebind

if TYPE_CHECKING:
    from whimbrel.stream.certify import Certificate
    from whimbrel.stream.lateness import Lateness


@dataclass(frozen=True, eq=False, repr=False)
class Stream(Methods):
    """Events over time: each a payload that is true from start up to, not including, end.

    Streams are immutable descriptions; methods make new ones, and nothing is read before an answer is asked for.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> events = wb.from_arrow({"at": [1, 4, 12], "x": [10, 20, 30]}, time="at")
    >>> events.where(col.x > 10).tumbling_window(10).aggregate(total=wb.sum(col.x)).collect().to_pylist()
    [{'start': 0, 'end': 10, 'total': 20}, {'start': 10, 'end': 20, 'total': 30}]
    """

    node: Node
    keys: Keys = ()
    group: tuple[str, ...] = ()
    """Inside of ``group_apply``, the keys of its groups: columns that every step keeps."""

    if not TYPE_CHECKING:  # type checkers know what is there
        __getattr__ = absent("A stream", STREAM)

    def group_by(self, *names: str | Expr, **keys: Column) -> Stream:
        """Let what follows happen per key: aggregate and detect give results for each.

        Parameters
        ----------
        *names : str or Expr
            Columns.
        **keys : Expr or callable
            Computed keys, by the name they get in the result.
        """
        every = (*self.keys, *named_columns("group_by", names, keys))
        if not every:
            raise PlanError("group_by() needs a key.", where="group_by()", hint='such as group_by("origin")')
        for name, expr in every:
            check_name(name, "group_by")
            check_key(name, type_of(expr, self.schema, where=(call := f"group_by({named_words(every)})")), call)
        return replace(self, keys=every)

    def group_apply(self, query: Callable[[Stream], Stream]) -> Stream:
        """A query of its own for each group: what it answers, and the keys beside it.

        Within, every step is per key: columns may be chosen without the keys, an aggregate is followed by another one
        of the same groups, ``group_by`` makes groups of groups, and streams of the same groups join within a group.
        A null key is a group, but meets nothing in a join. Time is common to all groups: ``fill=`` goes on to the last
        window in which any group has a row.

        Parameters
        ----------
        query : callable
            From the stream of a group to the answer.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> rows = {"at": [1, 2, 4, 12], "k": ["a", "b", "a", "a"], "x": [1, 5, 2, 3]}
        >>> sums = lambda g: g.tumbling_window(10).aggregate(s=wb.sum(col.x)).where(col.s < 5)
        >>> wb.from_arrow(rows, time="at").group_by("k").group_apply(sums).collect().to_pylist()
        [{'start': 0, 'end': 10, 'k': 'a', 's': 3}, {'start': 10, 'end': 20, 'k': 'a', 's': 3}]
        """
        if not self.keys:
            raise PlanError("There are no groups.", where="group_apply()",
                            hint='such as group_by("k").group_apply(...)')
        if not callable(query):
            raise PlanError(f"{query!r} is not a function.", where="group_apply()",
                            hint="such as group_apply(lambda g: g.aggregate(n=wb.count()))")
        keyed = with_keys_as_columns(self.node, self.keys)
        names = tuple(name for name, _ in self.keys)
        done = query(Stream(keyed, columns_of_keys(names), names))
        if not isinstance(done, Stream) or done.group != names:
            raise PlanError("The query answers with something else than a stream of the group.", where="group_apply()",
                            hint="begin with what the function is given: lambda g: g.aggregate(...)")
        return Stream(done.node, columns_of_keys(self.group), self.group)

    def on(self, other: Stream | Source | Mapping[str, Stream | Source] | Mapping[Source, Source]) -> Stream:
        """The same query on other data.

        Parameters
        ----------
        other : Stream, Source or mapping of name to either
            What to read instead; by name, or by the source itself, when the query reads several sources.

        Raises
        ------
        SchemaError
            When a column that the query needs is missing or of another type; it is named.
        """
        return replace(self, node=rebind(self.node, other))

    def then(self, feed: Stream, *, offset: str | None = None, within: str | None = None,
             keys: Sequence[str] = (), span: Duration | None = None, at: Instant | None = None) -> Stream:
        """First this history at full speed, then a feed from where it ends: nothing missing, nothing twice.

        Say one of three ways in which they overlap. While it runs, the feed's state in ``run.metrics.feeds`` says
        "history", "catching up" or "live".

        Parameters
        ----------
        feed : Stream
            A feed as it was made, with the columns of this history.
        offset : str, optional
            A column that grows from row to row and is in both: rows of the feed up to the history's last are left out.
        within : str, optional
            The column within whose values it grows. Default, of Kafka's offset: ``"partition"``, needed for several.
        keys : sequence of str, optional
            Columns that, with the time, tell rows apart: rows of the feed that the history has are left out,
        span : str, timedelta or int (ticks), optional
            of which the last span of time is remembered. Older rows of the feed are left out as far back as the history
            goes: it may have had them.
        at : str, datetime or int (ticks), optional
            The history is told before this time, the feed from then on.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 2, 3], "n": [1, 2, 3]}, time="at")
        >>> feed = wb.feeds.iterator(lambda: [{"at": at, "n": at} for at in (2, 3, 4, 5)], time="at")
        >>> log.then(feed, offset="n").select("n").collect()["n"].to_pylist()
        [1, 2, 3, 4, 5]
        """
        return Stream(Node(hand_over(self.node.op, feed.node.op if isinstance(feed, Stream) else feed, offset=offset,
                                     within=within, keys=keys, span=span, at=at)))

    def at_latencies(self, *latencies: Duration, partial: Query | None = None, merge: Query | None = None) -> Bands:
        """The answers at several reorder latencies together: early ones, and what late rows make of them.

        Rows later than the last latency are left out, and counted. See :class:`whimbrel.stream.Bands`.

        Parameters
        ----------
        *latencies : str, timedelta or int (ticks)
            Growing.
        partial, merge : callable, optional
            The user's own split of what this stream is asked: `partial`, from the rows of a band to what is kept of
            them, and `merge`, from what was kept of all bands so far to the answer. Otherwise the planner splits by
            itself where the aggregates allow it.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9]}, time="at", arrival="seen", name="log")
        >>> early, late = log.tumbling_window(4).aggregate(n=wb.count()).at_latencies(0, 10)
        >>> early.collect()["n"].to_pylist(), late.collect()["n"].to_pylist()
        ([1, 1, 1], [3, 1, 1])
        """
        return at_latencies(self, latencies, partial, merge)

    @property
    def schema(self) -> Schema:
        """Payload columns, and the unit of time."""
        return self.node.schema

    @property
    def sources(self) -> tuple[Source, ...]:
        """What it reads."""
        return self.node.sources()

    def explain(self, *, on: Any = None) -> str:
        """The plan as written, and the plan that runs.

        Parameters
        ----------
        on : pyspark.sql.SparkSession, optional
            How Spark would carry it: what Spark SQL does, what the engine's kernels do, and how rows get from one to
            the other.
        """
        if on is not None:
            from whimbrel.spark import explain_on_spark  # when it is asked for

            return explain_on_spark(self.node, on)
        return readable(f"{explain(self.node)}\n\nruns as\n{explain(optimize(self.node))}")

    def kernels(self) -> str:
        """The source text that is generated for this query, once it has seen the first rows of its sources."""
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
        """The answer as a Spark DataFrame: start, end, payload.

        Aggregates over windows run in two steps: what comes of the rows where they are, in Spark SQL or in the engine's
        kernels, and what is made of that. What happens per key is partitioned by key, windows and joins of bounded
        lifetimes by ranges of time; the rest goes through one task, in the order of time, however many rows there are.
        Users' aggregates and patterns run in the tasks too. ``explain(on=spark)`` says what is done. No job runs now,
        but one that measures the source where ranges of time are to be found.

        Parameters
        ----------
        spark : pyspark.sql.SparkSession
        exchange : {"key", "time", "order"}, optional
            How rows change places, in one step. Default: what seems best.
        native : bool, optional
            Whether Spark SQL makes the states of aggregates. Default: where it makes the same of them.

        Raises
        ------
        PlanError
            For feeds, sources whose rows may be late, and what cannot be done as asked.
        """
        from whimbrel.spark import Carriage  # when it is asked for

        return Carriage(self.node, spark, exchange=exchange, native=native).frame()

    def start_on_spark(self, *, path: str | os.PathLike[str] | None = None, table: str | None = None,
                       checkpoint: str | os.PathLike[str], every: str | None = None, available_now: bool = False,
                       partitions: int | None = None) -> Any:
        """Follow a streaming DataFrame on Spark, and write what is settled to a folder or a table.

        Each micro-batch goes through tasks that keep the engine's state between them; what happens per key is
        partitioned by key. Rows of the answer appear exactly once, also when the query is killed and started again with
        the same checkpoint: start, end, payload, and the micro-batch that settled them (`batch`).

        A micro-batch arrives at once: a row is late when it is older than the newest row of the micro-batches before,
        less the reorder latency. Late rows are dropped, adjusted or an error, as the source says.

        Parameters
        ----------
        path, table : str, optional
            Where the answer goes: a folder of Parquet files, or a table of Spark's catalog.
        checkpoint : str or path
            A folder that all tasks reach, for this query alone.
        every : str, optional
            The least time from one micro-batch to the next, such as ``"10s"``. Default: none.
        available_now : bool
            Take what there is, and stop.
        partitions : int, optional
            Into how many parts the keys are cut, the first time. Default: as many as Spark has cores.

        Returns
        -------
        whimbrel.spark.SparkRun
            With ``wait()``, ``stop()``, ``finish()`` and ``progress``.

        Raises
        ------
        PlanError
            For a query that reads anything but one streaming DataFrame, or that asks for late rows on the side.
        CheckpointError
            When the checkpoint is of another query.
        """
        from whimbrel.spark import Sink, SparkRun  # when it is asked for

        sink = Sink(None if path is None else os.fspath(path), table)
        return SparkRun(self.node, sink, Path(checkpoint), partitions, every=every, available_now=available_now)

    def collect(self, *, threads: int = 1, on: Any = None) -> pa.Table:
        """The exact answer, to the end: start, end, payload, in the order of start; end is null when none is known.

        Parameters
        ----------
        threads : int
            Rows of a table or Parquet files that are in the order of time are cut into so many ranges, which threads
            answer side by side: where lifetimes are bounded, as in windows, so that a range needs little beside its
            own rows. Other queries run on one thread, whatever is asked for. Rows are the same; those of one start may
            come in another order, and the last digit of a sum of floats may differ.
        on : pyspark.sql.SparkSession, optional
            Where it runs, as with :meth:`on_spark`; the answer comes here.
        """
        if on is not None:
            from whimbrel.spark import collect_on_spark

            return collect_on_spark(self.node, on)
        return running.collect(self.node, threads)

    def certify(self, history: Stream, live_log: Stream, *, spark: Any = None, threads: int = 2) -> Certificate:
        """Whether a back-test says what a live run says, row by row: on threads, on Spark, and replayed as it came.

        Parameters
        ----------
        history : Stream
            A source, as the back-test reads it.
        live_log : Stream
            The same rows in the order in which they came, with the promise of the feed.
        spark : pyspark.sql.SparkSession, optional
            Ask there, too.
        threads : int

        Returns
        -------
        Certificate
            Rows that differ, each with the reason. It is `ok` when late rows, and nothing else, make the difference:
            when history without them gives what came live.

        Examples
        --------
        >>> import whimbrel as wb
        >>> rows = {"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9]}
        >>> history = wb.from_arrow(rows, time="at", arrival="seen", name="log")
        >>> came = wb.from_arrow(rows, time="at", arrival="seen", reorder_latency=2, late="drop", name="log")
        >>> history.tumbling_window(4).aggregate(n=wb.count()).certify(history, came)
        certified: 3 rows, the same on 2 threads, the log as it came
        2 rows differ live; rows that were late: 1
        """
        from whimbrel.stream.certify import certify  # it needs streams itself

        return certify(self, history, live_log, spark, threads)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Settled rows as they come."""
        return running.batches(self.node)

    def progress(self, every: Duration | None = None, *, seconds: float | None = None, at: Sequence[float] = (),
                 confidence: float = 0.95, order: Literal["random", "newest", "oldest", "time"] | None = None,
                 seed: int = 0, block_rows: int | None = None,
                 resume: str | os.PathLike[str] | None = None, late: Lateness | None = None) -> Progress:
        """Answers that refine, the first one at once and the last one exact. See :class:`whimbrel.Progress`.

        Where a query aggregates rows of tables or files over tumbling or hopping windows, they are read block by block
        in random order, and each answer has intervals. Others are answered in the order of time, and say why.

        Parameters
        ----------
        every : str, timedelta or int
            A share of the rows such as ``"1%"`` (the default, or 65,536 rows where nobody knows how many there are), a
            span of time such as ``"50ms"``, or a number of rows.
        seconds, at : float and sequence of float, optional
            Instead: an answer every so often; or at these shares of the rows, and at the end.
        confidence : float
            With which each interval holds, at all looks together.
        order : {"random", "newest", "oldest", "time"}, optional
            Of the blocks. Default: random where that is possible, else the order of time.
        seed : int
            Of the random order.
        block_rows : int, optional
            Of a block, where the source can cut blocks anywhere. Default: a 200th of all, within bounds.
        resume : str or path, optional
            What :meth:`whimbrel.Progress.keep` wrote: goes on from there, without reading what was read.
        late : Lateness, optional
            Of earlier rows: intervals allow for late ones, of windows that a feed has passed, or a log that ends now.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": range(100_000), "x": [n % 7 for n in range(100_000)]}, time="at")
        >>> query = log.tumbling_window(100_000).aggregate(n=wb.count(), total=wb.sum(wb.col.x))
        >>> for answer in query.progress(at=[0.1, 0.5]):
        ...     print(f"{answer.share:.0%}", answer.table["total"].to_pylist(), f"{answer.error:.1%}")
        10% [299860] 0.3%
        50% [299956] 0.1%
        100% [299995] 0.0%
        """
        return progressing.progress(progressing.in_parts(self.node, order), every, seconds=seconds, at=at, order=order,
                                    confidence=confidence, seed=seed, block_rows=block_rows, resume=resume, late=late)

    def profile(self) -> Profile:
        """Run it to the end, and say where the time went: by operator, by kernel, and waiting for the compiler.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1, 4, 12], "x": [1, 2, 3]}, time="at", name="log")
        >>> spent = events.where(wb.col.x > 1).tumbling_window(10).aggregate(n=wb.count()).profile()
        >>> spent.operators.select(["operator", "rows_in", "rows_out"]).to_pylist()[0]
        {'operator': 'log', 'rows_in': 3, 'rows_out': 3}
        """
        return running.profile(self.node)

    def behind(self, row: Mapping[str, Any] | None = None, /, *, most: int = 1000, **columns: Any) -> Behind:
        """The events that a row of the answer is made of, found by reading the sources once more.

        Parameters
        ----------
        row : mapping of str to value, optional
            A row of the answer, such as one of ``to_pylist()``: start, end, columns.
        most : int
            Events of each source to show, the newest; all are counted.
        **columns
            Instead of a row, or beside it: ``start=`` (what holds at that time), and values of columns such as keys.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> rows = {"at": [1, 4, 5, 12], "k": ["a", "b", "a", "a"], "x": [10, 20, 30, 40]}
        >>> log = wb.from_arrow(rows, time="at", name="log")
        >>> sums = log.where(col.x > 5).group_by("k").tumbling_window(10).aggregate(total=wb.sum(col.x))
        >>> found = sums.behind(start=0, k="a")
        >>> print(found)
        2 events of log
        log → where(col.x > 5) → tumbling_window(10) → group_by(k).aggregate(total=sum(col.x))
        >>> found.events["log"].select(["start", "x"]).to_pylist()
        [{'start': 1, 'x': 10}, {'start': 5, 'x': 30}]
        >>> found.again().to_pylist()
        [{'start': 0, 'end': 10, 'k': 'a', 'total': 40}]
        """
        return running.behind(self.node, {**(row or {}), **columns}, most=most)

    def start(self, *, keep_rows: int = 1_000_000, to: Sink | None = None,
              checkpoints: Checkpoints | None = None) -> Run:
        """Run on a thread of its own.

        Parameters
        ----------
        keep_rows : int
            Settled result rows to keep; older ones are forgotten, and counted in the metrics.
        to : Sink, optional
            Where settled rows go, such as ``wb.sinks.parquet("out")``.
        checkpoints : Checkpoints, optional
            Where the run is written down, to go on from when it is started again, also when the process was killed:
            each settled row is in the sink once, if the sink can do that.
        """
        return running.start(self.node, keep_rows=keep_rows, to=(to,), checkpoints=checkpoints)[0]

    @property
    def view(self) -> display.Views:
        """A live view of the answer: ``view(...)``, or by kind, such as ``view.bar(...)`` (needs the workbench)."""
        return display.Views(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return display.mimebundle(self)

    def __repr__(self) -> str:
        keys = f"   grouped by {', '.join(name for name, _ in self.keys)}" if self.keys else ""
        return readable(f"{explain(self.node)}{keys}\n{self.schema.show()}")

    # What the methods of operators do: build the operators for this stream, and put them behind.

    def _unary(self, build: Callable[..., Operators], /, *arguments: Any, **options: Any) -> Stream:
        return self._behind(build(self.schema, *arguments, **options), self.node)

    def _binary(self, build: Callable[..., Operators], right: Stream, *arguments: Any, allow_lookahead: bool,
                **options: Any) -> Stream:
        _check_streams(build, right)
        made = build(self.schema, right.schema, *arguments, **options)
        nodes = self.node, right.node
        if alike(self.keys, right.keys) and (both := within_groups(made, self.keys)) is not None:
            made = both
            nodes = with_keys_as_columns(self.node, self.keys), with_keys_as_columns(right.node, right.keys)
        return self._behind(made, *nodes, allow_lookahead=allow_lookahead)

    def _nary(self, build: Callable[..., Operators], *others: Stream) -> Stream:
        _check_streams(build, *others)
        made = build(self.schema, *(other.schema for other in others))
        return self._behind(made, self.node, *(other.node for other in others))

    def _behind(self, made: Operators, *inputs: Node, allow_lookahead: bool = True) -> Stream:
        first, *others = (keeping(op, self.group) for op in ((made,) if isinstance(made, Operator) else made))
        node = Node(first, inputs)
        if not allow_lookahead:
            check_lookahead(node)
        for op in others:
            node = Node(op, (node,))
        ended = any(op.ends_grouping for op in (first, *others))
        return Stream(node, columns_of_keys(self.group) if ended else self.keys, self.group)


def _check_streams(build: Callable[..., Operators], *others: object) -> None:
    for other in others:
        if not isinstance(other, Stream):
            raise PlanError(f"Cannot {build.__name__.replace('_', ' ')} with a {type(other).__name__}.",
                            where=f"{build.__name__}()", hint="give another stream")
