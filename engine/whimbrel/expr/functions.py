"""Functions of strings and times: ``x.str`` and ``x.dt``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whimbrel.clock.duration import Duration
from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Call, Expr
from whimbrel.migration_hints import absent


@dataclass(frozen=True)
class StringFunctions:
    """Functions of a string expression.

    Examples
    --------
    >>> from whimbrel.expr import col
    >>> col.name.str.lower().str.contains("wh")
    col.name.str.lower().str.contains('wh')
    """

    x: Expr

    if not TYPE_CHECKING:  # type checkers know what is there
        __getattr__ = absent("col.x.str", {})

    def contains(self, text: str, *, regex: bool = False) -> Expr:
        """Test for an occurrence of `text`, or of the RE2 pattern."""
        return self._search("contains", text, regex)

    def starts_with(self, text: str) -> Expr:
        return self._search("starts_with", text)

    def ends_with(self, text: str) -> Expr:
        return self._search("ends_with", text)

    def index_of(self, text: str) -> Expr:
        """Index of the first occurrence of `text`, in characters.

        It is -1 where `text` does not occur.
        """
        return self._search("index_of", text)

    def lower(self) -> Expr:
        return Call("str.lower", (self.x,))

    def upper(self) -> Expr:
        return Call("str.upper", (self.x,))

    def length(self) -> Expr:
        """Number of characters (Unicode code points)."""
        return Call("str.length", (self.x,))

    def _search(self, name: str, text: str, *options: bool) -> Expr:
        if not isinstance(text, str):
            raise ExpressionError(f"{name}() needs one string, got {text!r}.",
                                  where=f"{self.x.show()}.str.{name}({text!r})",
                                  hint="Combine several with |, or use is_in([...]) for whole values.")
        return Call(f"str.{name}", (self.x,), (text, *options))


@dataclass(frozen=True)
class TimeFunctions:
    """Functions of a time or date expression.

    Parts are int64, in the time zone of the column.

    Examples
    --------
    >>> from whimbrel.expr import col
    >>> col.time.dt.floor("1h")
    col.time.dt.floor('1h')
    """

    x: Expr

    if not TYPE_CHECKING:
        __getattr__ = absent("col.x.dt", {})

    @property
    def year(self) -> Expr:
        return Call("dt.year", (self.x,))

    @property
    def month(self) -> Expr:
        return Call("dt.month", (self.x,))

    @property
    def day(self) -> Expr:
        """Day of the month, from 1."""
        return Call("dt.day", (self.x,))

    @property
    def hour(self) -> Expr:
        return Call("dt.hour", (self.x,))

    @property
    def minute(self) -> Expr:
        return Call("dt.minute", (self.x,))

    @property
    def second(self) -> Expr:
        """Whole seconds of the minute."""
        return Call("dt.second", (self.x,))

    @property
    def weekday(self) -> Expr:
        """Day of the week: Monday is 0."""
        return Call("dt.weekday", (self.x,))

    def floor(self, duration: Duration) -> Expr:
        """Round down to a time grid.

        The result is the last point of the grid not after the time, on the column's own clock.

        The grid starts at 1970-01-01; one of weeks (``"1w"``, not ``"7d"``) on a Monday. A day or another step that is
        longer than an hour that comes twice, when clocks go back, has that hour in it twice.
        """
        return Call("dt.floor", (self.x,), (duration,))
