"""Streams: immutable queries over events, with methods that extend them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa

from whimbrel import display
from whimbrel import run as running
from whimbrel.batch import Schema
from whimbrel.clock import Duration, Instant, show_ticks
from whimbrel.errors import PlanError
from whimbrel.expr import Column, Expr, Keys, can_be_key, check_key, check_name, named_columns, named_words, type_of
from whimbrel.expr.deep_nesting import refusing_deep_nesting
from whimbrel.migration_hints import LATENCY_BANDS, STREAM, absent, renamed
from whimbrel.operators import Changelog, LateRows
from whimbrel.plan import (
    Node,
    Operator,
    Operators,
    Source,
    check_lookahead,
    explain,
    readable,
    recorded,
)
from whimbrel.run import Checkpoints, Run
from whimbrel.stream.actions import Actions
from whimbrel.stream.band_sequence import BandSequence
from whimbrel.stream.certify import Certificate, certify
from whimbrel.stream.checked_call import checked_methods
from whimbrel.stream.collection_errors import has_no_items, has_no_length, is_true
from whimbrel.stream.grouping import alike, columns_of_keys, keeping, with_keys_as_columns, within_groups
from whimbrel.stream.hybrid import hybrid_source
from whimbrel.stream.latency_bands import apart, check_split, latency_ticks, merged, on_time
from whimbrel.stream.methods import Methods
from whimbrel.stream.query_texts import Texts, TextsOfBands
from whimbrel.stream.rebind import rebind
from whimbrel.stream.temporal_columns import with_temporal_columns
from whimbrel.stream.time_functions import FunctionsOfTime
from whimbrel.stream.time_units import in_one_unit

Query = Callable[["Stream"], "Stream"]
_Made = TypeVar("_Made", bound="Stream")


@checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Stream(Methods, FunctionsOfTime, Actions, Texts):
    """A possibly unbounded sequence of events.

    An event is a payload with a lifetime ``[start, end)``, in which it is true.

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
        __getattr__ = absent("A stream", STREAM, columns=lambda stream: stream.node.schema)
        sample = renamed(share="fraction")(Methods.sample)
        __len__, __getitem__, __bool__ = has_no_length, has_no_items, is_true

    def group_by(self, *names: str | Expr, **keys: Column) -> Stream:
        """Group the following steps by key.

        Steps such as aggregate and detect then give results for each key.

        Parameters
        ----------
        *names : str or Expr
            Columns.
        **keys : Expr or callable
            Computed keys, by the name they get in the result.
        """
        every = (*self.keys, *named_columns("group_by", names, keys, self.schema.names))
        if not every:
            raise PlanError("group_by() needs a key.", where="group_by()", hint='Use a column: group_by("origin").')
        for name, expr in every:
            check_name(name, "group_by")
            check_key(name, type_of(expr, self.schema, where=(call := f"group_by({named_words(every)})")), call)
        return replace(self, keys=every)

    def ungroup(self) -> Stream:
        """Remove the keys of ``group_by``.

        The following steps are for all rows together.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> events = wb.from_arrow({"at": [1, 2, 4], "k": ["a", "b", "a"], "x": [1, 5, 2]}, time="at")
        >>> best = events.tumbling_window(10).group_by("k").top_k(1, by=col.x)
        >>> best.ungroup().aggregate(n=wb.count()).collect().to_pylist()
        [{'start': 0, 'end': 10, 'n': 2}]
        """
        return replace(self, keys=columns_of_keys(self.group))

    def group_apply(self, query: Callable[[Stream], Stream]) -> Stream:
        """Apply a query to each group.

        The result has the columns of the query, and the keys.

        Inside, every step is per key. Columns may be selected without the keys. An aggregate is followed by another
        one of the same groups. ``group_by`` makes groups of groups. Streams of the same groups join within a group.
        A null key is a group, but matches nothing in a join. Time is common to all groups: ``fill=`` extends to the
        last window in which any group has a row.

        Parameters
        ----------
        query : callable
            From the stream of a group to its result.

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
            raise PlanError("group_apply() needs group_by() before it.", where="group_apply()",
                            hint='Use group_by("k").group_apply(...).')
        if not callable(query):
            raise PlanError(f"group_apply() needs a function, got {query!r}.", where="group_apply()",
                            hint="Use group_apply(lambda g: g.aggregate(n=wb.count())).")
        keyed = with_keys_as_columns(self.node, self.keys)
        names = tuple(name for name, _ in self.keys)
        done = query(Stream(keyed, columns_of_keys(names), names))
        if not isinstance(done, Stream) or done.group != names:
            raise PlanError("The function must return a stream that it builds from its argument.",
                            where="group_apply()",
                            hint="Use the argument: lambda g: g.aggregate(...).")
        keys = columns_of_keys(self.group)
        node = recorded(done.node, "group_apply", [(self.node, self.keys), (keyed, ())], keys_after=keys)
        return Stream(node, keys, self.group)

    def on(self, other: Stream | Source | Mapping[str, Stream | Source] | Mapping[Source, Source]) -> Stream:
        """Rebind the query to other data.

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

    @renamed(within="partition", span="dedup_window", at="cutover")
    def then(self, feed: Stream, *, offset: str | None = None, partition: str | None = None, keys: Sequence[str] = (),
             dedup_window: Duration | None = None, cutover: Instant | None = None) -> Stream:
        """Continue this history with a feed, without gaps or duplicates.

        The history is read at full speed, then the feed (hybrid source).

        Choose one of three ways to remove duplicates. The status in ``run.metrics.feeds`` is "history", "catching up"
        or "live".

        Parameters
        ----------
        feed : Stream
            A feed without further steps, with the columns of this history.
        offset : str, optional
            An increasing column in both. Rows of the feed up to the history's last offset are dropped.
        partition : str, optional
            The column within which it increases. Default for Kafka's offset: ``"partition"``; needed for several.
        keys : sequence of str, optional
            Columns that identify a row, with the time. Rows of the feed that the history has are dropped.
        dedup_window : str, timedelta or int (ticks), optional
            How long keys of the history are remembered. Older rows of the feed are dropped as far back as the history
            goes, because it may have had them.
        cutover : str, datetime or int (ticks), optional
            The history is read before this time, the feed from then on.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 2, 3], "n": [1, 2, 3]}, time="at")
        >>> feed = wb.feeds.iterator(lambda: [{"at": at, "n": at} for at in (2, 3, 4, 5)], time="at")
        >>> log.then(feed, offset="n").select("n").collect()["n"].to_pylist()
        [1, 2, 3, 4, 5]
        """
        source = feed.node.op if isinstance(feed, Stream) else feed
        return Stream(Node(hybrid_source(self.node.op, source, offset=offset, partition=partition, keys=keys,
                                         dedup_window=dedup_window, cutover=cutover)))

    def at_latencies(self, *latencies: Duration, partial: Query | None = None,
                     merge: Query | None = None) -> LatencyBands:
        """Compute the results at several reorder latencies together.

        The bands are early results, and their revisions by late rows.

        Rows later than the last latency are dropped, and counted. See :class:`whimbrel.stream.LatencyBands`.

        Parameters
        ----------
        *latencies : str, timedelta or int (ticks)
            In increasing order.
        partial, merge : callable, optional
            Your own split of the query: `partial` maps the rows of a band to partial results, and `merge` maps the
            partial results of all bands so far to the result. By default the planner splits the query where the
            aggregates allow it.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9]}, time="at", arrival="seen", name="log")
        >>> early, late = log.tumbling_window(4).aggregate(n=wb.count()).at_latencies(0, 10)
        >>> early.collect()["n"].to_pylist(), late.collect()["n"].to_pylist()
        ([1, 1, 1], [3, 1, 1])
        """
        ticks = latency_ticks(self.node, latencies)
        check_split(latencies, partial, merge)
        if partial is None or merge is None:
            streams = [replace(self, node=node) for node in on_time(self.node, ticks)]
        else:
            bands = [replace(self, node=node) for node in apart(self.node, ticks)]
            streams = merged(bands, partial, merge, Stream)
        names = tuple(show_ticks(each, self.schema.unit) for each in ticks)
        return LatencyBands(names, tuple(streams), ticks[-1], self, partial, merge)

    @property
    def schema(self) -> Schema:
        """Schema: payload columns and the unit of time."""
        return self.node.schema

    @property
    def sources(self) -> tuple[Source, ...]:
        """Sources that the query reads."""
        return self.node.sources()

    def certify(self, history: Stream, live_log: Stream, *, spark: Any = None, threads: int = 2) -> Certificate:
        """Compare a backtest with a live run, row by row.

        The backtest runs on threads and on Spark; the live run is a replay.

        Parameters
        ----------
        history : Stream
            The source of the backtest.
        live_log : Stream
            The same rows in arrival order, with the reorder latency of the feed.
        spark : pyspark.sql.SparkSession, optional
            Run there, too.
        threads : int

        Returns
        -------
        Certificate
            Rows that differ, each with the reason. It is `ok` when late rows alone make the difference: history
            without them gives the live result.

        Raises
        ------
        SchemaError
            When the two results have different columns; they are named.

        Examples
        --------
        >>> import whimbrel as wb
        >>> rows = {"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9]}
        >>> history = wb.from_arrow(rows, time="at", arrival="seen", name="log")
        >>> came = wb.from_arrow(rows, time="at", arrival="seen", reorder_latency=2, late="drop", name="log")
        >>> history.tumbling_window(4).aggregate(n=wb.count()).certify(history, came)
        certified: 3 rows, the same on 2 threads, the log in arrival order
        2 rows differ live; rows that were late: 1
        """
        return certify(self.node, history, live_log, spark, threads)

    @property
    def view(self) -> display.Views:
        """Live view of the result.

        Call ``view(...)``, or choose a kind, such as ``view.bar(...)``. Views need the workbench.
        """
        return display.Views(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return display.mimebundle(self)

    def __repr__(self) -> str:
        keys = f"   grouped by {', '.join(name for name, _ in self.keys)}" if self.keys else ""
        return readable(f"{explain(self.node)}{keys}\n{self.schema.show()}")

    def _with(self, node: Node, keys: Keys, name: str, *arguments: Any, **options: Any) -> Self:
        node = recorded(node, name, [(self.node, self.keys)], arguments, options, keys)
        return replace(self, node=node, keys=keys)

    # The methods of operators build the operators for this stream and append them.
    def _unary(self, build: Callable[..., Operators], /, *arguments: Any, **options: Any) -> Self:
        with refusing_deep_nesting(build.__name__):
            made = self._followed_by(build(self.schema, *arguments, **options), self.node)
            return _recorded(made, build, (self,), arguments, options)

    def _binary(self, build: Callable[..., Operators], right: Self, *arguments: Any, allow_lookahead: bool,
                **options: Any) -> Self:
        _check_streams(build, right)
        nodes = in_one_unit(build.__name__, (self.node, right.node))
        for name, node in zip(("known", "right_known"), nodes, strict=True):
            if name in options:
                options[name] = node.properties
        made = build(*(node.schema for node in nodes), *arguments, **options)
        if alike(self.keys, right.keys) and (both := within_groups(made, self.keys)) is not None:
            made = both
            nodes = with_keys_as_columns(nodes[0], self.keys), with_keys_as_columns(nodes[1], right.keys)
        if allow_lookahead:
            options |= {"allow_lookahead": True}
        followed = self._followed_by(made, *nodes, allow_lookahead=allow_lookahead)
        return _recorded(followed, build, (self, right), arguments, options)

    def _nary(self, build: Callable[..., Operators], *others: Self) -> Self:
        _check_streams(build, *others)
        nodes = in_one_unit(build.__name__, [self.node, *(other.node for other in others)])
        return _recorded(self._followed_by(build(*(node.schema for node in nodes)), *nodes), build, (self, *others))

    def _followed_by(self, made: Operators, *inputs: Node, allow_lookahead: bool = True) -> Self:
        first, *others = (keeping(op, self.group) for op in ((made,) if isinstance(made, Operator) else made))
        if (temporal := with_temporal_columns(inputs[0], self.keys, first)) is not None:
            inputs, (first, *others) = (temporal[0],), [*temporal[1], *others]
        node = Node(first, inputs)
        if not allow_lookahead:
            check_lookahead(node)
        for op in others:
            node = Node(op, (node,))
        ended = any(op.ends_grouping for op in (first, *others))
        return replace(self, node=node, keys=columns_of_keys(self.group) if ended else self.keys)


@dataclass(frozen=True, eq=False, repr=False)
class LatencyBands(BandSequence[Stream], TextsOfBands):
    """The results of one query at several reorder latencies.

    The results are a sequence of streams, the earliest first.

    Each result is that of a run over the rows whose lateness is at most its latency. Together they read the source
    once. If the first step that needs an order is an aggregate with a merge, one table of partial aggregates serves
    all latencies. Otherwise each row is sorted once. Use ``bands[0]`` or ``bands["1s"]`` for the stream of a result.

        arrives   1  5  3  9  2         (event time; lateness 0, 0, 2, 0, 7)
        bands[0]  1, 3, 5, 9            at_latencies(2, 10): lateness up to 2
        bands[1]  1, 2, 3, 5, 9         lateness up to 10

    Attributes
    ----------
    latencies : tuple of str
        Names of the bands.
    streams : tuple of Stream
        The results. Each can be extended with further steps, or started alone.
    last_ticks : int
        The last latency.
    query : Stream
        The query at each latency.
    partial, merge : callable, optional
        The user's own split of the query.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9]}, time="at", arrival="seen", name="log")
    >>> bands = log.tumbling_window(4).aggregate(n=wb.count()).at_latencies(0, 2, 10)
    >>> [answer.collect()["n"].to_pylist() for answer in bands]
    [[1, 1, 1], [2, 1, 1], [3, 1, 1]]
    >>> for row in bands.collect().to_pylist():
    ...     if row["change"] == "update":
    ...         print(row)
    {'start': 0, 'end': 4, 'n': 2, 'band': '2', 'change': 'update', 'n_before': 1}
    {'start': 0, 'end': 4, 'n': 3, 'band': '10', 'change': 'update', 'n_before': 2}
    """

    latencies: tuple[str, ...]
    streams: tuple[Stream, ...]
    last_ticks: int
    query: Stream
    partial: Query | None = None
    merge: Query | None = None

    if not TYPE_CHECKING:
        __getattr__ = absent("A query at several latencies", LATENCY_BANDS, called="bands",
                             columns=lambda bands: bands.streams[0].node.schema)

    @cached_property
    def revisions(self) -> tuple[Stream, ...]:
        """Changelog of each result against the band before.

        See :class:`whimbrel.operators.Changelog`.
        """
        first = self.streams[0]
        apart = first.node.properties.apart
        keys = tuple(field.name for field in first.schema
                     if (can_be_key(field.type) if apart is None else field.name in apart.per))
        inputs = [(first.node,), *((earlier.node, later.node) for earlier, later in pairwise(self.streams))]
        return tuple(Stream(Node(Changelog(keys=keys, band=name), given))
                     for name, given in zip(self.latencies, inputs, strict=True))

    def on(self, other: Stream | Source | Mapping[str, Stream | Source] | Mapping[Source, Source]) -> LatencyBands:
        """Rebind the query to other data. See :meth:`whimbrel.Stream.on`.

        The latencies stay the same.
        """
        return replace(self, streams=tuple(stream.on(other) for stream in self.streams), query=self.query.on(other))

    def late_rows(self) -> Stream:
        """Rows later than the last latency, each at its arrival.

        See :class:`whimbrel.operators.LateRows`.
        """
        sources = self.streams[-1].node.sources()
        if len(sources) > 1:
            raise PlanError(f"late_rows() needs a query with one source, got {len(sources)}.", where="late_rows()",
                            hint="Use wb.late_rows(source) for each source.")
        ordering = replace(sources[0].disorder, reorder_latency=self.last_ticks, late="side_output")
        return Stream(Node(LateRows(source=sources[0], ordering=ordering), (Node(sources[0]),)))

    def collect(self) -> pa.Table:
        """Collect all results in one table, as a changelog.

        Rows are in the order of start, with band, change and previous values.
        """
        answers = running.collect_together([stream.node for stream in self.revisions])
        return running.in_order(pa.concat_tables(answers))

    def start(self, *, keep_rows: int = 1_000_000, checkpoints: Checkpoints | None = None) -> tuple[Run, ...]:
        """Start all results together, one run for each.

        Their rows have band, change and previous values.

        Parameters
        ----------
        keep_rows, checkpoints
            As in :func:`whimbrel.start`, which also takes sinks: ``wb.start(*bands.revisions, sinks=...)``.
        """
        return running.start(*(stream.node for stream in self.revisions), keep_rows=keep_rows, checkpoints=checkpoints)

    @property
    def view(self) -> display.Views:
        """Live view of all results in one chart.

        Early results are light, settled ones full.
        """
        return display.Views(self)

    def explain(self, *, measure: bool = False) -> str:
        """Show the optimized plan of all latencies together.

        With `measure`, the query runs on the first four million rows. What latencies share then has its cost.
        """
        return running.explain_latencies(self.latencies, [stream.node for stream in self.streams], measure=measure)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return display.mimebundle(self)

    def __repr__(self) -> str:
        return f"LatencyBands({', '.join(self.latencies)}) of {self.streams[0]!r}"


def _check_streams(build: Callable[..., Operators], *others: object) -> None:
    for other in others:
        if not isinstance(other, Stream):
            raise PlanError(f"{build.__name__}() needs a stream, got {type(other).__name__}.",
                            where=f"{build.__name__}()", hint="Pass another stream.")


def _recorded(made: _Made, build: Callable[..., Operators], used: Sequence[Stream], arguments: Sequence[Any] = (),
              options: Mapping[str, Any] = MappingProxyType({})) -> _Made:
    """The stream with a record of the method that made it."""
    inputs = [(stream.node, stream.keys) for stream in used]
    return replace(made, node=recorded(made.node, build.__name__, inputs, arguments, options, made.keys))
