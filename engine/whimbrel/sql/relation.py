"""Relations: streams with columns by SQL name, and facts about times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import pyarrow as pa

from whimbrel.clock import show_ticks
from whimbrel.expr import Call, Col, Expr, Reduced
from whimbrel.expr.monotone import ValueOrder
from whimbrel.operators import Assume, AssumeOrder, Retime, SampleKeys, Select, SetDuration, Where
from whimbrel.plan import Node, Source, orders
from whimbrel.stream import Stream

WindowKind = Literal["tumble", "hop", "session", "cumulate"]
Lives = Literal["always", "instant", "window", "lasting"]
"""How long rows hold: at all times, for one tick, for one window, or as long as each says."""
Bound = Literal["start", "end"]
_FACTS = "sql"


@dataclass(frozen=True)
class SqlColumn:
    """A column by its name in SQL.

    Parameters
    ----------
    name : str
    source : str
        The table or alias that it belongs to.
    column : str
        Its name in the stream.
    """

    name: str
    source: str
    column: str


@dataclass(frozen=True)
class SqlWindow:
    """A window that FROM has put on rows, until GROUP BY uses it.

    Parameters
    ----------
    kind : str
    source : str
        The table or alias of which ``window_start`` and ``window_end`` are columns.
    size_ticks, step_ticks : int
    keys : tuple of str
        Columns of the stream by which sessions are partitioned.
    offset : int
        Where its grid begins, in ticks.
    calendar : bool
        Whether its windows are of the calendar, so that their ticks are nominal.
    apply : callable
        Puts the window on a stream.
    """

    kind: WindowKind
    source: str
    apply: Any
    size_ticks: int = 0
    step_ticks: int = 0
    keys: tuple[str, ...] = ()
    offset: int = 0
    calendar: bool = False

    @property
    def has_rows(self) -> bool:
        """Whether rows without groups stand in its windows."""
        return self.kind != "hop" or not self.calendar

    @property
    def fixed(self) -> bool:
        """Whether all its windows have its size."""
        return self.kind in ("tumble", "hop") and not self.calendar

    @property
    def alone(self) -> frozenset[Bound]:
        """The bounds that tell its windows apart, each of them alone."""
        return frozenset(("end",) if self.kind == "cumulate" else ("start", "end"))


@dataclass(frozen=True)
class SqlRelation:
    """A stream, as SQL sees it.

    Parameters
    ----------
    stream : Stream
    columns : tuple of SqlColumn
    times : mapping of str to int
        Columns that follow event time, with their divisor: the column is the start of the event divided by it, rounded
        down.
    lives : {"always", "instant", "window", "lasting"}
    step_ticks : int
        Of rows that live for a window: its length.
    window : SqlWindow, optional
    bounds : mapping of str to {"start", "end"}
        Columns that are bounds of the windows of rows, such as ``window_start``.
    alone : frozenset of {"start", "end"}
        The bounds that tell those windows apart, with `window_keys`; otherwise both bounds do.
    window_keys : frozenset of str
        Columns that partition those windows.
    size_ticks : int
        The size of those windows.
    fixed : bool
        Whether all of them have this size.
    ended : bool
        Whether rows stand at the end of their window.
    """

    stream: Stream
    columns: tuple[SqlColumn, ...]
    times: Mapping[str, int] = field(default_factory=dict)
    lives: Lives = "lasting"
    step_ticks: int = 0
    window: SqlWindow | None = None
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    alone: frozenset[Bound] = frozenset(("start", "end"))
    window_keys: frozenset[str] = frozenset()
    size_ticks: int = 0
    fixed: bool = False
    ended: bool = False

    @property
    def table(self) -> bool:
        """Whether all rows hold at all times."""
        return self.lives == "always"

    @property
    def needs_epoch(self) -> bool:
        """Whether groups of its rows are complete only by an epoch."""
        return self.lives in ("instant", "window")

    def in_one_window(self, columns: Iterable[str]) -> bool:
        """Whether rows with equal values of these columns are of one window."""
        names = set(columns)
        kinds = {self.bounds[name] for name in names if name in self.bounds}
        return len(kinds) == 2 or (not self.alone.isdisjoint(kinds) and self.window_keys <= names)

    def windows_of(self, columns: Mapping[str, str]) -> dict[str, Any]:
        """What is known of the windows of rows after a step with these columns, each of which was another."""
        kept = frozenset(name for name, before in columns.items() if before in self.window_keys)
        whole = self.window_keys <= {*columns.values()}
        return {"bounds": {name: self.bounds[before] for name, before in columns.items() if before in self.bounds},
                "alone": self.alone if whole else frozenset[Bound](), "window_keys": kept}

    def named(self, source: str) -> SqlRelation:
        """The same under an alias."""
        columns = tuple(replace(column, source=source) for column in self.columns)
        window = None if self.window is None else replace(self.window, source=source)
        return replace(self, columns=columns, window=window)

    def after(self, stream: Stream) -> SqlRelation:
        """The same columns and times after a step that keeps both."""
        return replace(self, stream=stream)

    @property
    def sources(self) -> list[str]:
        """Tables and aliases, in their order."""
        return list(dict.fromkeys(column.source for column in self.columns))

    def orders(self) -> Mapping[str, ValueOrder]:
        """Orders of other columns of the stream than those that follow event time."""
        known = orders(self.stream.node.properties.ordered)
        return {name: order for name, order in known.items() if name not in self.times}

    def ordered(self) -> list[str]:
        """Names in SQL of columns that follow event time."""
        return [column.name for column in self.columns if column.column in self.times]


def relation_of(stream: Stream, source: str, *, table: bool = False) -> SqlRelation:
    """A relation with the columns of a stream under their own names."""
    columns = tuple(SqlColumn(name, source, name) for name in stream.schema.names)
    if table:
        return SqlRelation(stream, columns, {}, "always")
    if _FACTS in stream.node.facts:
        return SqlRelation(stream, columns, **stream.node.facts[_FACTS])
    known = stream.node.properties
    instant = known.points or known.duration == 1
    times = dict.fromkeys(time_columns(stream.node), 1)
    return SqlRelation(stream, columns, times, "instant" if instant else "lasting")


def keep_facts(relation: SqlRelation) -> None:
    """Keep what is known of the times of a result, for other texts that read its stream."""
    relation.stream.node.facts[_FACTS] = {
        each.name: getattr(relation, each.name) for each in fields(relation)
        if each.name not in ("stream", "columns", "window")}


def time_columns(node: Node) -> set[str]:
    """Columns of a stream that are the start of each event."""
    match node.op:
        case Source() as source:
            return {source.time} & set(node.schema.names)
        case Select(columns=columns):
            below = time_columns(node.inputs[0])
            return {name for name, expr in columns if (isinstance(expr, Col) and expr.name in below)
                    or (isinstance(expr, Call) and expr.function == "start_time")}
        case Retime(start=start):
            return {start.name} if isinstance(start, Col) else set()
        case Where() | SetDuration() | SampleKeys() | Assume() | AssumeOrder():
            return time_columns(node.inputs[0])
        case _:
            return set()


def rounded_columns(node: Node | None) -> dict[str, Any]:
    """Columns of a stream that are the start of each event rounded down, with the duration; none before it is made."""
    if node is None:
        return {}
    match node.op:
        case Select(columns=columns):
            times, below = time_columns(node.inputs[0]), rounded_columns(node.inputs[0])
            found = {name: below[expr.name] for name, expr in columns if isinstance(expr, Col) and expr.name in below}
            return found | {name: expr.options[0] for name, expr in columns
                            if isinstance(expr, Call) and expr.function == "dt.floor" and len(expr.options) == 1
                            and isinstance(expr.args[0], Col) and expr.args[0].name in times}
        case Where() | SampleKeys() | Assume() | AssumeOrder():
            return rounded_columns(node.inputs[0])
        case _:
            return {}


def reduced_parts(expr: Expr) -> Iterable[Reduced]:
    """Aggregates and bounds of windows in an expression."""
    from whimbrel.expr.reductions import reduced_in

    return reduced_in(expr)


def epoch_hint(relation: SqlRelation) -> dict[str, str]:
    """An epoch that a hint can show, and the ordered columns."""
    names = relation.ordered()
    name = names[0] if names else "time"
    whole = relation.stream.schema.unit is None
    shown = f"{name}/60 AS tb" if whole else f"date_trunc('minute', {name}) AS minute"
    orders_ = relation.orders()
    others = [f"{each.name} ({orders_[each.column].direction})" for each in relation.columns if each.column in orders_]
    ordered = ", ".join([*(f"{each} (increasing)" for each in names), *others]) or "nothing"
    return {"epoch": shown, "ordered": ordered}


def is_whole_number(type_: pa.DataType) -> bool:
    """Whether division of this type truncates."""
    return bool(pa.types.is_integer(type_))


def ticks_text(ticks: int, relation: SqlRelation) -> str:
    """A duration as Python and SQL users write it."""
    return show_ticks(ticks, relation.stream.schema.unit)
