"""Read sources once for queries that come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from whimbrel.clock import INF, MIN_TIME, finest, ticks_per_second
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.errors import PlanError, WhimbrelError, near_match
from whimbrel.optimize import SharedNodes
from whimbrel.plan import Node, Source, check_shown, walk
from whimbrel.run.desk.budget import Budget
from whimbrel.run.desk.desk_pipeline import DeskPipeline
from whimbrel.run.desk.desk_query import DeskQuery, DeskQueryState
from whimbrel.run.desk.desk_sinks import DeskSinks
from whimbrel.run.desk.desk_sources import NamedRows, following, on_desk, with_own_parameters
from whimbrel.run.desk.rows_from import RowsFrom
from whimbrel.run.desk.sharing.shared_plan import SharedPlans
from whimbrel.run.desk.sharing.shared_queries import SharedQueries
from whimbrel.run.desk.shedding.arrival_sample import ArrivalSampleKernel
from whimbrel.run.desk.shedding.shed import ShedRows
from whimbrel.run.desk.shedding.weighted_sample import WeightedSample, WeightedSampleKernel
from whimbrel.run.metrics import Snapshot
from whimbrel.run.query_result import Answer
from whimbrel.run.run_loop import as_whimbrel_error
from whimbrel.run.source_reader import SourceReader


class DeskSession:
    """The queries of a desk and the one reading of its sources. It belongs to one thread.

    Parameters
    ----------
    sources : sequence of Node
        All sources that queries may read.
    keep_rows : int
        Settled result rows to keep per query.
    do : callable
        Calls a function on the thread of the session.

    Attributes
    ----------
    queries : dict of str to DeskQuery
        In the order in which they were added.
    sinks : DeskSinks
        By query.
    takes : int
        How often something was read.
    arrivals : dict of str to ArrivalSampleKernel
        By query, what sheds rows by their arrival time.
    records_arrivals : bool
        Whether it is recorded when rows arrive.
    """

    def __init__(self, sources: Sequence[Node], keep_rows: int, do: Callable[[Callable[[], Any]], Any]) -> None:
        self.sources = {_name(node): node for node in sources}
        self.pipeline = DeskPipeline(*self.sources.values())
        self.queries: dict[str, DeskQuery] = {}
        self.sinks = DeskSinks(lambda query, error: self._end(query, "failed", error))
        self._keep_rows, self._do = keep_rows, do
        self._named = {node.op: Node(NamedRows(name, node.schema, time=_source(node).time, source=_source(node)))
                       for name, node in self.sources.items()}
        self._shared = SharedNodes()
        self._budgeted: list[DeskQuery] = []
        self._ended_before: list[DeskQuery] = []
        self._plans, self._sharing = SharedPlans(), SharedQueries(self.pipeline, self.sources)
        self._answers: dict[int, Answer] = {}
        self._reader: SourceReader | None = None
        self._open = self.takes = 0
        self.arrivals: dict[str, ArrivalSampleKernel] = {}
        self.records_arrivals = False
        self._alike: Counter[Any] | None = None
        units = [node.schema.unit for node in self.sources.values()]
        self._per_second = None if None in units else ticks_per_second(finest(units))

    @property
    def reader(self) -> SourceReader:
        """Reads the sources; made when it is first asked for."""
        if self._reader is None:
            self._reader = SourceReader(self.pipeline)
            for query in self.queries.values():
                query.answer.reader = self._reader
        return self._reader

    def resume(self, offsets: Mapping[int, Any]) -> None:
        """Read on after the rows that the restored kernels of sources have seen."""
        self._reader = SourceReader(self.pipeline, offsets=offsets)

    @property
    def began(self) -> bool:
        """Whether reading has begun."""
        return self._reader is not None

    @property
    def finished(self) -> bool:
        return self.reader.finished

    def add(self, name: str, plan: Node, budget: Budget | None, since: Mapping[str, int] | None = None, *,
            may_share: bool = True) -> DeskQuery:
        """Add a query, which reads rows from now on, or from given times on; it may share its aggregation."""
        check_shown(plan)
        self._alike = None
        own, parameters = with_own_parameters(plan, self._per_second)
        named = own.rewrite(self._to_named)
        query = DeskQuery(name, plan, budget, self._do)
        begins = dict(since) if since is not None else self._begins_now(named)
        query.since, query.parameter_values, query.now, query.settle = begins, parameters, self._now, self._settle
        query.sources = tuple(dict.fromkeys(rows.name for rows in _named_rows(named)))
        query.reads = frozenset(rows.name for rows in _named_rows(named) if rows.of is None)
        self._budgeted += [query] if budget is not None else []
        sheds = any(isinstance(node.op, WeightedSample) for node in named.walk())
        shared = self._plans.split(named) if may_share and not sheds else None
        if shared is not None:
            query.shared = self._sharing.add(shared, begins.get(shared.rows.name), lambda number: Answer(
                plan, self.pipeline, number, self._keep_rows, reader=self._reader))
            query.answer, query.number = query.shared.answer, self._sharing.number(query.shared)
            self.queries[name] = query
            return query
        query.root = self._share(on_desk(named, partial(self._rows, restored=since is not None),
                                         lambda rows: begins.get(rows.name)))
        query.number = self._number_of(query)
        if query.number not in self._answers:
            self._answers[query.number] = Answer(plan, self.pipeline, query.number, self._keep_rows,
                                                 reader=self._reader)
        query.answer = self._answers[query.number]
        self.queries[name] = query
        for kernel in (self.pipeline.kernels[number] for number in self.pipeline.needs[query.number]):
            if sheds and isinstance(kernel, ArrivalSampleKernel):
                self.arrivals[name], kernel.recorded = kernel, self.records_arrivals
        return query

    def _to_named(self, node: Node) -> Node:
        if not isinstance(node.op, Source):
            return node
        if isinstance(node.op, NamedRows):
            name = node.op.name
            if self.queries.get(name, node.op.query) is not node.op.query:
                raise PlanError(f"The stream {name!r} is of another desk, or of a query that was removed.",
                                where="desk.add(...)", hint=f"Use desk.stream({name!r}) of this desk.")
            return node
        if node.op not in self._named:
            raise PlanError(f"The desk does not read {node.op.name!r}.", where="desk.add(...)",
                            hint=f"Make the desk with it, too: wb.desk({', '.join([*self.sources, node.op.name])}).")
        return self._named[node.op]

    def _rows(self, node: Node, *, restored: bool = False) -> Node:
        """The node that has the rows of a name. A restored query may read one that has ended."""
        assert isinstance(node.op, NamedRows)
        name = node.op.name
        if node.op.of is not None:
            return self.sources[name]
        if name not in self.queries:
            raise PlanError(f"The desk has no query named {name!r}.", where="desk.add(...)",
                            hint=near_match(name, self.queries, noun="query"))
        query = self.queries[name]
        self._settle(query)
        if query.status in ("failed", "stopped") and not restored:
            raise PlanError(f"The query {name!r} has {query.status}, so its results end.", where="desk.add(...)",
                            hint="Remove it and add it again.")
        return query.root if query.shared is None else self._sharing.root(query.shared)

    def _begins_now(self, plan: Node) -> dict[str, int]:
        """For each of the named rows of a plan, the first time of which none has passed yet."""
        found = {}
        for rows in _named_rows(plan):
            if rows.of is not None:
                begin = following(self.pipeline.sent_watermarks[self.pipeline.position(self.sources[rows.name])])
            else:
                self._rows(Node(rows))
                query = self.queries[rows.name]
                begin = following(self.pipeline.newest[query.number] if query.shared is None else query.shared.newest)
            if begin is not None:
                found[rows.name] = begin
        return found

    def _share(self, plan: Node) -> Node:
        """The plan made of nodes that the desk has already, as far as there are equal ones."""
        done: dict[int, Node] = {}
        for node in walk((plan,)):
            done[id(node)] = self._shared.of(node, tuple(done[id(below)] for below in node.inputs))
        return done[id(plan)]

    def _number_of(self, query: DeskQuery) -> int:
        same = (other.number for other in self._going() if other.shared is None and other.root is query.root)
        number = next(same, None)
        return self.pipeline.add(query.root) if number is None else number

    def _going(self) -> list[DeskQuery]:
        return [query for query in self.queries.values() if query.status in ("running", "finished")]

    def readers(self, name: str) -> list[str]:
        """Names of the queries that read the results of a query."""
        return [query.name for query in self.queries.values() if name in query.reads]

    def remove(self, name: str) -> None:
        """Remove a query, whatever its state."""
        query = self.queries[name]
        self._alike = None
        self._hand_on()
        self.sinks.remove(name)
        self.arrivals.pop(name, None)
        if query.status == "running":
            self._end(query, "stopped")
        elif query.status == "finished":
            query.status = "stopped"
            self._release(query)
        del self.queries[name]
        self._budgeted = [each for each in self._budgeted if each is not query]

    def _end(self, query: DeskQuery, state: DeskQueryState, error: WhimbrelError | None = None, *,
             restored: bool = False) -> None:
        """End a query, and keep its result. The state of a finished one stays, since others may read it.

        That of a restored one stays until the desk begins, since its readers may be added again.
        """
        query.answer.end()
        if state == "finished" and query.shared is not None:  # its result is made when somebody asks
            query.status = state
            return
        query.last_shed = self.shed(query)
        if state == "finished":
            query.last = query.answer.snapshot([])
        else:
            if query.shared is not None:
                query.shared.drain()
            settled = query.answer.settled()
            query.last = Snapshot(settled, settled.num_rows, query.answer.version, query.answer.metrics(), final=False)
        query.last_seconds, query.last_rows_in = self.seconds(query), self.rows_in(query)
        query.status, query.failure, self._alike = state, error, None
        if state != "finished":
            self.sinks.end(query)
            if restored:
                self._ended_before.append(query)
            else:
                self._release(query)

    def _release(self, query: DeskQuery) -> None:
        """Drop the kernels that only an ended query needs."""
        if query.shared is not None:
            if not any(other.shared is query.shared for other in self._going()):
                self._sharing.remove(query.shared)
                self._shared.keep(self.pipeline.knows)
            return
        if not any(other.number == query.number for other in self._going()):
            del self._answers[query.number]
            self.pipeline.remove(query.number)
            self._shared.keep(self.pipeline.knows)
            self._sharing.forget_relays()

    def end_as_before(self, query: DeskQuery, state: DeskQueryState, what: str | None) -> None:
        """End a query that had ended when a checkpoint was written."""
        error = None if what is None else WhimbrelError(what, where=f"desk[{query.name!r}]",
                                                        hint="Remove it and add it again.")
        self._end(query, state, error, restored=True)

    def begin(self) -> None:
        """Connect the queries that are there, and end those of which all sources have ended."""
        ended, self._ended_before = self._ended_before, []
        for query in ended:
            self._release(query)
        self.pipeline.join_up()
        self._finish()

    def fail(self, error: WhimbrelError) -> None:
        """End all queries, since a source has failed."""
        for query in self._going():
            if query.status == "running":
                self._end(query, "failed", error)

    def complete(self) -> None:
        """Work on what is left of rows that feeds gave at once, so that their offsets can be saved."""
        for outs in self.reader.complete():
            self.take(outs)

    def step(self) -> bool:
        """Read and process a little; whether a source had anything."""
        self.pipeline.join_up()
        outs = self.reader.step()
        if outs is not None:
            self.take(outs)
        return outs is not None

    def take(self, outs: Sequence[list[Any]]) -> None:
        """Settled rows of each plan, by number."""
        self.takes += 1
        for number, out in enumerate(outs):
            if out and number in self._answers:
                self._answers[number].add(out)
                if len(self.sinks):
                    self.sinks.take(number, out)
        self._sharing.bound()
        self._hand_on()
        if self.pipeline.failures:
            self._end_failed()
        self._check_budgets()
        if len(self.reader.open) != self._open:
            self._finish()

    def settle(self) -> None:
        """Run all steps that wait until somebody asks for their results, and let partial aggregates leave."""
        self._sharing.settle()
        for query in self._going():
            self._settle(query)
        self._hand_on()

    def _hand_on(self) -> None:
        """Give sinks the rows that settle after shared aggregates."""
        for query in self.sinks.shared:
            self._settle(query)
            shared = query.shared
            if shared is not None and shared.for_sinks:
                rows, shared.for_sinks = shared.for_sinks, []
                self.sinks.take(shared, rows)

    def _settle(self, query: DeskQuery) -> None:
        """Run the steps of one query that wait."""
        if query.shared is None or query.last is not None:
            return
        query.shared.drain()
        if query.shared.error is not None:
            error = as_whimbrel_error(query.shared.error)
            for each in [each for each in self._going() if each.shared is query.shared]:
                self._end_with_readers(each, error, "failed")
        elif query.status == "finished":
            query.last, query.last_seconds = query.answer.snapshot([]), self.seconds(query)
            query.last_rows_in = self.rows_in(query)

    def _end_failed(self) -> None:
        for query in self._going():
            error = self.pipeline.failures.get(query.number)
            if error is not None:
                for each in [query, *(other for other in self._going() if other.number == query.number
                                      and other is not query)]:
                    self._end(each, "failed", as_whimbrel_error(error))

    def _check_budgets(self) -> None:
        if not self._budgeted:
            return
        for query in [query for query in self._budgeted if query.status == "running"]:
            self._settle(query)
            if query.status != "running":
                continue
            assert query.budget is not None
            rows, size_bytes = self.buffered(query)
            if query.shared is not None and query.budget.rows is not None and rows > query.budget.rows:
                rows = self._sharing.own_buffered_rows(query.shared)
            why = query.budget.exceeded(rows, size_bytes, self.seconds(query))
            if why is not None:
                error = WhimbrelError(f"The query {query.name!r} was stopped: {why}.", where=f"desk[{query.name!r}]",
                                      hint="Give it a larger budget, or add a query that keeps less.")
                self._end_with_readers(query, error)

    def _end_with_readers(self, query: DeskQuery, error: WhimbrelError, state: DeskQueryState = "stopped") -> None:
        """End a query, and those that read its results."""
        for name in self.readers(query.name):
            if self.queries[name].status == "running":
                self._end_with_readers(self.queries[name], error, state)
        self._end(query, state, error)

    def _finish(self) -> None:
        """End queries whose sources have all ended."""
        if self.pipeline.pending:
            return
        open_ = self.reader.open
        self._open = len(open_)
        reading = {self.pipeline.entries[source] for source in open_}
        ended = {number for number, needs in enumerate(self.pipeline.needs) if reading.isdisjoint(needs)}
        for query in list(self.queries.values()) if ended else ():
            if query.status == "running" and query.number in ended:
                query.answer.finished = True
                self._end(query, "finished")

    def rows_in(self, query: DeskQuery) -> int:
        """Rows that the first steps of a query were given."""
        if query.shared is not None:
            return self._sharing.rows_in(query.shared)
        rows = 0
        for name in query.sources:
            other = self.queries.get(name)
            root = (self.sources[name] if other is None else other.root if other.shared is None
                    else self._sharing.root(other.shared))
            begins = (node for node in query.root.walk() if isinstance(node.op, RowsFrom)
                      and any(below is root for below in (*node.inputs, *node.inputs[0].inputs)))
            rows += self.pipeline.work[self.pipeline.position(next(begins, root))].rows_out
        return rows

    def shed(self, query: DeskQuery) -> ShedRows | None:
        """Rows that a query has dropped under overload; None if it never drops any."""
        if query.last is not None or query.shared is not None:
            return query.last_shed
        kernels = (self.pipeline.kernels[number] for number in self.pipeline.needs[query.number])
        return next((kernel.shed for kernel in kernels if isinstance(kernel, WeightedSampleKernel)), None)

    def seconds(self, query: DeskQuery) -> float:
        """Seconds of work for a query; those for equal queries are divided by the number of these."""
        if self._alike is None:
            self._alike = Counter(other.answered_by for other in self._going())
        pipeline, sharing = self.pipeline, self._alike[query.answered_by] or 1
        if query.shared is not None:
            return self._sharing.seconds(query.shared) / sharing
        return sum(pipeline.work[number].seconds / max(1, pipeline.users(number))
                   for number in pipeline.needs[query.number]) / sharing

    def _now(self, query: DeskQuery) -> tuple[Snapshot, float]:
        """The current result: only settled rows if a query would fail when its sources ended now."""
        self.pipeline.join_up()
        self._settle(query)
        if query.last is not None:
            return query.last, query.last_seconds
        try:
            rest = (self.pipeline.rest([query.number])[query.number] if query.shared is None
                    else query.shared.left())
        except WhimbrelError:
            rest = []
        return query.answer.snapshot(rest), self.seconds(query)

    def buffered(self, query: DeskQuery) -> tuple[int, int]:
        """Rows and bytes that its operators buffer, and bytes of its result."""
        if query.last is not None:
            return 0, query.answer.held_bytes
        if query.shared is not None:
            rows, size_bytes = self._sharing.buffered(query.shared)
            return rows, size_bytes + query.answer.held_bytes
        kernels = [self.pipeline.kernels[number] for number in self.pipeline.needs[query.number]]
        return (sum(kernel.buffered_rows for kernel in kernels),
                sum(kernel.buffered_bytes for kernel in kernels) + query.answer.held_bytes)

    def feeds(self) -> dict[str, FeedStatus]:
        """What the feeds say of themselves, by name."""
        return self._reader.feeds(range(len(self.sources))) if self._reader is not None else {}

    def is_read(self, query: DeskQuery) -> bool:
        """Whether its own steps after a shared aggregate run, for itself or for others that read its results."""
        return query.shared is not None and self._sharing.has(query.shared)

    def shown(self, query: DeskQuery) -> Node:
        """The plan of a query, for printing."""
        return query.root if query.shared is None else self._sharing.shown(query.shared)

    def change_times(self, query: DeskQuery, names: Iterable[str]) -> dict[str, int]:
        """The times from which changes of parameters hold: after everything that was read."""
        self._settle(query)
        reached = [self._reached(number) for number in self.pipeline.entries
                   if number in self.pipeline.needs[query.number]] if query.last is None else []
        times = {}
        for name in names:
            newest = query.parameter_values[name].newest
            after = max([each for each in (*reached, newest) if each is not None], default=None)
            times[name] = MIN_TIME if after is None else after + 1
        return times

    def _reached(self, entry: int) -> int | None:
        """The newest time that a source has passed, in ticks of parameters."""
        watermark = self.pipeline.sent_watermarks[entry]
        if watermark in (MIN_TIME, INF):
            return None
        if self._per_second is None:
            return watermark
        return watermark * self._per_second // int(ticks_per_second(self.pipeline.nodes[entry].schema.unit) or 1)

    def close(self) -> None:
        """Let go of sources and sinks."""
        for query in self.queries.values():
            query.desk_stopped = True
        self.sinks.close()
        if self._reader is not None:
            self._reader.close()


def _source(node: Node) -> Source:
    assert isinstance(node.op, Source)
    return node.op


def _name(node: Node) -> str:
    return _source(node).name


def _named_rows(plan: Node) -> list[NamedRows]:
    return [node.op for node in plan.walk() if isinstance(node.op, NamedRows)]
