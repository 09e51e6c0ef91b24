"""Spans of the calendar: days, weeks, months, quarters and years."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from whimbrel.clock.near_duration import CALENDAR_UNITS, parts_of_duration
from whimbrel.errors import PlanError

Integers = npt.NDArray[np.int64]

_TEXT = re.compile(r"(\d+)\s*(d|w|mo|q|y)")
_PARTS: Final[dict[str, tuple[Literal["d", "mo"], int]]] = {"d": ("d", 1), "w": ("d", 7), "mo": ("mo", 1),
                                                           "q": ("mo", 3), "y": ("mo", 12)}
_EPOCH: Final = np.datetime64("1970-01-01", "D")


@dataclass(frozen=True, slots=True)
class CalendarSpan:
    """So many days or months, whatever they last.

    Parameters
    ----------
    count : int
    unit : {"d", "mo"}
    weeks : bool
        The user said it in weeks, which begin on a weekday.

    Examples
    --------
    >>> CalendarSpan.of("1q"), CalendarSpan.of("2w").show(), CalendarSpan.of("90m")
    (CalendarSpan(count=3, unit='mo', weeks=False), '2w', None)
    """

    count: int
    unit: Literal["d", "mo"]
    weeks: bool = False

    @classmethod
    def of(cls, value: Any) -> CalendarSpan | None:
        """The span that a text says; None for every other duration."""
        found = _TEXT.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None:
            return None
        unit, times = _PARTS[found[2]]
        return cls(int(found[1]) * times, unit, found[2] == "w")

    @classmethod
    def asked(cls, value: Any, where: str) -> CalendarSpan | None:
        """The same where a span of the calendar is taken: one that is not valid is an error that says what to write.

        Raises
        ------
        PlanError
            For months, quarters or years in units of other tools, with fractions, or not positive.
        """
        span = cls.of(value)
        parts = parts_of_duration(value) if isinstance(value, str) else None
        if parts is None or len(parts) > 1 or parts[0][1] not in CALENDAR_UNITS or (span is not None and span.count):
            return span
        number, unit = parts[0]
        whole = f"{max(1, int(float(number)))}{unit}"
        if value.strip().startswith("-") or not float(number):
            what = f"A duration must be positive, got {value!r}."
        elif "." in number:
            what = f"Months, quarters and years must be whole, got {value!r}."
        else:
            what = f"Cannot read {value!r} as a duration."
        raise PlanError(what, where=where, hint=f'Use "{whole}".')

    @property
    def shortest(self) -> int:
        """Fewest days that it lasts."""
        return self.count if self.unit == "d" else self.count // 12 * 365 + self.count % 12 * 28

    @property
    def longest(self) -> int:
        """Most days that it lasts."""
        return self.count if self.unit == "d" else self.count // 12 * 366 + self.count % 12 * 31

    def after(self, days: Integers) -> Integers:
        """The days so long after others; a day that the month does not have becomes its last one."""
        if self.unit == "d":
            return days + self.count
        dates = _EPOCH + days.astype("timedelta64[D]")
        months = dates.astype("datetime64[M]")
        begin = (months + np.timedelta64(self.count, "M")).astype("datetime64[D]")
        end = (months + np.timedelta64(self.count + 1, "M")).astype("datetime64[D]")
        later = np.minimum(begin + (dates - months.astype("datetime64[D]")), end - np.timedelta64(1, "D"))
        return (later - _EPOCH).astype(np.int64)

    def show(self) -> str:
        if self.unit == "d":
            return f"{self.count // 7}w" if self.weeks and self.count % 7 == 0 else f"{self.count}d"
        for unit, times in (("y", 12), ("q", 3)):
            if self.count % times == 0:
                return f"{self.count // times}{unit}"
        return f"{self.count}mo"
