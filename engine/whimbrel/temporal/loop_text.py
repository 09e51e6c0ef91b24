"""Code fragments of a periodic loop: streams at a slot, lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from whimbrel.batch import Schema
from whimbrel.expr import Col
from whimbrel.expr.codegen import Bind, Text
from whimbrel.expr.nodes import node
from whimbrel.temporal.bounds import Shifted


@dataclass(frozen=True)
class StreamText:
    """Code of a stream at one slot. None: every slot has an event, or a change.

    Where events are `recomputed`, one begins at each place that has one.
    """

    columns: tuple[Text, ...]
    present: str | None
    changes: str | None
    recomputed: bool = False
    begins: str | None = None

    @property
    def starts(self) -> str | None:
        """Text of whether an event begins, if it does not stand somewhere; None: always."""
        return self.begins or (self.present if self.recomputed else both(self.present, self.changes))

    def bind(self, schema: Schema) -> Bind:
        return lambda leaf: self.columns[schema.index(cast(Col, node(leaf)).name)]


@dataclass(frozen=True)
class PaneLookup:
    """Tumbling windows that a loop reads: their number, their width, and the lines that read the active one."""

    number: int
    width: int
    lines: tuple[str, ...]

    @property
    def edge(self) -> str:
        """Text of whether a window begins."""
        return f"((at - begin{self.number}) % {self.width} == 0)"


@dataclass
class LoopText:
    """Lines inside a loop, the tumbling windows that it reads, and the streams made so far."""

    lines: list[str] = field(default_factory=list)
    adjacent: list[PaneLookup] = field(default_factory=list)
    made: dict[Shifted, StreamText] = field(default_factory=dict)

    def over(self, first: str, stop: str, lines: list[str], changes: str | None = None) -> list[str]:
        """The whole loop, where `lines` are what is done at each place, and nothing is where nothing `changes`."""
        lines = [*self.lines, *lines]
        edges = [each for each in self.adjacent if each.edge == changes]
        if len(self.adjacent) == 1 and not edges:  # window by window: what it reads of each stays the same
            each, = self.adjacent
            begin, begun, which, width = (*(f"{name}{each.number}" for name in ("begin", "begun", "which")), each.width)
            last = f"-(({begin} - ({stop})) // {width})"
            return [f"for {which} in range(({first} - {begin}) // {width}, {last}):",
                    *indented([f"{begun} = {begin} + {which} * {width}", *each.lines]),
                    f"    for at in range(max({first}, {begun}), min({stop}, {begun} + {width})):",
                    *indented(indented(lines))]
        slots = f"{first}, {stop}"
        if edges:
            begin, width = f"begin{edges[0].number}", edges[0].width
            slots = f"{first} + ({begin} - ({first})) % {width}, {stop}, {width}"
        read = [line for each in self.adjacent
                for line in (f"which{each.number} = (at - begin{each.number}) // {each.width}", *each.lines)]
        return [f"for at in range({slots}):", *indented([*read, *lines])]


def both(one: str | None, other: str | None) -> str | None:
    """Text of whether both are true; None: always."""
    return f"({one} and {other})" if one and other else one or other


def indented(lines: list[str]) -> list[str]:
    """The lines, one level deeper."""
    return [f"    {line}" for line in lines]
