"""Temporal parts of expressions: values at other times, and of windows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from whimbrel.clock import Duration
from whimbrel.expr.columns import children, columns_of, substitute
from whimbrel.expr.nodes import Col, Expr, Reduced


@dataclass(frozen=True, eq=False, repr=False)
class Temporal(Reduced):
    """A value that depends on other events of the stream than the one at hand.

    Parameters
    ----------
    of : Expr
        What is read at other times; of windows an expression of aggregates.
    """

    kind: ClassVar[str] = "a value of other events"
    computed_by: ClassVar[str] = "select(), with_columns() or where()"

    of: Expr

    def show(self) -> str:
        whole = self.of.show() if isinstance(self.of, Reduced | Col) else f"({self.of.show()})"
        return f"{whole}.{self.call}"

    @property
    @abstractmethod
    def call(self) -> str:
        """The method and its arguments, as the user wrote them."""


@dataclass(frozen=True, eq=False, repr=False)
class Ago(Temporal):
    """The value at an earlier time."""

    by: Duration

    @property
    def call(self) -> str:
        return f"ago({self.by!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Ahead(Temporal):
    """The value at a later time."""

    by: Duration

    @property
    def call(self) -> str:
        return f"ahead({self.by!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Previous(Temporal):
    """The value at the start of an earlier event."""

    events: int

    @property
    def call(self) -> str:
        return f"previous({self.events if self.events != 1 else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class Windowed(Temporal):
    """Aggregates over a window."""


@dataclass(frozen=True, eq=False, repr=False)
class Past(Windowed):
    """The window from a time back to a time ahead."""

    back: Duration
    later: Duration
    min_rows: int

    @property
    def call(self) -> str:
        ahead = f", ahead={self.later!r}" if self.later else ""
        return f"past({self.back!r}{ahead}{f', min_rows={self.min_rows}' if self.min_rows else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class Cell(Windowed):
    """The tumbling window that holds the time."""

    size: Duration
    offset: Duration | None

    @property
    def call(self) -> str:
        return f"cell({self.size!r}{'' if self.offset is None else f', offset={self.offset!r}'})"


@dataclass(frozen=True, eq=False, repr=False)
class SoFar(Windowed):
    """All events that have started."""

    @property
    def call(self) -> str:
        return "so_far()"


def temporal_parts(expr: Expr) -> Iterator[Temporal]:
    """The largest temporal parts of an expression."""
    if isinstance(expr, Temporal):
        yield expr
        return
    for child in children(expr):
        yield from temporal_parts(child)


def distributed(expr: Expr) -> Expr:
    """The same, where only columns, windows and earlier events are moved in time.

    >>> from whimbrel import col
    >>> from whimbrel.expr.temporal import distributed
    >>> distributed((col.x - col.y.previous()).ago(5))
    col.x.ago(5) - col.y.previous().ago(5)
    """
    mapping: dict[str, Expr] = {}
    for part in temporal_parts(expr):
        inner = distributed(part.of)
        leaves = list(temporal_parts(inner))
        if isinstance(part, Ago | Ahead) and leaves and not isinstance(inner, Temporal):
            moved: dict[str, Any] = {leaf.show(): replace(part, of=leaf) for leaf in leaves}
            moved |= {name: replace(part, of=Col(name)) for name in columns_of(inner)}
            mapping[part.show()] = substitute(inner, moved)
        else:
            mapping[part.show()] = replace(part, of=inner)
    return substitute(expr, mapping)
