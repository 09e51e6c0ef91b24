"""Cost of each query of a desk."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.run.desk.budget import Budget
from whimbrel.run.desk.desk_query import DeskQuery, DeskQueryState
from whimbrel.run.desk.desk_session import DeskSession
from whimbrel.run.desk.sharing.shared_query import SharedQuery
from whimbrel.run.desk.shedding.shed import ShedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCost:
    """State and cost of a query of a desk.

    Attributes
    ----------
    query : str
        Its name.
    state : {"running", "finished", "failed", "stopped"}
    reads : tuple of str
        Sources and queries whose rows it reads.
    rows_in, rows : int
        Rows that it has read since the desk was made, and its settled rows.
    seconds : float
        Seconds of work since the desk was made. The time of a shared step is divided by the number of its queries.
    shared_seconds : float or None
        Its part of the time of shared steps; the other seconds are of steps that only it uses. None once it has failed
        or was stopped.
    buffered_rows, buffered_bytes : int
        Rows that its steps buffer, and bytes as in ``run.metrics``, with those of its result. A shared step counts
        for each query.
    steps, shared_steps : int
        Steps of its plan, also those after a shared aggregate, and those of them that other queries use, too.
    since : dict of str to int
        By source, the time from which it reads rows.
    parameters : dict of str to value
    budget : Budget or None
    shed : ShedRows or None
        Rows that it has dropped under overload; None without ``overload=``.
    error : str or None
        Why it has ended, or what its sink waits for.
    """

    query: str
    state: DeskQueryState
    reads: tuple[str, ...]
    rows_in: int
    rows: int
    seconds: float
    shared_seconds: float | None
    buffered_rows: int
    buffered_bytes: int
    steps: int
    shared_steps: int
    since: dict[str, int] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    budget: Budget | None = None
    shed: ShedRows | None = None
    error: str | None = None

    @property
    def ns_per_row(self) -> float | None:
        """Nanoseconds of work for each row that it has read."""
        return 1e9 * self.seconds / self.rows_in if self.rows_in else None

    @property
    def dropped_rows(self) -> int:
        """Rows that it has dropped under overload."""
        return 0 if self.shed is None else self.shed.dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskCost:
    """State and cost of a desk.

    Attributes
    ----------
    queries : tuple of QueryCost
        In the order in which they were added.
    rows : int
        Rows that were read from the sources, also before a restart.
    seconds : float
        Seconds of work on all steps.
    steps, shared_steps : int
        Steps that run now, and those of them that several queries use.
    templates : int
        Distinct compiled shapes of these steps: queries that differ in constants have the same one.
    feeds : dict of str to FeedStatus
        By name: connection, attempts, dead letters, lost messages.
    """

    queries: tuple[QueryCost, ...]
    rows: int
    seconds: float
    steps: int
    shared_steps: int
    templates: int
    feeds: dict[str, FeedStatus] = field(default_factory=dict)


def desk_cost(session: DeskSession) -> DeskCost:
    """What a desk and its queries cost now."""
    pipeline = session.pipeline
    going = [query for query in session.queries.values() if query.is_current]
    users = _Users(Counter(number for query in going for number in pipeline.needs[query.number]),
                   Counter(query.shared for query in going if query.shared is not None))
    queries = tuple(_cost(session, query, users) for query in session.queries.values())
    used = sorted(users.of_step)
    templates = {text for number in used for text in pipeline.kernels[number].sources}
    templates.update(text for shared in users.of_rest for kernel in shared.kernels for text in kernel.sources)
    return DeskCost(queries=queries, rows=session.reader.rows if session.began else 0,
                    seconds=sum(pipeline.work[number].seconds for number in {*used, *pipeline.entries})
                    + sum(shared.seconds for shared in users.of_rest),
                    steps=len(used) + sum(shared.steps for shared in users.of_rest),
                    shared_steps=sum(users.of_step[number] > 1 for number in used)
                    + sum(shared.steps for shared, count in users.of_rest.items() if count > 1),
                    templates=len(templates), feeds=session.feeds())


@dataclass(frozen=True, slots=True)
class _Users:
    """How many queries use a step of the pipeline, and the steps after a shared aggregate."""

    of_step: Counter[int]
    of_rest: Counter[SharedQuery]


def _cost(session: DeskSession, query: DeskQuery, users: _Users) -> QueryCost:
    going = query.is_current
    needs = session.pipeline.needs[query.number] if going else frozenset[int]()
    own = {number for number in needs if users.of_step[number] == 1}
    rest = query.shared if going else None
    steps, own_steps = len(needs), len(own)
    if rest is not None:
        steps += rest.steps
        own_steps += rest.steps if users.of_rest[rest] == 1 else 0
    buffered_rows, buffered_bytes = session.buffered(query)
    waits = "" if query.sink is None else query.sink.last_error
    rows = query.rows  # runs the steps that wait until somebody asks
    seconds = session.seconds(query) if query.last is None else query.last_seconds
    own_seconds = sum(session.pipeline.work[number].seconds for number in own)
    if rest is not None and users.of_rest[rest] == 1:
        own_seconds += rest.seconds
    return QueryCost(
        query=query.name, state=query.state, reads=query.sources, rows=rows,
        rows_in=session.rows_in(query) if query.last is None else query.last_rows_in,
        seconds=seconds, shared_seconds=max(0.0, seconds - own_seconds) if going else None,
        buffered_rows=buffered_rows, buffered_bytes=buffered_bytes, steps=steps,
        shared_steps=steps - own_steps, since=query.since, parameters=query.parameters,
        budget=query.budget, shed=session.shed(query),
        error=query.error.what if query.error is not None else waits or None)
