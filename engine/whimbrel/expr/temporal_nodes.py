"""Temporal parts of expressions: values at other times, and of windows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal
from zlib import crc32

from whimbrel.clock import Duration
from whimbrel.expr.nodes import Col, Expr, Reduced

_SHOWN_TAPS = 8
"""Most taps of a filter that are printed."""


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
class TimeOffset(Temporal):
    """The value at an earlier or a later time."""

    by: Duration
    method: Literal["ago", "ahead"]

    @property
    def call(self) -> str:
        return f"{self.method}({self.by!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Previous(Temporal):
    """The value at the start of an earlier event."""

    events: int

    @property
    def call(self) -> str:
        return f"previous({'' if self.events == 1 else repr(self.events)})"


@dataclass(frozen=True, eq=False, repr=False)
class Recurrence(Temporal):
    """A value that each event computes from the one before it."""

    def show(self) -> str:
        name, options = self.call.split("(", 1)
        return f"{name}({self.of.show()}, {options}"


@dataclass(frozen=True, eq=False, repr=False)
class Ema(Recurrence):
    """The exponentially weighted mean, by time or by event."""

    halflife: Duration | None
    alpha: float | None

    @property
    def call(self) -> str:
        return f"ema(halflife={self.halflife!r})" if self.alpha is None else f"ema(alpha={self.alpha!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Iir(Recurrence):
    """A recursive linear filter."""

    b: tuple[float, ...]
    a: tuple[float, ...]
    sections: tuple[tuple[float, ...], ...]
    init: Literal["zero", "steady"] = "zero"
    settle: int = 0
    nan: Literal["gap", "keep"] = "gap"

    @property
    def call(self) -> str:
        options = [f"sos={_shown(self.sections)}"] if self.sections else [
            f"b={list(self.b)}", f"a={list(self.a)}"]
        options += [f"init={self.init!r}"] if self.init != "zero" else []
        options += [f"settle={self.settle}"] if self.settle else []
        options += [f"nan={self.nan!r}"] if self.nan != "gap" else []
        return f"iir({', '.join(options)})"


@dataclass(frozen=True, eq=False, repr=False)
class Fir(Temporal):
    """A filter with a finite impulse response, over the samples of a stream."""

    taps: tuple[float, ...]
    align: Literal["causal", "center"]
    settle: int | None
    nan: Literal["gap", "keep"]

    def show(self) -> str:
        return f"fir({self.of.show()}, {self.call.removeprefix('fir(')}"

    @property
    def call(self) -> str:
        taps = f"{list(self.taps)}" if len(self.taps) <= _SHOWN_TAPS else f"{len(self.taps)} taps {_digest(self.taps)}"
        options = [f"align={self.align!r}"] if self.align != "causal" else []
        options += [f"settle={self.settle}"] if self.settle is not None else []
        options += [f"nan={self.nan!r}"] if self.nan != "gap" else []
        return f"fir({', '.join([taps, *options])})"


def _shown(sections: tuple[tuple[float, ...], ...]) -> str:
    """One section in full, several by their number."""
    if len(sections) == 1:
        return f"{[list(section) for section in sections]}"
    return f"{len(sections)} sections {_digest(sections)}"


def _digest(coefficients: tuple[Any, ...]) -> str:
    """Tells filters with equally many coefficients apart."""
    return f"{crc32(repr(coefficients).encode()):08x}"


@dataclass(frozen=True, eq=False, repr=False)
class WindowValue(Temporal):
    """Aggregates over a window."""


@dataclass(frozen=True, eq=False, repr=False)
class Past(WindowValue):
    """The window from a time back to a time ahead."""

    back: Duration
    later: Duration
    min_rows: int

    @property
    def call(self) -> str:
        ahead = f", ahead={self.later!r}" if self.later else ""
        return f"past({self.back!r}{ahead}{f', min_rows={self.min_rows}' if self.min_rows != 1 else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class PastRows(WindowValue):
    """The last events that have started."""

    rows: int
    min_rows: int

    @property
    def call(self) -> str:
        return f"past(rows={self.rows}{f', min_rows={self.min_rows}' if self.min_rows != 1 else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class WindowCell(WindowValue):
    """The tumbling window that holds the time."""

    size: Duration
    offset: Duration | None

    @property
    def call(self) -> str:
        return f"cell({self.size!r}{'' if self.offset is None else f', offset={self.offset!r}'})"


@dataclass(frozen=True, eq=False, repr=False)
class SoFar(WindowValue):
    """All events that have started, or those since the last reset."""

    reset: Expr | None = None

    @property
    def call(self) -> str:
        return f"so_far({'' if self.reset is None else f'reset={self.reset.show()}'})"


@dataclass(frozen=True, eq=False, repr=False)
class Exists(Temporal):
    """Whether there is an event that has the value, though it may be null."""

    @property
    def call(self) -> str:
        return "exists()"
