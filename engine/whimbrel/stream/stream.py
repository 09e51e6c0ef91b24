"""A stream: an immutable query over events, extended by methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whimbrel import display
from whimbrel.batch import Schema
from whimbrel.clock import Duration, Instant
from whimbrel.errors import PlanError
from whimbrel.expr import Column, Expr, Keys, check_key, check_name, named_columns, named_words, type_of
from whimbrel.migration_hints import STREAM, absent
from whimbrel.plan import Node, Operator, Operators, Source, check_lookahead, explain, readable
from whimbrel.stream.actions import Actions
from whimbrel.stream.grouping import alike, columns_of_keys, keeping, with_keys_as_columns, within_groups
from whimbrel.stream.hybrid import hybrid_source
from whimbrel.stream.latency_bands import LatencyBands, Query, at_latencies
from whimbrel.stream.methods import Methods
from whimbrel.stream.rebind import rebind
from whimbrel.stream.time_units import in_one_unit

if TYPE_CHECKING:
    from whimbrel.stream.certify import Certificate


@dataclass(frozen=True, eq=False, repr=False)
class Stream(Methods, Actions):
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
        every = (*self.keys, *named_columns("group_by", names, keys, self.schema.names))
        if not every:
            raise PlanError("group_by() needs a key.", where="group_by()", hint='Use a column: group_by("origin").')
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

    def then(self, feed: Stream, *, offset: str | None = None, partition: str | None = None, keys: Sequence[str] = (),
             dedup_window: Duration | None = None, cutover: Instant | None = None) -> Stream:
        """First this history at full speed, then a feed from where it ends: nothing missing, nothing twice.

        Say one of three ways in which they overlap. While it runs, the feed's state in ``run.metrics.feeds`` says
        "history", "catching up" or "live".

        Parameters
        ----------
        feed : Stream
            A feed as it was made, with the columns of this history.
        offset : str, optional
            A column that grows from row to row and is in both: rows of the feed up to the history's last are left out.
        partition : str, optional
            The column within whose values it grows. Default, of Kafka's offset: ``"partition"``, needed for several.
        keys : sequence of str, optional
            Columns that, with the time, tell rows apart: rows of the feed that the history has are left out,
        dedup_window : str, timedelta or int (ticks), optional
            of which the last span of time is remembered. Older rows of the feed are left out as far back as the history
            goes: it may have had them.
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
        """The answers at several reorder latencies together: early ones, and what late rows make of them.

        Rows later than the last latency are left out, and counted. See :class:`whimbrel.stream.LatencyBands`.

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
        nodes = in_one_unit(build.__name__, (self.node, right.node))
        made = build(*(node.schema for node in nodes), *arguments, **options)
        if alike(self.keys, right.keys) and (both := within_groups(made, self.keys)) is not None:
            made = both
            nodes = with_keys_as_columns(nodes[0], self.keys), with_keys_as_columns(nodes[1], right.keys)
        return self._behind(made, *nodes, allow_lookahead=allow_lookahead)

    def _nary(self, build: Callable[..., Operators], *others: Stream) -> Stream:
        _check_streams(build, *others)
        nodes = in_one_unit(build.__name__, [self.node, *(other.node for other in others)])
        return self._behind(build(*(node.schema for node in nodes)), *nodes)

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
            raise PlanError(f"{build.__name__}() needs a stream, got {type(other).__name__}.",
                            where=f"{build.__name__}()", hint="Pass another stream.")
