"""Schedule of updates: by rows, by time or by fractions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from whimbrel.clock import Duration, duration_seconds
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError
from whimbrel.progressive.query.stopping_rule import percent
from whimbrel.progressive.validation import check_number


@dataclass
class UpdateSchedule:
    """The fractions of the rows, or the times, at which an update is due.

    Parameters
    ----------
    every : str, timedelta or int, optional
        A percentage such as "1%", a duration such as "50ms", or a number of rows.
    seconds : float, optional
    at : sequence of float
        Fractions of the rows.
    """

    every: Duration | None = None
    seconds: float | None = None
    at: Sequence[float] = ()
    _rows: int = 0
    _next: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        given = [value for value in (self.every, self.seconds, *([self.at] if self.at else [])) if value is not None]
        if len(given) > 1:
            raise PlanError("Only one of `every`, `seconds` and `at` can be set.",
                            where="progressive(every=, seconds=, at=)", hint="Set one of them.")
        where = f"progressive(every={self.every!r})"
        if isinstance(self.every, bool | float):
            raise PlanError(f"`every` must be a percentage, a duration or a number of rows, got {self.every!r}.",
                            where=where,
                            hint='Use every="1%", every="50ms" or every=10_000, or fractions: at=[0.1, 0.5].')
        if isinstance(self.every, str) and "%" in self.every:
            percent(self.every, name="every", where=where)
        elif is_whole(self.every):
            self.every = int(cast(int, self.every))
        elif self.every is not None:
            try:
                self.seconds = duration_seconds(self.every, where=where)
            except PlanError:
                raise PlanError(f"`every` must be a percentage or a duration, got {self.every!r}.", where=where,
                                hint='Use every="1%" or every="50ms".') from None
            self.every = None
        if self.seconds is not None:
            asked = f"progressive(seconds={self.seconds!r})"
            check_number(self.seconds, name="seconds", where=asked, hint="Use seconds=0.5.")
        if not all(isinstance(fraction, float | int) and 0 < fraction <= 1 for fraction in self.at):
            raise PlanError(f"`at` must hold fractions above 0 and at most 1, got {list(self.at)!r}.",
                            where=f"progressive(at={list(self.at)!r})", hint="Use at=[0.01, 0.1, 0.5].")
        if isinstance(self.every, int) and self.every <= 0:
            raise PlanError(f"`every` must be an integer of at least 1, got {self.every}.",
                            where=f"progressive(every={self.every!r})", hint='Use every="1%".')

    def begin(self, total: int) -> None:
        """Set the number of rows."""
        where = f"progressive(every={self.every!r})"
        self._rows = max(1, self.every if isinstance(self.every, int) else
                         round(total * percent(self.every if isinstance(self.every, str) else "1%", name="every",
                                               where=where)))

    def before(self, total: int) -> bool:
        """Whether an update is due before the last row."""
        return self.seconds is not None or (self._next < 1 if self.at else max(self._rows, self._next) < total)

    def due(self, rows: int, total: int) -> bool:
        """Whether an update is due after these rows; called after each block."""
        if rows >= total:
            return True
        if self.seconds is not None:
            now = time.perf_counter()
            if now < self._next:
                return False
            self._next = now + self.seconds
            return True
        if self.at:
            if rows < self._next * total:
                return False
            passed = [fraction for fraction in self.at if fraction * total <= rows]
            self._next = min((fraction for fraction in self.at if fraction * total > rows), default=2.0)
            return bool(passed)
        if rows < self._next:
            return False
        self._next = rows // self._rows * self._rows + self._rows
        return True
