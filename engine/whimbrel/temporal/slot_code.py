"""Code of streams at one slot of a periodic loop."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from whimbrel.batch import Schema, numpy_type
from whimbrel.expr import Cast, Col, Expr, predicate_source, to_source, type_of
from whimbrel.expr.codegen import Bind, Text
from whimbrel.expr.nodes import node
from whimbrel.expr.type_predicates import is_plain
from whimbrel.kernels.source_text import indented
from whimbrel.temporal.bounds import Shifted


@dataclass(frozen=True)
class PaneLookup:
    """Tumbling windows that a loop reads: their number, their width, and the lines that read the active one."""

    number: int
    width: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Condition:
    """Whether something is true at one slot.

    Parameters
    ----------
    text : str
    array : str, optional
        It is the entry of this array at the slot.
    panes : PaneLookup, optional
        It is true just where one of these windows begins.
    """

    text: str
    array: str | None = None
    panes: PaneLookup | None = None


@dataclass(frozen=True)
class SlotValue:
    """A value at one slot.

    Parameters
    ----------
    text : str
        It may run only where the value is valid.
    valid : tuple of Condition
        What must be true, all of it, for a value to be there; empty: one is always there.
    array : str, optional
        The value is the entry of this array at the slot, at most converted without loss.
    """

    text: str
    valid: tuple[Condition, ...] = ()
    array: str | None = None

    def where(self, known: Collection[Condition]) -> SlotValue:
        """The value where some conditions are true."""
        return replace(self, valid=tuple(each for each in self.valid if each not in known))


@dataclass(frozen=True)
class SlotStream:
    """A stream at one slot. None: every slot has an event, or a change.

    Where events are `recomputed`, one begins at each place that has one.
    """

    columns: tuple[SlotValue, ...]
    present: Condition | None
    changes: Condition | None
    recomputed: bool = False
    begins: Condition | None = None

    @property
    def starts(self) -> Condition | None:
        """Whether an event begins, if it does not stand somewhere; None: always."""
        return self.begins or (self.present if self.recomputed else both(self.present, self.changes))

    def bind(self, schema: Schema) -> Bind:
        """The columns, for the code of expressions over them."""
        def column(leaf: Expr) -> Text:
            found = self._column(leaf, schema)
            valid = both(*found.valid)
            return found.text, None if valid is None else valid.text

        return column

    def value(self, expr: Expr, schema: Schema) -> SlotValue:
        """An expression over the columns."""
        if isinstance(node(expr), Col):
            return self._column(expr, schema)
        text, valid = to_source(expr, schema, self.bind(schema))
        return SlotValue(text, () if valid is None else (Condition(valid),), self._array(expr, schema))

    def true(self, condition: Expr, schema: Schema) -> Condition:
        """Whether a condition over the columns is true, and not null."""
        column = self._column(condition, schema) if isinstance(node(condition), Col) else None
        return Condition(predicate_source(condition, schema, self.bind(schema)),
                         None if column is None or column.valid else column.array)

    def _column(self, expr: Expr, schema: Schema) -> SlotValue:
        return self.columns[schema.index(cast(Col, node(expr)).name)]

    def _array(self, expr: Expr, schema: Schema) -> str | None:
        """The array of which an expression only converts the entries, and loses nothing."""
        match node(expr):
            case Col():
                return self._column(expr, schema).array
            case Cast(x, type_) if is_plain(source := type_of(x, schema)) and is_plain(type_):
                before, after = numpy_type(source), numpy_type(type_)
                if before is not None and after is not None and np.can_cast(before, after):
                    return self._array(x, schema)
        return None


@dataclass
class SlotLines:
    """Lines inside a loop, the tumbling windows that it reads, and the streams made so far."""

    lines: list[str] = field(default_factory=list)
    panes: list[PaneLookup] = field(default_factory=list)
    made: dict[Shifted, SlotStream] = field(default_factory=dict)

    def over(self, first: str, stop: str, lines: list[str], changes: Condition | None = None) -> list[str]:
        """The whole loop, where `lines` are what is done at each place, and nothing is where nothing `changes`."""
        lines = [*self.lines, *lines]
        edges = None if changes is None else changes.panes
        if len(self.panes) == 1 and edges is None:  # window by window: what it reads of each stays the same
            each, = self.panes
            begin, begun, which, width = (*(f"{name}{each.number}" for name in ("begin", "begun", "which")), each.width)
            last = f"-(({begin} - ({stop})) // {width})"
            return [f"for {which} in range(({first} - {begin}) // {width}, {last}):",
                    *indented([f"{begun} = {begin} + {which} * {width}", *each.lines]),
                    f"    for at in range(max({first}, {begun}), min({stop}, {begun} + {width})):",
                    *indented(lines, 2)]
        slots = f"{first}, {stop}"
        if edges is not None:
            begin, width = f"begin{edges.number}", edges.width
            slots = f"{first} + ({begin} - ({first})) % {width}, {stop}, {width}"
        read = [line for each in self.panes
                for line in (f"which{each.number} = (at - begin{each.number}) // {each.width}", *each.lines)]
        return [f"for at in range({slots}):", *indented([*read, *lines])]


def slot(name: str, before: int) -> str:
    """Code of the slot so many before another one, or after it."""
    return name if before == 0 else f"{name} - {before}" if before > 0 else f"{name} + {-before}"


def both(*conditions: Condition | None) -> Condition | None:
    """Whether all of them are true; None: always."""
    given = [each for each in conditions if each is not None]
    if len(given) > 1:
        return Condition(f"({' and '.join(each.text for each in given)})")
    return given[0] if given else None
