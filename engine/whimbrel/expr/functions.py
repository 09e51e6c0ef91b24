"""Functions of strings and times: ``x.str`` and ``x.dt``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whimbrel.clock.duration import Duration
from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Call, Expr
from whimbrel.expr.text_methods import TextMethods
from whimbrel.expr.time_methods import TimeMethods
from whimbrel.migration_hints import TEXTS, TIMES, absent


@dataclass(frozen=True)
class StringFunctions(TextMethods):
    """Functions of a string expression.

    Examples
    --------
    >>> from whimbrel.expr import col
    >>> col.name.str.lower().str.contains("wh")
    col.name.str.lower().str.contains('wh')
    """

    x: Expr

    if not TYPE_CHECKING:  # type checkers know what is there
        __getattr__ = absent("col.x.str", TEXTS)

    def contains(self, text: str, *, regex: bool = False) -> Expr:
        """Test for an occurrence of `text`, or of the RE2 pattern."""
        return self._search("contains", text, regex)

    def starts_with(self, text: str) -> Expr:
        """Test for `text` at the beginning."""
        return self._search("starts_with", text)

    def ends_with(self, text: str) -> Expr:
        """Test for `text` at the end."""
        return self._search("ends_with", text)

    def index_of(self, text: str) -> Expr:
        """Index of the first occurrence of `text`, in characters.

        It is -1 where `text` does not occur.
        """
        return self._search("index_of", text)

    def lower(self) -> Expr:
        """The text in small letters."""
        return Call("str.lower", (self.x,))

    def upper(self) -> Expr:
        """The text in capital letters."""
        return Call("str.upper", (self.x,))

    def length(self) -> Expr:
        """Number of characters (Unicode code points)."""
        return Call("str.length", (self.x,))

    def slice(self, start: int, stop: int | None = None) -> Expr:
        """Characters from `start` up to `stop`, as in Python."""
        return Call("str.slice", (self.x,), (self._whole("slice", start), stop if stop is None else self._whole(
            "slice", stop)))

    def strip(self, characters: str | None = None) -> Expr:
        """Remove these characters at both ends, or white space."""
        return self._stripped("strip", characters)

    def lstrip(self, characters: str | None = None) -> Expr:
        """Remove these characters at the beginning, or white space."""
        return self._stripped("lstrip", characters)

    def rstrip(self, characters: str | None = None) -> Expr:
        """Remove these characters at the end, or white space."""
        return self._stripped("rstrip", characters)

    def replace(self, old: str, new: str, *, regex: bool = False, count: int | None = None) -> Expr:
        """Replace at most `count` occurrences of `old` or of the RE2 pattern."""
        for text in (old, new):
            self._text("replace", text)
        if not old and not regex:  # Arrow searches for it without end
            raise ExpressionError("replace() needs a text to look for, got ''.",
                                  where=f"{self.x.show()}.str.replace('', {new!r})",
                                  hint="Use + to add text before or after: col.s + '!'.")
        most = count if count is None else self._count("replace", count)
        return Call("str.replace", (self.x,), (old, new, regex, most))

    def split_part(self, separator: str, number: int) -> Expr:
        """Part of this number between separators, from 1.

        Below 0, parts count from the end. It is an empty text where there are fewer.
        """
        shown = f"{self.x.show()}.str.split_part({separator!r}, {number!r})"
        if not self._text("split_part", separator):
            raise ExpressionError("split_part() needs a separator, got ''.", where=shown,
                                  hint="Use slice(...) for single characters.")
        if self._whole("split_part", number) == 0:
            raise ExpressionError("split_part() has no part 0.", where=shown,
                                  hint="Count parts from 1, or from -1 at the end.")
        return Call("str.split_part", (self.x,), (separator, number))

    def extract(self, pattern: str, group: int = 0) -> Expr:
        """Match of a group of the RE2 pattern.

        Group 0 is the whole match. It is null where the pattern does not match.
        """
        return Call("str.extract", (self.x,), (self._text("extract", pattern), self._count("extract", group)))

    def pad_start(self, width: int, fill: str = " ") -> Expr:
        """Add `fill` at the beginning, up to a number of characters."""
        return self._padded("pad_start", width, fill)

    def pad_end(self, width: int, fill: str = " ") -> Expr:
        """Add `fill` at the end, up to a number of characters."""
        return self._padded("pad_end", width, fill)

    def reverse(self) -> Expr:
        """The characters from last to first."""
        return Call("str.reverse", (self.x,))

    def repeat(self, count: int) -> Expr:
        """The text so many times."""
        return Call("str.repeat", (self.x,), (self._count("repeat", count),))

    def title(self) -> Expr:
        """The text with a capital letter at the beginning of each word."""
        return Call("str.title", (self.x,))

    def zfill(self, width: int) -> Expr:
        """Add zeros after a sign, up to a number of characters."""
        return Call("str.zfill", (self.x,), (self._count("zfill", width),))

    def len_bytes(self) -> Expr:
        """Number of bytes in UTF-8."""
        return Call("str.len_bytes", (self.x,))

    def count_matches(self, text: str, *, regex: bool = False) -> Expr:
        """Number of occurrences of `text`, or of the RE2 pattern."""
        return self._search("count_matches", text, regex)

    def head(self, count: int) -> Expr:
        """The first characters; below 0, without the last ones."""
        return self.slice(0, count)

    def tail(self, count: int) -> Expr:
        """The last characters, at most this many."""
        return self.slice(-count) if self._whole("tail", count) > 0 else self.slice(0, 0)

    def _padded(self, name: str, width: int, fill: str) -> Expr:
        if not isinstance(fill, str) or len(fill) != 1:
            raise ExpressionError(f"{name}() needs one character, got {fill!r}.",
                                  where=f"{self.x.show()}.str.{name}({width!r}, {fill!r})",
                                  hint="Use a space or '0'.")
        return Call(f"str.{name}", (self.x,), (self._count(name, width), fill))

    def _stripped(self, name: str, characters: str | None) -> Expr:
        return Call(f"str.{name}", (self.x,), (characters if characters is None else self._text(name, characters),))

    def _text(self, name: str, text: str) -> str:
        if not isinstance(text, str):
            raise ExpressionError(f"{name}() needs one string, got {text!r}.",
                                  where=f"{self.x.show()}.str.{name}(...)", hint="Use one string.")
        return text

    def _count(self, name: str, number: int) -> int:
        if self._whole(name, number) < 0:
            raise ExpressionError(f"{name}() needs a number from 0, got {number}.",
                                  where=f"{self.x.show()}.str.{name}(...)", hint="Use 0 or more.")
        return number

    def _whole(self, name: str, number: int) -> int:
        if isinstance(number, bool) or not isinstance(number, int):
            raise ExpressionError(f"{name}() needs a whole number, got {number!r}.",
                                  where=f"{self.x.show()}.str.{name}(...)", hint="Use a number of the query.")
        return number

    def _search(self, name: str, text: str, *options: bool) -> Expr:
        if not isinstance(text, str):
            raise ExpressionError(f"{name}() needs one string, got {text!r}.",
                                  where=f"{self.x.show()}.str.{name}({text!r})",
                                  hint="Combine several with |, or use is_in([...]) for whole values.")
        return Call(f"str.{name}", (self.x,), (text, *options))


@dataclass(frozen=True)
class TimeFunctions(TimeMethods):
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
        __getattr__ = absent("col.x.dt", TIMES)

    @property
    def year(self) -> Expr:
        """Year of the calendar."""
        return Call("dt.year", (self.x,))

    @property
    def month(self) -> Expr:
        """Month of the year, from 1."""
        return Call("dt.month", (self.x,))

    @property
    def day(self) -> Expr:
        """Day of the month, from 1."""
        return Call("dt.day", (self.x,))

    @property
    def hour(self) -> Expr:
        """Hour of the day, from 0."""
        return Call("dt.hour", (self.x,))

    @property
    def minute(self) -> Expr:
        """Minute of the hour, from 0."""
        return Call("dt.minute", (self.x,))

    @property
    def second(self) -> Expr:
        """Whole seconds of the minute."""
        return Call("dt.second", (self.x,))

    @property
    def weekday(self) -> Expr:
        """Day of the week: Monday is 0."""
        return Call("dt.weekday", (self.x,))

    @property
    def millisecond(self) -> Expr:
        """Whole milliseconds of the second."""
        return Call("dt.millisecond", (self.x,))

    @property
    def microsecond(self) -> Expr:
        """Whole microseconds of the second."""
        return Call("dt.microsecond", (self.x,))

    @property
    def iso_year(self) -> Expr:
        """Year of the week by ISO 8601."""
        return Call("dt.iso_year", (self.x,))

    @property
    def date(self) -> Expr:
        """The date, in the time zone of the column."""
        return Call("dt.date", (self.x,))

    @property
    def is_weekend(self) -> Expr:
        """Test for Saturday and Sunday."""
        return Call("dt.is_weekend", (self.x,))

    @property
    def quarter(self) -> Expr:
        """Quarter of the year, from 1."""
        return Call("dt.quarter", (self.x,))

    @property
    def week(self) -> Expr:
        """Week of the year by ISO 8601, from 1."""
        return Call("dt.week", (self.x,))

    @property
    def day_of_year(self) -> Expr:
        """Day of the year, from 1."""
        return Call("dt.day_of_year", (self.x,))

    def floor(self, duration: Duration) -> Expr:
        """Round down to a time grid.

        The result is the last point of the grid not after the time, on the column's own clock.

        The grid starts at 1970-01-01; one of weeks (``"1w"``, not ``"7d"``) on a Monday. A day or another step that is
        longer than an hour that comes twice, when clocks go back, has that hour in it twice. ``"1mo"``, ``"1q"`` and
        ``"1y"`` give the first moment of the month, the quarter or the year.
        A date stays a date and takes whole days only.
        """
        return Call("dt.floor", (self.x,), (duration,))

    def ceil(self, duration: Duration) -> Expr:
        """Round up to a time grid.

        The result is the first point not before the time, of the grid of :meth:`floor`.

        Examples
        --------
        >>> from datetime import datetime
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> log = wb.from_arrow({"at": [datetime(2024, 2, 10, 9, 50)]}, time="at")
        >>> row, = log.select(hour=col.at.dt.ceil("1h"), month=col.at.dt.ceil("1mo")).collect().to_pylist()
        >>> print(row["hour"], row["month"])
        2024-02-10 10:00:00 2024-03-01 00:00:00
        """
        return Call("dt.ceil", (self.x,), (duration,))

    def round(self, duration: Duration) -> Expr:
        """Round to the nearest point of a time grid.

        The grid is that of :meth:`floor`. A time in the middle between two points is rounded up.
        """
        return Call("dt.round", (self.x,), (duration,))

    def at_time_zone(self, zone: str) -> Expr:
        """Read the clock of a time zone.

        The result is a time without a zone. Of a time without a zone it is the moment at which that clock shows it: of
        two such moments the later one. A time that the clock skips has the offset from before.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": pa.array([0], pa.timestamp("s", "UTC"))}, time="at")
        >>> str(log.select(t=wb.col.at.dt.at_time_zone("Europe/Berlin")).collect()["t"][0])
        '1970-01-01 01:00:00'
        """
        return Call("dt.at_time_zone", (self.x,), (zone,))
