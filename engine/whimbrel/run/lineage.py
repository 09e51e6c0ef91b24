"""Lineage: find the source events of a result row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.connect.tables.captured_rows import Events, ReplaySlice
from whimbrel.errors import PlanError, SourceError
from whimbrel.expr import Col, Expr, end_time, start_time
from whimbrel.migration_hints import LINEAGE, absent
from whimbrel.operators import Changelog, LatenessBand, LateRows, Select, Where
from whimbrel.plan import LineageRequest, Node, Operator, OrderingSpec, Source, earlier
from whimbrel.run.execution import Execution
from whimbrel.run.latest_rows import Newest, Search
from whimbrel.run.row_selector import asked

Read = Mapping[Source, tuple[Source, int]]
"""What a run has read of the sources of its plan: each as it read it, and how many rows."""

Path = tuple[str, ...]
"""Operators from a source to a result."""

_NUMBER: Final = "lineage:number"
_LIFETIME: Final = ("lineage:start", "lineage:end")


@dataclass(frozen=True)
class Origin:
    """Events of one source.

    Attributes
    ----------
    source : Source
    rows : int
        How many there are.
    table : pyarrow.Table
        start, end and payload of the newest of them, in the order of start.
    lifetimes : pyarrow.Table
        For each event, start and end after the last step that keeps it as one event: for example its window.
    """

    source: Source
    rows: int
    table: pa.Table
    lifetimes: pa.Table

    @property
    def events(self) -> pa.Table:
        """The table without columns that its lifetimes show already; those that they hide go by another name."""
        source, names = self.source, self.table.column_names
        kept = [index for index, name in enumerate(names)
                if index < 2 or name not in ("start", "end") or name in source.hidden]
        return self.table.select(kept).rename_columns(
            [f"{source.name}.{names[index]}" if index > 1 and names[index] in source.hidden else names[index]
             for index in kept])


@dataclass(frozen=True)
class Lineage:
    """The source events of a result row.

    Attributes
    ----------
    origins : tuple of Origin
        One for each source.
    paths : tuple of tuple of str
        The ways that they went: a source, and the operators from there to the result, as ``explain()`` names them.
    """

    origins: tuple[Origin, ...]
    paths: tuple[Path, ...]
    _plan: Node
    _wanted: LineageRequest

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = absent("A lineage", LINEAGE)

    @property
    def events(self) -> dict[str, pa.Table]:
        """The events by the names of their sources: start, end and payload.

        A column whose name is that of a lifetime's end, and that is another, has its source's name before its own.
        """
        names = [origin.source.name for origin in self.origins]
        numbered = [name if names.count(name) == 1 else f"{name} ({names[:at].count(name) + 1})"
                    for at, name in enumerate(names)]
        return {name: origin.events for name, origin in zip(numbered, self.origins, strict=True)}

    @property
    def complete(self) -> bool:
        """True if all events are here, not the newest only."""
        return all(origin.rows == origin.table.num_rows for origin in self.origins)

    def rerun(self) -> pa.Table:
        """Run the query on these events alone.

        The result has the rows at the time of the selected row.

        Raises
        ------
        PlanError
            When there are more events than are here, or the query asks which rows came late.
        """
        if not self.complete:
            raise PlanError("Cannot run the query again because the lineage has more events than its limit.",
                            where="lineage(...).rerun()",
                            hint=f"Use lineage(..., limit={max(origin.rows for origin in self.origins)}).")
        if any(isinstance(node.op, LateRows | Changelog) for node in self._plan.walk()):
            raise PlanError("Cannot run the query again because which rows are late depends on all rows.",
                            where="lineage(...).rerun()",
                            hint="Use the query without at_latencies(...).")
        seen = {origin.source: Events(origin.source, origin.table) for origin in self.origins}

        def given(node: Node) -> Node:
            return Node(seen[node.op]) if isinstance(node.op, Source) else node

        rows = Newest(self._plan.schema, INF)
        _answer(self._plan.rewrite(given), self._wanted, rows)
        return rows.table()

    def __str__(self) -> str:
        counts = [f"{origin.rows:,} events of {origin.source.name}" for origin in self.origins]
        return "\n".join([", ".join(counts), *(" → ".join(path) for path in self.paths)])


def lineage(plan: Node, row: Mapping[str, Any], *, limit: int = 1000, read: Read | None = None) -> Lineage:
    """Find the source events of a result row.

    The sources are read again.

    An operator says which rows of its inputs the wanted rows of its output need (:meth:`Operator.lineage`); a log that
    is in the order of time is read in that range only. As long as events go through steps one by one, they are taken
    along, and what is left of them tells which count.

    Parameters
    ----------
    plan : Node
        As written.
    row : mapping of str to value
        start, perhaps end, and columns that tell which row is asked about.
    limit : int
        Events of each source to show, the newest; others are counted only.
    read : mapping, optional
        What a run has read so far; without it sources are read to their end.

    Raises
    ------
    SourceError
        When a source is a feed whose rows are gone.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise PlanError(f"limit must be an integer of at least 1, got {limit!r}.",
                        where=f"lineage(..., limit={limit!r})",
                        hint="Use 1 or more.")
    wanted = asked(plan.schema, row)
    segments = list(_segments(plan, replace(wanted, result=True), ()))
    origins = []
    for source in plan.sources():
        log, rows = _log(source, (read or {}).get(source))
        found = Newest(_carried(source), limit, _NUMBER)
        for segment in segments:
            if segment.source is source:
                _answer(segment.carrying(log, rows), segment.wanted, found)
        origins.append(_origin(source, found))
    return Lineage(tuple(origins), tuple(dict.fromkeys(segment.path for segment in segments)), plan, wanted)


@dataclass(frozen=True)
class _Segment:
    """Steps that keep each row of a source as one row; the last step selects the wanted rows.

    Parameters
    ----------
    chain : tuple of Node
        The source first, or the step that judges how late its rows are.
    wanted : Wanted
        Rows after the last of them.
    path : tuple of str
        From the source to the result of the query.
    """

    chain: tuple[Node, ...]
    wanted: LineageRequest
    path: Path

    @property
    def source(self) -> Source:
        leaf = self.chain[0]
        source = leaf.op if isinstance(leaf.op, Source) else leaf.inputs[0].op
        assert isinstance(source, Source)
        return source

    def carrying(self, log: Source, rows: int) -> Node:
        """The steps with source columns added, over the rows that may be wanted."""
        numbered = ReplaySlice(log, *self._part(log, rows), _NUMBER)
        node = Node(numbered)
        if isinstance(op := self.chain[0].op, LateRows):
            node = Node(replace(op, source=numbered), (node,))
        elif isinstance(op, LatenessBand):
            node = Node(op, (node,))
        carried = _values(self.source)
        kept = tuple((name, Col(name)) for name in node.schema.names if name != _NUMBER)
        node = Node(Select(columns=(*kept, *carried)), (node,))
        names = tuple((name, Col(name)) for name, _ in carried)
        for step in self.chain[1:]:
            op = step.op
            node = Node(replace(op, columns=(*op.columns, *names)) if isinstance(op, Select) else op, (node,))
        if conditions := self._conditions:
            node = Node(Where(condition=reduce(and_, conditions)), (node,))
        return Node(Select(columns=names), (node,))

    @property
    def _conditions(self) -> tuple[Expr, ...]:
        """Those that tell rows that are needed from others; a step may need rows that its own output does not want."""
        last = self.chain[-1]
        if isinstance(last.op, Source) or last.op.row_by_row:
            return self.wanted.where
        return last.op.lineage(self.wanted, *(below.given for below in last.inputs))[0].where

    def _part(self, log: Source, rows: int) -> tuple[int, int]:
        """Rows of the source among which are all that may be wanted."""
        if log.disorder != OrderingSpec() or log.live or log.edges or not log.cuts(2):
            return 0, rows
        wanted = self.wanted
        for node in reversed(self.chain[1:]):
            wanted, = _operator(node).lineage(wanted, *(below.given for below in node.inputs))
        start = wanted.start
        if not wanted.starting:
            start = MIN_TIME if log.longest is None else earlier(start, log.longest - 1)
        first, stop = log.rows_between(start, wanted.end)
        return min(first, rows), min(stop, rows)


def _segments(node: Node, wanted: LineageRequest, path: Path) -> Iterator[_Segment]:
    """The paths from the wanted rows of a node back to its sources."""
    todo = [(node, wanted, path)]
    while todo:
        node, wanted, path = todo.pop()
        chain = _chain(node)
        if chain and (len(chain) == 1 or _operator(node).suffices(wanted)):
            yield _Segment(chain, wanted, (*map(_name, chain), *path))
            continue
        needs = _operator(node).lineage(wanted, *(below.given for below in node.inputs))
        todo += [(below, needed, (_name(node), *path))
                 for below, needed in reversed(list(zip(node.inputs, needs, strict=True)))]


def _chain(node: Node) -> tuple[Node, ...]:
    """The steps from a source to this node, if each keeps rows of the source one to one; else empty."""
    chain = [node]
    while not isinstance((op := chain[-1].op), Source | LatenessBand | LateRows):
        if len(chain[-1].inputs) != 1 or (len(chain) > 1 and not op.row_by_row):
            return ()
        chain.append(chain[-1].inputs[0])
    return tuple(reversed(chain))


def _operator(node: Node) -> Operator:
    assert isinstance(node.op, Operator)
    return node.op


def _name(node: Node) -> str:
    return node.op.name if isinstance(node.op, Source) else node.op.show()


def _log(source: Source, read: tuple[Source, int] | None) -> tuple[Source, int]:
    """A source that gives once more what was read, and how many rows of it."""
    log, rows = read or (source, INF)
    again = log.again()
    if again is None:
        raise SourceError(f"{source.name} is a feed, so its rows cannot be read again.", where="lineage(...)",
                          hint="Use a log of the feed: query.on(log).lineage(...).")
    if not again.edges:
        return again, rows
    plan = Node(Select(columns=_values(source)[1:]), (Node(ReplaySlice(again, 0, rows, _NUMBER)),))
    facts = Newest(plan.schema, INF)
    _answer(plan, LineageRequest(), facts)
    return Events(source, facts.table().select(range(2, 4 + len(source.schema.names)))), INF


def _values(source: Source) -> tuple[tuple[str, Expr], ...]:
    """What a row carries: its number, its lifetime and its columns as they were at the source."""
    columns = ((f"lineage:{index}", Col(name)) for index, name in enumerate(source.schema.names))
    return ((_NUMBER, Col(_NUMBER)), (_LIFETIME[0], start_time()), (_LIFETIME[1], end_time()), *columns)


def _carried(source: Source) -> Schema:
    time = source.schema.time_type
    columns = (Field(f"lineage:{index}", field.type) for index, field in enumerate(source.schema))
    return source.schema.with_fields([Field(_NUMBER, pa.int64()), *(Field(name, time) for name in _LIFETIME), *columns])


def _origin(source: Source, found: Newest) -> Origin:
    rows = found.table().sort_by([(_LIFETIME[0], "ascending"), (_NUMBER, "ascending")])
    lifetimes, table = rows.select(range(2)), rows.select(range(3, rows.num_columns))
    return Origin(source, found.rows, table.rename_columns(["start", "end", *source.schema.names]), lifetimes)


def _answer(plan: Node, wanted: LineageRequest, found: Newest) -> None:
    """Search rows in the result of a plan, until none can follow."""
    search = Search(wanted, found)
    with closing(Execution(plan, keep_rows=0, hurry=True)) as session:
        while not session.finished and session.pipeline.sent_watermarks[-1] < wanted.end:
            for batch in (session.step() or [[]])[0]:
                search.add(batch)
    search.end()
