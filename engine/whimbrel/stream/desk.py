"""Desks: many named queries on one reading of their sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from whimbrel import display
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError, WhimbrelError, near_match
from whimbrel.plan import Node, Sink, Source, explain_together, readable
from whimbrel.run import Checkpoints
from whimbrel.run.desk import (
    Budget,
    DeskCost,
    DeskLoop,
    DeskQuery,
    NamedRows,
    QueryCost,
    SavedSink,
    Shed,
    desk_cost,
    estimated,
    new_run,
)
from whimbrel.stream.query_texts import READERS
from whimbrel.stream.stream import LatencyBands, Stream


def desk(*sources: Stream, keep_rows: int = 1_000_000, checkpoints: Checkpoints | None = None) -> Desk:
    """Make a desk of named queries on one reading of its sources.

    Queries are added and removed while it runs. Steps that several queries have in common run once. A query that fails
    or exceeds its budget ends alone.

    Parameters
    ----------
    *sources : Stream
        Streams as they are read or received, without further steps. Their names must differ.
    keep_rows : int
        Settled result rows to keep per query.
    checkpoints : Checkpoints, optional
        Where the desk is saved. A new desk with the same folder resumes; queries are added again by name.

    Returns
    -------
    Desk

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = {"at": [0, 5, 12], "port": [53, 80, 53], "size": [70, 900, 90]}
    >>> packets = wb.from_arrow(log, time="at", name="packets")
    >>> desk = wb.desk(packets)
    >>> dns = packets.where((wb.col.port == 53) & (wb.col.size >= wb.parameter("MinLen", 50)))
    >>> desk.add("dns", dns.tumbling_window(10).aggregate(n=wb.count()))
    <query 'dns': running>
    >>> desk.run()
    >>> desk["dns"].table.to_pylist()
    [{'start': 0, 'end': 10, 'n': 1}, {'start': 10, 'end': 20, 'n': 1}]
    """
    if not sources:
        raise PlanError("desk() needs a stream.", where="desk()", hint="Pass the streams that its queries read.")
    for source in sources:
        _check_source(source)
    names = [source.node.op.name for source in sources if isinstance(source.node.op, Source)]
    if len(set(names)) < len(names):
        raise PlanError(f"Two sources have the same name: {', '.join(names)}.", where="desk(...)",
                        hint="Name them where they are read: from_arrow(..., name=...).")
    if not is_whole(keep_rows) or keep_rows < 0:
        raise PlanError(f"keep_rows must be an integer of at least 0, got {keep_rows!r}.", where="desk(...)",
                        hint="Use for example keep_rows=100_000.")
    if not isinstance(checkpoints, Checkpoints | None):
        raise PlanError(f"checkpoints must be wb.Checkpoints(...), got {type(checkpoints).__name__}.",
                        where="desk(checkpoints=...)", hint='Use checkpoints=wb.Checkpoints("folder").')
    return Desk(DeskLoop([source.node for source in sources], keep_rows, checkpoints))


def _check_source(source: object) -> None:
    if not isinstance(source, Stream) or not isinstance(source.node.op, Source) or source.keys:
        what = "a stream with steps" if isinstance(source, Stream) else type(source).__name__
        raise PlanError(f"desk() needs streams without further steps, got {what}.", where="desk(...)",
                        hint="Pass the stream as it was read; add queries with desk.add(name, query).")
    if source.node.op.edges:
        raise PlanError("A desk cannot read start and end edges.", where=f"desk({source.node.op.name})",
                        hint="Use a source of rows with lifetimes.")


class Desk:
    """Named queries on one reading of their sources.

    It is made by :func:`whimbrel.desk`. A query answers as if its sources began when it was added. It reads the rows
    that start after everything that was read before. ``desk[name]`` is the query with its result, state and cost.
    """

    def __init__(self, loop: DeskLoop) -> None:
        self._loop = loop

    def add(self, name: str, query: Stream | str, *, budget: Budget | None = None, sink: Sink | None = None,
            overload: Shed | None = None, parameters: Mapping[str, Any] | None = None,
            functions: Mapping[str, Callable[..., Any]] | None = None,
            tables: Mapping[str, Any] | None = None) -> DeskQuery:
        """Add a query, as a stream or as SQL.

        The desk may be running.

        Parameters
        ----------
        name : str
        query : Stream or str
            Over sources of the desk, and over results of other queries. A text names them; a stream has other queries
            by :meth:`stream`.
        budget : Budget, optional
            Limits of the query.
        sink : Sink, optional
            Where its settled rows go. With checkpoints a restart continues it as one run.
        overload : Shed, optional
            How many rows it reads. Of more rows some are dropped, and its results are estimates with intervals.
        parameters, functions : mapping, optional
            For a text, as in :func:`whimbrel.sql`.
        tables : mapping, optional
            For a text: tables of prefixes by name, which ``getlpmid`` reads.

        Returns
        -------
        DeskQuery

        Raises
        ------
        PlanError
            When the name is taken, the query reads something else, or rows are shed whose results cannot be scaled.
        SqlError
            When a text is wrong.
        CheckpointError
            When the desk resumes and the saved query of this name is another one.

        Examples
        --------
        >>> import whimbrel as wb
        >>> packets = wb.from_arrow({"at": [0, 5, 12], "size": [70, 900, 90]}, time="at", name="packets")
        >>> desk = wb.desk(packets)
        >>> desk.add("sizes", "SELECT tb, sum(size) AS total FROM packets GROUP BY at/10 AS tb")
        <query 'sizes': running>
        >>> desk.add("large", "SELECT tb FROM sizes WHERE total > $least", parameters={"least": 500})
        <query 'large': running>
        >>> desk.run()
        >>> desk["large"].table["tb"].to_pylist()
        [0]
        """
        where = f"desk.add({name!r}, ...)"[:80]
        if not isinstance(name, str) or not name:
            raise PlanError(f"The name of a query must be a string, got {name!r}."[:200], where=where,
                            hint='Use for example desk.add("dns", query).')
        if isinstance(query, str):
            streams = self._streams()
            if taken := streams.keys() & (tables or {}).keys():
                raise PlanError(f"The desk has {min(taken)!r} already.", where=where,
                                hint="Give the table another name.")
            query = READERS["sql"](query, {**streams, **(tables or {})}, parameters or {}, functions or {})
        elif parameters or functions or tables:
            raise PlanError("parameters, functions and tables are for SQL text.", where=where,
                            hint='Use wb.parameter("name", default) in the expressions of a stream.')
        if isinstance(query, LatencyBands):
            raise PlanError("A query of a desk has one result, and at_latencies() has several.", where=where,
                            hint="Start queries with several latencies by themselves: bands.start().")
        if not isinstance(query, Stream):
            raise PlanError(f"add() needs a stream, got {type(query).__name__}.", where=where,
                            hint='Use for example desk.add("dns", packets.where(wb.col.port == 53)).')
        if not isinstance(budget, Budget | None):
            raise PlanError(f"budget must be wb.Budget(...), got {type(budget).__name__}.", where=where,
                            hint="Use for example budget=wb.Budget(rows=1_000_000).")
        if not isinstance(sink, Sink | None):
            raise PlanError(f"sink must be a sink, got {type(sink).__name__}.", where=where,
                            hint='Use sink=wb.sinks.parquet("folder").')
        if not isinstance(overload, Shed | None):
            raise PlanError(f"overload must be wb.Shed(...), got {type(overload).__name__}.", where=where,
                            hint='Use for example overload=wb.Shed(10_000, per="1s").')
        plan = query.node if overload is None else estimated(query.node, overload, where)
        added: DeskQuery = self._loop.do(lambda: self._add(name, plan, budget, sink, where))
        return added

    def _add(self, name: str, plan: Node, budget: Budget | None, sink: Sink | None, where: str) -> DeskQuery:
        self._check_open(where)
        session, saved = self._loop.session, self._loop.saved
        if name in session.queries or name in session.sources:
            raise PlanError(f"The desk has {name!r} already.", where=where,
                            hint="Use another name, or remove it first.")
        since = None if saved is None else saved.since(name, plan)
        shared = None if saved is None else saved.was_shared(name)
        query = session.add(name, plan, budget, since, may_share=shared is not False)
        known = SavedSink(new_run())
        if saved is not None and since is None:
            saved.record({"did": "add", "name": name, "since": query.since, "steps": query.steps_as_written,
                          "sink": (known.run, None)})
            if name in session.arrivals:
                saved.begin_arrivals(name)
        try:
            if saved is not None and since is not None:
                saved.restore(session, query)
                known = known if sink is None else saved.sink(name)
            if sink is not None:
                session.sinks.open(query, sink, known, checkpointed=saved is not None)
        except Exception:
            session.remove(name)
            if saved is not None and since is None:
                saved.record({"did": "remove", "name": name})
            raise
        if saved is not None:
            saved.restored(name)
        return query

    def _streams(self) -> dict[str, Stream]:
        """What a text can name."""
        session = self._loop.session
        return {**{name: Stream(node) for name, node in session.sources.items()},
                **{name: self.stream(name) for name in list(session.queries)}}

    def _check_open(self, where: str) -> None:
        if self._loop.error is not None:
            raise self._loop.error
        if self._loop.stopped:
            raise PlanError("The desk was stopped.", where=where, hint="Make a new desk.")

    def remove(self, name: str) -> None:
        """Remove a query and its result.

        Raises
        ------
        PlanError
            When there is no such query, or another query reads its results.
        """
        where = f"desk.remove({name!r})"[:80]

        def remove() -> None:
            self._check_open(where)
            self._find(name, where)
            if readers := self._loop.session.readers(name):
                raise PlanError(f"The results of {name!r} are read by {', '.join(readers)}.", where=where,
                                hint="Remove these queries first.")
            if self._loop.saved is not None:
                if self._loop.session.queries[name].sink is not None and self._loop.session.began:
                    self._loop.saved.write_if_read(self._loop.session)
                self._loop.saved.record({"did": "remove", "name": name})
            self._loop.session.remove(name)

        self._loop.do(remove)

    def _find(self, name: str, where: str) -> DeskQuery:
        queries = self._loop.session.queries
        if name not in queries:
            raise PlanError(f"The desk has no query named {name!r}.", where=where,
                            hint=near_match(name, queries, noun="query") if queries else "Add one: desk.add(...).")
        return queries[name]

    def __getitem__(self, name: str) -> DeskQuery:
        return self._find(name, f"desk[{name!r}]"[:80])

    def __contains__(self, name: object) -> bool:
        return name in self._loop.session.queries

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._loop.session.queries))

    def __len__(self) -> int:
        return len(self._loop.session.queries)

    def stream(self, name: str) -> Stream:
        """Results of a query, for other queries of this desk.

        A query over them reads the rows that settle after it was added.
        """
        query = self._find(name, f"desk.stream({name!r})"[:80])
        node = Node(NamedRows(name, query.plan.schema, query=query), facts=query.plan.facts)
        vars(node)["properties"] = query.plan.properties  # what was known of its rows holds for their readers, too
        return Stream(node)

    def set(self, name: str, /, **values: Any) -> None:
        """Change parameters of a query.

        The values hold for the rows that start after everything that was read.

        The change is part of checkpoints. A desk that resumes applies it from the same time.

        Parameters
        ----------
        name : str
            The query.
        **values : scalar
            By the name of the parameter.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": range(6), "x": [5, 5, 5, 5, 5, 5]}, time="at", name="events")
        >>> desk = wb.desk(events)
        >>> desk.add("large", events.where(wb.col.x > wb.parameter("least", 3)))
        <query 'large': running>
        >>> desk.set("large", least=7)
        >>> desk.run()
        >>> desk["large"].rows, desk["large"].parameters
        (0, {'least': 7})
        """
        where = f"desk.set({name!r}, ...)"[:80]

        def change() -> None:
            self._check_open(where)
            query = self._find(name, where)
            checked = {}
            for each, value in values.items():
                if each not in query.parameter_values:
                    known = query.parameter_values
                    raise PlanError(f"The query {name!r} has no parameter {each!r}.", where=where,
                                    hint=near_match(each, known, noun="parameter") if known
                                    else 'Use wb.parameter("name", default) in its expressions.')
                checked[each] = query.parameter_values[each].checked(value)
            times = self._loop.session.change_times(query, checked)
            if self._loop.saved is not None:
                self._loop.saved.record({"did": "set", "name": name, "values": checked, "times": times})
            for each, value in checked.items():
                query.parameter_values[each].set(value, times[each])

        self._loop.do(change)

    def run(self, rows: int | None = None) -> None:
        """Read on this thread, to the end of the sources.

        Parameters
        ----------
        rows : int, optional
            Pause when at least so many more rows were read.

        Notes
        -----
        Before the end, checkpoints are written when they are due, and sinks show rows with each checkpoint. Without
        checkpoints, sinks show all settled rows after each call.
        """
        self._check_open("desk.run()")
        if self._loop.running:
            raise PlanError("The desk reads on a thread of its own.", where="desk.run()",
                            hint="Use desk.wait(), or stop it.")
        if rows is not None and (not is_whole(rows) or rows < 0):
            raise PlanError(f"rows must be an integer of at least 0, got {rows!r}.", where="desk.run(rows=...)",
                            hint="Use for example desk.run(rows=10_000).")
        self._loop.run(rows)

    def start(self) -> Desk:
        """Read on a thread of its own.

        Returns the desk.
        """
        self._check_open("desk.start()")
        self._loop.start()
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the sources.

        False if it did not come in `timeout` seconds.

        Raises
        ------
        WhimbrelError
            The error of a source, which ends all queries.
        """
        return self._loop.wait(timeout)

    def stop(self) -> None:
        """Stop reading, and write the last checkpoint.

        Results stay.
        """
        self._loop.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources."""
        return tuple(self._loop.session.sources)

    @property
    def cost(self) -> DeskCost:
        """State and cost of the desk and of each query.

        Examples
        --------
        >>> import whimbrel as wb
        >>> packets = wb.from_arrow({"at": [0, 5, 12], "size": [70, 900, 90]}, time="at", name="packets")
        >>> desk = wb.desk(packets)
        >>> for least in (50, 80):
        ...     _ = desk.add(f"from {least}", packets.where(wb.col.size >= least))
        >>> desk.run()
        >>> desk.cost.rows, [(each.query, each.rows_in, each.rows) for each in desk.cost.queries]
        (3, [('from 50', 3, 3), ('from 80', 3, 2)])
        """
        found: DeskCost = self._loop.do(lambda: desk_cost(self._loop.session))
        return found

    @property
    def metrics(self) -> pa.Table:
        """Cost and state of each query, one row each.

        The seconds of a shared step are divided by the number of its queries. Its buffered rows count for each.
        """
        return pa.Table.from_pylist([_row(each) for each in self.cost.queries], _METRICS)

    def explain(self) -> str:
        """Print the state of all feeds, and the steps of all queries.

        A shared step is printed once and named.
        """
        text: str = self._loop.do(self._explain)
        return text

    def _explain(self) -> str:
        session = self._loop.session
        going = [query for query in session.queries.values() if query.is_current]
        plans = dict(zip((query.name for query in going), explain_together([session.shown(query) for query in going]),
                         strict=True)) if going else {}
        cost = desk_cost(session)
        parts = [f"{name}: {status}" for name, status in cost.feeds.items()]
        for row in map(_row, cost.queries):
            about = [row["state"], f"{row['rows']:,} rows", f"{row['seconds']:.3f} s"]
            about += [f"since {row['since']}"] if row["since"] else []
            about += [row["parameters"]] if row["parameters"] else []
            about += [row["shed"]] if row["shed"] else []
            about += [row["error"]] if row["error"] else []
            parts.append(f"{row['query']}: {', '.join(about)}")
            if row["query"] in plans:
                parts += [f"  {line}" for line in readable(plans[row["query"]]).splitlines()]
        return "\n".join(parts)

    @property
    def error(self) -> WhimbrelError | None:
        """Error of a source, which ended all queries; else None."""
        return self._loop.error

    def view(self, **options: Any) -> Any:
        """Make the live view of all queries.

        It has their state, cost and newest rows.

        A desk that is the last expression of a cell shows the same. The view does not start the desk.

        Parameters
        ----------
        **options
            ``redraws_per_s=`` and ``rows=``, the newest rows of the chosen query.
        """
        return display.view(self, **options)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return display.mimebundle(self)

    def __repr__(self) -> str:
        return f"<desk of {len(self)} queries on {', '.join(self._loop.session.sources)}>"


def _row(cost: QueryCost) -> dict[str, Any]:
    """A row of the metrics."""
    named = {field.name: getattr(cost, field.name) for field in _METRICS}
    return named | {"reads": ", ".join(cost.reads), "shed": "" if cost.shed is None else str(cost.shed),
                    "since": ", ".join(f"{name}: {begin}" for name, begin in cost.since.items()),
                    "parameters": ", ".join(f"{name}={value!r}" for name, value in cost.parameters.items())}


_METRICS = pa.schema([
    ("query", pa.string()), ("state", pa.string()), ("reads", pa.string()), ("rows_in", pa.int64()),
    ("rows", pa.int64()), ("seconds", pa.float64()), ("shared_seconds", pa.float64()),
    ("ns_per_row", pa.float64()), ("buffered_rows", pa.int64()),
    ("buffered_bytes", pa.int64()), ("steps", pa.int64()), ("shared_steps", pa.int64()), ("since", pa.string()),
    ("parameters", pa.string()), ("dropped_rows", pa.int64()), ("shed", pa.string()), ("error", pa.string())])
