"""Values of other events that a column can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.expr import Expr, columns_of, type_of
from whimbrel.expr.reductions import reduced_in
from whimbrel.plan import Aggregate


@dataclass(frozen=True)
class TimeWindow:
    """Events that are active in ``(t - back, t + lookahead]``."""

    back: int
    lookahead: int = 0


@dataclass(frozen=True)
class RowWindow:
    """The last events that have started at t; or that had started when the event began that many before."""

    rows: int
    before: int = 0


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


class ReadColumns(tuple[ReadColumn, ...]):
    """Columns that are read together."""

    __slots__ = ()

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
