"""A query that takes its partial aggregates from those of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self
from weakref import WeakValueDictionary

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.kernels import Kernel
from whimbrel.plan import Node, Operator, Properties
from whimbrel.run.desk.sharing.shared_aggregate import Member, SharedAggregateKernel
from whimbrel.run.desk.sharing.shared_groups import GroupsPart
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.query_result import Answer


class SharedQuery:
    """The steps of a query after a shared aggregate. They run when somebody asks for its results.

    Parameters
    ----------
    member : Member
    rest : Node
        The steps, over partial aggregates that are pushed.
    group : callable
        The kernel of the shared aggregate; given True, one that has seen the end of the rows that were read.
    answer : Answer
        Its settled results.
    alike : WeakValueDictionary
        By the identity of steps: kernels of a query with these steps, whose generated loops others use.

    Attributes
    ----------
    newest : int
        The latest start of a result row.
    steps : int
        Number of its own steps.
    seconds : float
        Time of its own steps.
    error : Exception or None
        What failed in its own steps.
    relays : list of RelayKernel
        What hands its results to other queries.
    for_sinks : list of Batch, optional
        Results that no sink has taken; None where it has no sink.
    """

    def __init__(self, member: Member, rest: Node, group: Callable[[bool], SharedAggregateKernel],
                 answer: Answer, alike: WeakValueDictionary[int, Pipeline]) -> None:
        self.member, self.rest, self.answer, self._alike = member, rest, answer, alike
        self._group = group
        self._seen = group(False).end
        self._advanced_to = MIN_TIME
        self._pipeline: Pipeline | None = None
        self.newest = MIN_TIME
        self.steps = sum(isinstance(node.op, Operator) for node in rest.walk())
        self.seconds = 0.0
        self.error: Exception | None = None
        self.relays: list[RelayKernel] = []
        self.for_sinks: list[Batch] | None = None

    @property
    def pipeline(self) -> Pipeline:
        """The kernels of its own steps; made when they are first needed."""
        if self._pipeline is None:
            self._pipeline = Pipeline(self.rest)
            self._pipeline.share_code(self._alike.setdefault(id(self.rest), self._pipeline))
        return self._pipeline

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels of its own steps that there are."""
        return [] if self._pipeline is None else self._pipeline.kernels

    @property
    def _schema(self) -> Schema:
        return self.rest.sources()[0].schema

    @property
    def seen(self) -> int:
        """How many parts of the shared aggregate it has seen."""
        return self._seen

    @property
    def watermark(self) -> int:
        """Up to where its results are settled."""
        return MIN_TIME if self._pipeline is None else self._pipeline.kernels[-1].watermark

    def drain(self) -> None:
        """Take what has left the shared aggregate, and give the results that settle."""
        group = self._group(False)
        if self.error is not None or (self._seen == group.end and self._advanced_to == group.watermark):
            self._seen = group.end
            return
        began = perf_counter()
        out: list[Batch] = []
        try:
            if rows := self._rows(group.since(self._seen)):
                out += self.pipeline.push(0, Batch.concat(rows))[0]
            if group.watermark > MIN_TIME and (self._pipeline is not None or self.relays):
                out += self.pipeline.advance(0, group.watermark)[0]
        except Exception as error:  # noqa: BLE001 - it is the query's own
            self.error = error
        self._seen, self._advanced_to = group.end, group.watermark
        self.seconds += perf_counter() - began
        if out:
            self.newest = max(self.newest, *(int(batch.sync.max()) for batch in out))
            self.answer.add(out)
            for relay in self.relays:
                relay.pending += out
            if self.for_sinks is not None:
                self.for_sinks += out

    def _rows(self, parts: Sequence[GroupsPart]) -> list[Batch]:
        schema = self._schema
        return [rows for part in parts if (rows := part.rows_of(self.member, schema)) is not None]

    @property
    def sent(self) -> list[int]:
        """The last watermark that each of its own kernels sent."""
        return [] if self._pipeline is None else self._pipeline.sent_watermarks

    def restore(self, states: Sequence[dict[str, Any]], sent: Sequence[int], newest: int) -> None:
        """Give its own steps the state that they had when a checkpoint was written."""
        if states:
            for kernel, state in zip(self.pipeline.kernels, states, strict=True):
                kernel.restore_state(state)
            self.pipeline.sent_watermarks[:] = sent
        self.newest = newest

    def own_buffered_rows(self) -> int:
        """Rows that its own steps would buffer if they had all of its partial aggregates."""
        copy, group = self.pipeline.fork([0]), self._group(False)
        rows = self._rows([*group.since(self._seen), *group.kept()])
        if rows:
            with suppress(Exception):  # it shows when the steps run
                copy.push(0, Batch.concat(rows))
        return sum(kernel.buffered_rows for kernel in copy.kernels)

    def left(self) -> list[Batch]:
        """What would still come if the sources ended now."""
        copy = self.pipeline.fork([0])
        out: list[Batch] = []
        if rows := self._rows([*self._group(False).since(self._seen), *self._group(True).parts]):
            out += copy.push(0, Batch.concat(rows))[0]
        return out + copy.finish(0)[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedResults(Operator):
    """Results of a query that takes part in a shared aggregate, for queries that read them.

        time     0    5    10
        out      3────2────          (results of the query)

    Parameters
    ----------
    query : SharedQuery

    Notes
    -----
    State: results that were not handed on.
    """

    query: SharedQuery

    def schema(self, *upstream: Schema) -> Schema:
        return self.query.rest.schema

    def properties(self, *upstream: Properties) -> Properties:
        return self.query.rest.properties

    def kernel(self, *upstream: Schema) -> RelayKernel:
        return RelayKernel(self.query)

    def show(self) -> str:
        return shown_part(self.query.member)


class RelayKernel(Kernel):
    """Hands on the results of a query whenever the shared aggregate advances.

    Attributes
    ----------
    query : SharedQuery or None
        None in copies, which must not change it.
    ended : SharedQuery or None
        In copies: the query.
    pending : list of Batch
        Results that were not handed on.
    """

    def __init__(self, query: SharedQuery) -> None:
        self.query: SharedQuery | None = query
        self.ended: SharedQuery | None = None
        self.pending: list[Batch] = []
        query.relays = [*query.relays, self]

    def fork(self) -> Self:
        clone = super().fork()
        clone.ended, clone.query = self.query or self.ended, None
        return clone

    def state_parts(self) -> dict[str, Any]:
        return {"watermark": self.watermark, "pending": self.pending}

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if self.query is None:
            return self._end(watermark)
        self.query.drain()
        if self.query.error is not None:
            raise self.query.error
        out, self.pending = self.pending, []
        self.watermark = max(self.watermark, self.query.watermark)
        return out

    def _end(self, watermark: int) -> list[Batch]:
        """Of a copy that sees the end of what was read: the rows that would still come."""
        if watermark < INF or self.ended is None:
            return []
        out, self.pending, self.watermark = [*self.pending, *self.ended.left()], [], INF
        return out


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedRows(Operator):
    """Stands in printed plans for the partial aggregates that a query takes.

        time     0    5    10
        out      2────1────          (those of patterns that meet its condition)

    Parameters
    ----------
    member : Member
    rows : Schema

    Notes
    -----
    It never runs.
    """

    member: Member
    rows: Schema

    def schema(self, *upstream: Schema) -> Schema:
        return self.rows

    def kernel(self, *upstream: Schema) -> Kernel:
        raise NotImplementedError

    def show(self) -> str:
        return shown_part(self.member)


def shown_part(member: Member) -> str:
    """What a query takes of a shared aggregate, for printing."""
    keys = f"group_by({', '.join(key.show() for key in member.keys)})" if member.keys else "all rows"
    begin = "" if member.begin is None else f" since({member.begin})"
    condition = "" if member.condition.expr is None else f" where {member.condition.expr.show()}"
    return f"part of it: {keys}{condition}{begin}"
