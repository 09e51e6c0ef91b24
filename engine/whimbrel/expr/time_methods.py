"""Methods of times and dates: moments, zones and differences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from whimbrel.errors import ExpressionError

if TYPE_CHECKING:
    from whimbrel.expr.nodes import Expr


class TimeMethods:
    """Functions of a time or a date, in the zone of the column; null stays null."""

    x: Expr

    @property
    def nanosecond(self) -> Expr:
        """Whole nanoseconds of the second."""
        return self._called("nanosecond")

    @property
    def time(self) -> Expr:
        """The time of day, on the clock of the column's zone."""
        return self._called("time")

    @property
    def total_seconds(self) -> Expr:
        """A duration in seconds, as a float."""
        return self._called("total_seconds")

    def epoch(self, unit: Literal["s", "ms", "us", "ns"] = "us") -> Expr:
        """Time since 1970 in UTC, in this unit, rounded down.

        It is null beyond int64.
        """
        return self._called("epoch", unit)

    def strftime(self, format: str) -> Expr:
        """The text of the time by a format of Python.

        English names of days and months are used on every machine. ``%f`` has six digits.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from datetime import datetime
        >>> log = wb.from_arrow({"at": [datetime(2024, 7, 1, 9, 30)]}, time="at")
        >>> log.select(y=wb.start_time().dt.strftime("%d.%m.%Y %H:%M")).collect()["y"].to_pylist()
        ['01.07.2024 09:30']
        """
        return self._called("strftime", format)

    def to_timezone(self, zone: str) -> Expr:
        """The same moments in another zone.

        A time without a zone is UTC.
        """
        if not isinstance(zone, str):
            raise ExpressionError(f"to_timezone() needs a zone, got {zone!r}.",
                                  where=f"{self.x.show()}.dt.to_timezone({zone!r})",
                                  hint="Use .dt.replace_timezone(None) to remove a zone.")
        return self._called("to_timezone", zone)

    def replace_timezone(self, zone: str | None, *, ambiguous: Literal["earliest", "latest"] = "latest") -> Expr:
        """The same readings of clocks, in another zone or in none.

        A reading that a zone skips has the offset from before. The defaults are those of CSV files and of
        ``AT TIME ZONE`` in SQL.

        Parameters
        ----------
        zone : str or None
            None removes the zone.
        ambiguous : {"earliest", "latest"}
            Which moment to take for a reading that comes twice, when clocks go back.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import whimbrel as wb
        >>> twice = pa.array(["2024-10-27T02:30:00"]).cast(pa.timestamp("s"))
        >>> log = wb.from_arrow({"at": [0], "t": twice}, time="at")
        >>> berlin = log.select(t=wb.col.t.dt.replace_timezone("Europe/Berlin"))
        >>> berlin.select(t=wb.col.t.dt.strftime("%H:%M %Z")).collect()["t"].to_pylist()
        ['02:30 CET']
        """
        return self._called("replace_timezone", zone, ambiguous)

    def days_between(self, other: Any) -> Expr:
        """Number of midnights to another time; negative if that is earlier."""
        return self._with("days_between", other)

    def date_diff(self, other: Any, unit: str) -> Expr:
        """Number of borders of a unit to another time.

        It is negative if that is earlier. Units from days to years are those of the column's zone, and weeks begin on
        Monday. Hours and smaller units count on the clock of UTC.

        Parameters
        ----------
        other : time or date
        unit : {"year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", ...}
        """
        return self._with("date_diff", other, unit)

    def business_days(self, other: Any, *, holidays: Sequence[date] = ()) -> Expr:
        """Number of working days up to another date.

        Days from Monday to Friday count, with this date and without the other one.

        Parameters
        ----------
        other : time or date
        holidays : sequence of datetime.date
            Days that do not count either.
        """
        if isinstance(holidays, str) or not all(isinstance(day, date) for day in holidays):
            raise ExpressionError(f"holidays must be dates, got {holidays!r}."[:200],
                                  where=f"{self.x.show()}.dt.business_days(...)",
                                  hint="Use holidays=[date(2024, 12, 25)].")
        return self._with("business_days", other, tuple(holidays))

    def _called(self, name: str, *options: Any) -> Expr:
        from whimbrel.expr.nodes import Call

        return Call(f"dt.{name}", (self.x,), options)

    def _with(self, name: str, other: Any, *options: Any) -> Expr:
        from whimbrel.expr.nodes import Call, lift

        return Call(f"dt.{name}", (self.x, lift(other)), options)
