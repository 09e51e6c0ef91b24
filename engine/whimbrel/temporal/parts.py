"""Values of other events that a column can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.expr import Expr, columns_of, type_of
from whimbrel.expr.reductions import reduced_in
from whimbrel.plan import Aggregate, floor_to


@dataclass(frozen=True)
class TimeWindow:
    """Events that are active in ``(t - back, t + lookahead]``."""

    back: int
    lookahead: int = 0


@dataclass(frozen=True)
class RowWindow:
    """The last events that have started at t."""

    rows: int


@dataclass(frozen=True)
class CellWindow:
    """Events that are active in the window of a grid that holds t."""

    size: int
    offset: int


@dataclass(frozen=True, eq=False)
class EventValue:
    """The value of the event that is active, or of the one that many before it.

    Parameters
    ----------
    expr : Expr
    before : int
    held : bool
        The last event that has started counts, if it has ended, too.
    """

    expr: Expr
    before: int = 0
    held: bool = False


@dataclass(frozen=True, eq=False)
class WindowFold:
    """Aggregates of a window.

    Parameters
    ----------
    window : TimeWindow, RowWindow or CellWindow
    results : Expr
        An expression of aggregates.
    min_rows : int
        Fewest events for a value, at least one.
    """

    window: TimeWindow | RowWindow | CellWindow
    results: Expr
    min_rows: int

    @property
    def aggregates(self) -> dict[str, Aggregate]:
        """Each aggregate once, by its text."""
        return {each.show(): each for each in reduced_in(self.results) if isinstance(each, Aggregate)}


@dataclass(frozen=True)
class ReadReach:
    """How far some columns read from a time, together.

    Parameters
    ----------
    back, kept, lookahead : int
        As of :class:`ReadColumn`.
    """

    back: int
    kept: int
    lookahead: int

    def joined(self, other: ReadReach) -> ReadReach:
        """How far both read."""
        return ReadReach(max(self.back, other.back), max(self.kept, other.kept), max(self.lookahead, other.lookahead))


@dataclass(frozen=True)
class Boundary:
    """When events change a function of time.

    Parameters
    ----------
    of_end : bool
        It is after the end of an event; otherwise after its start.
    shift : int
        So many ticks; fewer than 0 are before.
    size, offset : int
        Starts are first rounded down to a grid, and ends up; a size of 0 does not round.
    """

    of_end: bool
    shift: int
    size: int = 0
    offset: int = 0

    @property
    def lead(self) -> int:
        """Most ticks from the boundary to the start or end of the event; negative if it is later than that."""
        return max(0, self.size - 1) - self.shift


@dataclass(frozen=True)
class Presence:
    """When an event gives a function of time a value: from one boundary to the other one, or for ever."""

    begin: Boundary
    end: Boundary | None

    @property
    def extent(self) -> ReadReach:
        """How far it reads; an event still matters when it passes its last boundary."""
        back = 0 if self.end is None else max(0, self.end.shift + self.end.size + 1)
        return ReadReach(back, int(self.end is None), max(0, self.begin.lead))

    def known_until(self, watermark: int) -> int:
        """No event from the watermark on has a boundary before this tick."""
        begin = self.begin
        return (floor_to(watermark, begin.size, begin.offset) if begin.size else watermark) + begin.shift


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """One column.

    Parameters
    ----------
    name : str
        Its name.
    of : EventValue or WindowFold
        What it is at a time t.
    lag : int
        It is read so many ticks before the start of each event; a negative lag reads later values.
    """

    name: str
    of: EventValue | WindowFold
    lag: int = 0

    @property
    def exprs(self) -> Iterator[Expr]:
        """What it computes from each event."""
        if isinstance(self.of, EventValue):
            yield self.of.expr
            return
        for each in self.of.aggregates.values():
            yield from (expr for expr in (each.expr, each.condition) if expr is not None)

    @property
    def back(self) -> int:
        """Events that ended so many ticks before a time do not matter, but the last :attr:`kept` of them."""
        match self.of:
            case WindowFold(window=TimeWindow(back=back)):
                return max(0, self.lag + back)
            case WindowFold(window=CellWindow(size=size)):
                return max(0, self.lag + size)
        return max(0, self.lag)

    @property
    def kept(self) -> int:
        """Events of a key that are needed, however long ago they were."""
        match self.of:
            case WindowFold(window=RowWindow(rows=rows)):
                return rows
            case EventValue(before=before, held=held):
                return before + held
        return 0

    @property
    def lookahead(self) -> int:
        """Lookahead in ticks."""
        match self.of:
            case WindowFold(window=TimeWindow(lookahead=lookahead)):
                return max(0, lookahead - self.lag)
            case WindowFold(window=CellWindow(size=size)):
                return max(0, size - 1 - self.lag)
        return max(0, -self.lag)

    @property
    def presence(self) -> Presence:
        """When events give it a value."""
        match self.of:
            case WindowFold(window=TimeWindow(back=back, lookahead=lookahead)):
                return Presence(Boundary(False, self.lag - lookahead), Boundary(True, self.lag + back - 1))
            case WindowFold(window=CellWindow(size=size, offset=offset)):
                return Presence(Boundary(False, self.lag, size, offset), Boundary(True, self.lag, size, offset))
            case WindowFold(window=RowWindow()) | EventValue(held=True):
                return Presence(Boundary(False, self.lag), None)
        return Presence(Boundary(False, self.lag), Boundary(True, self.lag))

    def known_until(self, watermark: int) -> int:
        """Values before this tick depend on no event from the watermark on."""
        if isinstance(self.of, WindowFold) and isinstance(self.of.window, CellWindow):
            return floor_to(watermark, self.of.window.size, self.of.window.offset) + self.lag
        return watermark - self.lookahead


class ReadColumns(tuple[ReadColumn, ...]):
    """Columns that are read together."""

    __slots__ = ()

    @property
    def extent(self) -> ReadReach:
        """How far they read."""
        return ReadReach(*(max(getattr(part, name) for part in self) for name in ("back", "kept", "lookahead")))

    @property
    def names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(part.name for part in self)

    @property
    def reads(self) -> frozenset[str]:
        """The columns of the events that they read."""
        return frozenset[str]().union(*(columns_of(expr) for part in self for expr in part.exprs))

    def only(self, wanted: frozenset[str]) -> ReadColumns:
        """Those that are wanted; all, if none is."""
        return ReadColumns(part for part in self if part.name in wanted) or self

    def fields(self, events: Schema) -> list[Field]:
        """What they add to a schema."""
        return [Field(part.name, part_type(part, events)) for part in self]

    def show(self, keys: Sequence[str]) -> str:
        """Their names, and the keys of events."""
        return ", ".join(part.name for part in self) + (f" per {', '.join(keys)}" if keys else "")


def part_type(part: ReadColumn, schema: Schema) -> pa.DataType:
    """Type of the column of a part."""
    if isinstance(part.of, EventValue):
        return type_of(part.of.expr, schema)
    fields = [Field(name, aggregate.result_type(None if aggregate.expr is None else type_of(aggregate.expr, schema)))
              for name, aggregate in part.of.aggregates.items()]
    return type_of(part.of.results, replace(schema, fields=tuple(fields)))
