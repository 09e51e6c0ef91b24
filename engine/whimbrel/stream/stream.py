"""What a notebook user types: a stream, and the methods that make new streams of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from whimbrel import run as running
from whimbrel.batch import Schema
from whimbrel.clock import duration_ticks
from whimbrel.clock.duration import Duration
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, trace
from whimbrel.operators import (
    Detect,
    GroupAggregate,
    HoppingWindow,
    Join,
    Pattern,
    Select,
    SlidingWindow,
    Where,
)
from whimbrel.operators.window import Label
from whimbrel.optimize import optimize
from whimbrel.plan import Aggregate, Node, Operator, Source, explain
from whimbrel.run import Pipeline, Run, Snapshot
from whimbrel.stream import display
from whimbrel.stream.rebind import rebind

Column = Expr | str | int | float | bool | Callable[[Any], Any] | None
"""What may be given as the value of a new column."""

Condition = Expr | Callable[[Any], Any]


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
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
    keys: tuple[tuple[str, Expr], ...] = ()

    # Making new streams.

    def where(self, *conditions: Condition) -> Stream:
        """Keep events for which every condition is true; null counts as false.

        Parameters
        ----------
        *conditions : Expr or callable
            Such as ``col.x > 3`` or ``lambda e: e.x > 3``.
        """
        if not conditions:
            raise PlanError("where() needs a condition.", hint="such as where(col.x > 3)")
        whole, *others = (trace(condition, where="where()") for condition in conditions)
        for other in others:
            whole = whole & other
        return self._then(Where(condition=whole))

    def select(self, *names: str | Expr, **columns: Column) -> Stream:
        """Only these columns: names to keep, keywords to compute.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1], "x": [10]}, time="at")
        >>> events.select("x", double=wb.col.x * 2).schema.show()
        'x: int64, double: int64'
        """
        kept = [(_name(name), trace(name, where="select()", names=True)) for name in names]
        return self._then(Select(columns=(*kept, *_computed(columns, "select"))))

    def with_columns(self, **columns: Column) -> Stream:
        """All columns, and these beside or instead of them."""
        computed = dict(_computed(columns, "with_columns"))
        kept = [(name, computed.pop(name, Col(name))) for name in self.schema.names]
        return self._then(Select(columns=(*kept, *computed.items())))

    def tumbling_window(self, size: Duration, *, offset: Duration = 0, label: Label = "start") -> Stream:
        """Round lifetimes to adjacent windows of `size`. See :class:`whimbrel.operators.HoppingWindow`."""
        return self._window("tumbling_window", size, size, offset, label)

    def hopping_window(self, size: Duration, hop: Duration, *, offset: Duration = 0, label: Label = "start") -> Stream:
        """Round lifetimes to windows of `size`, one every `hop`. See :class:`whimbrel.operators.HoppingWindow`."""
        return self._window("hopping_window", size, hop, offset, label)

    def _window(self, name: str, size: Duration, hop: Duration, offset: Duration, label: Label) -> Stream:
        where = f"{name}({size!r})" if size is hop else f"{name}({size!r}, {hop!r})"
        ticks = [self._ticks(span, where) for span in (size, hop, offset)]
        unit = self.schema.unit
        return self._then(HoppingWindow(size=ticks[0], hop=ticks[1], offset=ticks[2], label=label, unit=unit))

    def sliding_window(self, size: Duration) -> Stream:
        """Let each event last `size` from its start. See :class:`whimbrel.operators.SlidingWindow`."""
        return self._then(SlidingWindow(size=self._ticks(size, f"sliding_window({size!r})"), unit=self.schema.unit))

    def group_by(self, *names: str | Expr, **keys: Column) -> Stream:
        """Let what follows happen per key: aggregate and detect give results for each.

        Parameters
        ----------
        *names : str or Expr
            Columns.
        **keys : Expr or callable
            Computed keys, by the name they get in the result.
        """
        named = [(_name(name), trace(name, where="group_by()", names=True)) for name in names]
        every = (*self.keys, *named, *_computed(keys, "group_by"))
        if not every:
            raise PlanError("group_by() needs a key.", hint='such as group_by("origin")')
        Select(columns=every).schema(self.schema)
        return Stream(self.node, every)

    def aggregate(self, **aggregates: Aggregate) -> Stream:
        """Reduce each group's active events to one row per snapshot. See :class:`whimbrel.operators.GroupAggregate`."""
        for name, aggregate in aggregates.items():
            if name in ("start", "end"):
                raise _taken(name, "aggregate")
            if not isinstance(aggregate, Aggregate):
                raise PlanError(f"{name}={aggregate!r} is not an aggregate.", where=f"aggregate({name}=...)",
                                hint="such as wb.sum(col.x)")
        return Stream(Node(GroupAggregate(keys=self.keys, measures=tuple(aggregates.items())), (self.node,)))

    def join(self, right: Stream, on: str | Sequence[str] | Mapping[str, str], *, suffix: str = "_right") -> Stream:
        """Pair events that have equal keys and are active at the same time. See :class:`whimbrel.operators.Join`."""
        if not isinstance(right, Stream):
            raise PlanError(f"Cannot join with a {type(right).__name__}.", where="join()", hint="give another stream")
        if isinstance(on, str):
            on = [on]
        pairs = tuple(on.items()) if isinstance(on, Mapping) else tuple((name, name) for name in on)
        if not pairs:
            raise PlanError("join() needs a key.", where="join(on=...)", hint='such as on="origin"')
        return Stream(Node(Join(on=pairs, suffix=suffix), (self.node, right.node)), self.keys)

    def detect(self, pattern: Pattern, *, within: Duration) -> Stream:
        """Find consecutive events that match a pattern. See :class:`whimbrel.operators.Detect`."""
        if not isinstance(pattern, Pattern):
            raise PlanError(f"A {type(pattern).__name__} is not a pattern.", where="detect()",
                            hint="such as wb.sequence(first=col.x > 1, second=col.x < 1)")
        ticks = self._ticks(within, f"detect(..., within={within!r})")
        return Stream(Node(Detect(pattern=pattern, within=ticks, keys=self.keys, unit=self.schema.unit), (self.node,)))

    def on(self, other: Stream | Source | Mapping[str, Stream | Source]) -> Stream:
        """The same query on other data.

        Parameters
        ----------
        other : Stream, Source or mapping of name to either
            What to read instead; by name when the query reads several sources.

        Raises
        ------
        SchemaError
            When a column that the query needs is missing or of another type; it is named.
        """
        return Stream(rebind(self.node, other), self.keys)

    # Looking at it.

    @property
    def schema(self) -> Schema:
        """Payload columns, and the unit of time."""
        return self.node.schema

    @property
    def sources(self) -> tuple[Source, ...]:
        """What it reads."""
        return self.node.sources()

    def explain(self) -> str:
        """The plan as written, and the plan that runs."""
        return f"{explain(self.node)}\n\nruns as\n{explain(optimize(self.node))}"

    def kernels(self) -> str:
        """The source text that is generated for this query, once it has seen rows like its source's."""
        pipeline = Pipeline(optimize(self.node))
        for number, source in enumerate(pipeline.sources):
            rows = source.read(source.schema.names)
            first = next((batch for batch in rows if batch is not None), None)
            if first is not None:
                pipeline.push(number, first.slice(0, 64))
                pipeline.finish(number)
        return "\n\n".join(text for kernel in pipeline.kernels for text in kernel.sources)

    # Answers.

    def collect(self) -> pa.Table:
        """The exact answer, to the end: start, end, payload, in the order of start; end is null when none is known."""
        return running.collect(self.node)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Settled rows as they come."""
        return running.batches(self.node)

    def progress(self, every: str | int = "1%") -> Iterator[Snapshot]:
        """Answers that refine, the first one at once and the last one exact.

        Parameters
        ----------
        every : str or int
            A share of the source's rows such as ``"1%"``, or a number of rows.
        """
        return running.progress(self.node, every)

    def start(self, *, keep_rows: int = 1_000_000) -> Run:
        """Run on a thread of its own.

        Parameters
        ----------
        keep_rows : int
            Settled result rows to keep; older ones are forgotten, and counted in the metrics.
        """
        return Run(self.node, keep_rows=keep_rows)

    def view(self, **options: Any) -> Any:
        """A live view of the answer (needs the workbench)."""
        return display.view(self, **options)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return display.mimebundle(self)

    def __repr__(self) -> str:
        keys = f"   grouped by {', '.join(name for name, _ in self.keys)}" if self.keys else ""
        return f"{explain(self.node)}{keys}\n{self.schema.show()}"

    def _then(self, op: Operator) -> Stream:
        return Stream(Node(op, (self.node,)), self.keys)

    def _ticks(self, span: Duration, where: str) -> int:
        return duration_ticks(span, self.schema.unit, where=where)


def _name(column: str | Expr) -> str:
    if isinstance(column, str):
        return column
    if isinstance(column, Col):
        return column.name
    raise PlanError(f"{column!r} needs a name.", hint="give it as a keyword: total=col.a + col.b")


def _computed(columns: Mapping[str, Column], method: str) -> list[tuple[str, Expr]]:
    for name in {"start", "end"} & columns.keys():
        raise _taken(name, method)
    return [(name, trace(value, where=f"{method}({name}=...)")) for name, value in columns.items()]


def _taken(name: str, method: str) -> PlanError:
    return PlanError(f"Every result has a column {name!r} already.", where=f"{method}({name}=...)",
                     hint="choose another name")
