"""Several latencies of one query: an early answer, and what it becomes as late rows come in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from whimbrel import display
from whimbrel import run as running
from whimbrel.clock import Duration, as_ticks, duration_ticks, show_ticks
from whimbrel.errors import PlanError
from whimbrel.expr import can_be_key
from whimbrel.operators import Changelog, LatenessBand, LateRows, Union
from whimbrel.optimize import optimize_together
from whimbrel.plan import Node, OrderingSpec, Source, explain_together
from whimbrel.run import Run

if TYPE_CHECKING:
    from whimbrel.stream.stream import Stream

Query = Callable[["Stream"], "Stream"]


@dataclass(frozen=True, eq=False, repr=False)
class LatencyBands(Sequence["Stream"]):
    """The answers of one query at several reorder latencies: a sequence of streams, the earliest first.

    Each answer is what a run over exactly those rows gives that came no later than its latency. Together they read the
    source once and sort each row once; where the query's first step that needs an order is an aggregate that can be
    merged, each row is aggregated once too, and the answers combine what the bands made of their rows.

        arrives   1  5  3  9  2         (time; late by 0, 0, 2, 0, 7)
        bands[0]  1, 3, 5, 9            at_latencies(2, 10): late by up to 2
        bands[1]  1, 2, 3, 5, 9         late by up to 10

    Attributes
    ----------
    latencies : tuple of str
        As the bands are called.
    streams : tuple of Stream
        The answers; any of them can be gone on from, or started alone.
    last_ticks : int
        The last latency.
    query : Stream
        What is asked at each latency.
    partial, merge : callable, optional
        The user's own split of it.

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

    @overload
    def __getitem__(self, index: int) -> Stream: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Stream]: ...
    def __getitem__(self, index: int | slice) -> Stream | Sequence[Stream]:
        return self.streams[index]

    def __len__(self) -> int:
        return len(self.streams)

    def __iter__(self) -> Iterator[Stream]:
        return iter(self.streams)

    @cached_property
    def revisions(self) -> tuple[Stream, ...]:
        """The answers, with what each row is to the band before. See :class:`whimbrel.operators.Changelog`."""
        first = self.streams[0]
        apart = first.node.properties.apart
        keys = tuple(field.name for field in first.schema
                     if (can_be_key(field.type) if apart is None else field.name in apart.per))
        inputs = [(first.node,), *((earlier.node, later.node) for earlier, later in pairwise(self.streams))]
        return tuple(type(first)(Node(Changelog(keys=keys, band=name), given))
                     for name, given in zip(self.latencies, inputs, strict=True))

    def on(self, other: Stream | Source | Mapping[str, Stream | Source] | Mapping[Source, Source]) -> LatencyBands:
        """The same query at the same latencies on other data. See :meth:`whimbrel.Stream.on`."""
        return replace(self, streams=tuple(stream.on(other) for stream in self.streams), query=self.query.on(other))

    def late_rows(self) -> Stream:
        """Rows that are later than the last latency, each when it came. See :class:`whimbrel.operators.LateRows`."""
        sources = self.streams[-1].node.sources()
        if len(sources) > 1:
            raise PlanError(f"late_rows() needs a query with one source, got {len(sources)}.", where="late_rows()",
                            hint="Use wb.late_rows(source) for each source.")
        ordering = OrderingSpec(self.last_ticks, "side_output")
        return type(self.streams[0])(Node(LateRows(source=sources[0], ordering=ordering), (Node(sources[0]),)))

    def collect(self) -> pa.Table:
        """All answers in one table, in the order of start, with band, revision and what was before."""
        answers = running.collect_together([stream.node for stream in self.revisions])
        return running.in_order(pa.concat_tables(answers))

    def start(self, *, keep_rows: int = 1_000_000) -> tuple[Run, ...]:
        """Start all answers together, one run for each, with band, revision and what was before.

        Parameters
        ----------
        keep_rows : int
            Settled result rows of each to keep, as in :meth:`whimbrel.Stream.start`.
        """
        return running.start(*(stream.node for stream in self.revisions), keep_rows=keep_rows)

    @property
    def view(self) -> display.Views:
        """A live view of all answers in one picture: early ones light, settled ones full."""
        return display.Views(self)

    def explain(self) -> str:
        """The plan that answers all latencies together."""
        plans = optimize_together([stream.node for stream in self.streams])
        texts = explain_together(plans)
        return "\n\n".join(f"{name}:\n{text}" for name, text in zip(self.latencies, texts, strict=True))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return display.mimebundle(self)

    def __repr__(self) -> str:
        return f"LatencyBands({', '.join(self.latencies)}) of {self.streams[0]!r}"


def at_latencies(query: Stream, latencies: Sequence[Duration], partial: Query | None,
                 merge: Query | None) -> LatencyBands:
    """See :meth:`whimbrel.Stream.at_latencies`."""
    unit = query.schema.unit
    where = f"at_latencies({', '.join(map(repr, latencies))})"
    if not latencies:
        raise PlanError("at_latencies() needs a latency.", where=where, hint='Use at_latencies("1s", "1m").')
    ticks = [duration_ticks(latency, unit, where=where) for latency in latencies]
    if min(ticks) < 0:
        raise PlanError(f"A latency must be at least 0, got {show_ticks(min(ticks), unit)}.", where=where,
                        hint='Use a duration, such as "5m", or 0.')
    if any(later <= earlier for earlier, later in pairwise(ticks)):
        raise PlanError("Latencies must be in increasing order.", where=where,
                        hint='Put the shortest first: at_latencies("1s", "1m").')
    _check(query.node, where)
    if (partial is None) != (merge is None):
        raise PlanError("partial= and merge= must be given together.", where=where,
                        hint="Add both: partial for the rows of one band, merge for the partial results.")
    for name, given in (("partial", partial), ("merge", merge)):
        if given is not None and not callable(given):
            raise PlanError(f"{name} must be a function, got {given!r}.", where=where,
                            hint="Use partial=lambda rows: rows.tumbling_window(...).aggregate(...).")
    if partial is None or merge is None:
        streams = tuple(_at(query, -1, upto) for upto in ticks)
    else:
        streams = _merged(query, ticks, partial, merge)
    return LatencyBands(tuple(show_ticks(each, unit) for each in ticks), streams, ticks[-1], query, partial, merge)


def _merged(rows: Stream, ticks: Sequence[int], partial: Query, merge: Query) -> tuple[Stream, ...]:
    """The user's own split: `partial` once per band, `merge` on the bands so far."""
    parts = [_asked("partial", partial, _at(rows, over, upto)) for over, upto in zip([-1, *ticks], ticks, strict=False)]
    streams = [_asked("merge", merge, parts[0])]
    so_far = parts[0]
    for part in parts[1:]:
        so_far = type(rows)(Node(Union(), (so_far.node, part.node)))
        streams.append(_asked("merge", merge, so_far))
    return tuple(streams)


def _asked(name: str, query: Query, given: Stream) -> Stream:
    """What a user's part of the split makes of a stream; it has to be a stream made of that one."""
    made = query(given)
    where = f"at_latencies({name}=...)"
    if not isinstance(made, type(given)):
        raise PlanError(f"{name} must return a stream, got {type(made).__name__}.", where=where,
                        hint=f"Use {name}=lambda rows: rows.tumbling_window(...).aggregate(...).")
    if given.node not in made.node.walk():
        raise PlanError(f"{name} must return a stream that it builds from its argument.", where=where,
                        hint=f"Use the argument: {name}=lambda rows: rows.tumbling_window(...).aggregate(...).")
    return made


def _at(query: Stream, over: int, upto: int) -> Stream:
    """The query over those rows of its sources that are late by so much."""
    def with_band(node: Node) -> Node:
        if not isinstance(node.op, Source):
            return node
        unit = node.schema.unit
        minimum, maximum = (as_ticks(late, query.schema.unit, unit) for late in (over, upto))
        return Node(LatenessBand(over=minimum, upto=maximum, unit=unit), (node,))

    return type(query)(query.node.rewrite(with_band), query.keys, query.group)


def _check(node: Node, where: str) -> None:
    for step in node.walk():
        if isinstance(step.op, LatenessBand):
            raise PlanError("The query has latency bands already.", where=where,
                            hint="Give all latencies in one at_latencies(...).")
        if isinstance(step.op, LateRows):
            raise PlanError("Late rows depend on one reorder latency, so they cannot have several.", where=where,
                            hint="Use bands.late_rows() for rows later than the last latency.")
    for source in node.sources():
        if source.edges:
            raise PlanError(f"{source.name} has start and end edges, of which only one may be late.",
                            where=where, hint="Use a source of point events or intervals.")
        if source.disorder.partition is not None:
            raise PlanError(f"{source.name} has a reorder latency per partition.", where=where,
                            hint="Read it without partition= to measure lateness over all rows.")
