"""Conversion of arrival times of any unit to nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

import pyarrow as pa

from whimbrel.clock import (
    INF,
    Duration,
    Instant,
    TickUnit,
    duration_ticks,
    format_instant,
    parse_instant,
    ticks_per_second,
)
from whimbrel.clock.instant import Moment
from whimbrel.connect.tables.lifetime_columns import time_unit
from whimbrel.errors import PlanError


@dataclass(frozen=True)
class ArrivalTime:
    """Time unit of an arrival column. Integer ticks count seconds.

    Parameters
    ----------
    type : pyarrow.DataType
    name : str
        The column, for errors.

    Examples
    --------
    >>> seen = ArrivalTime(pa.timestamp("ms"), "seen")
    >>> seen.nanoseconds(2), seen.ticks(2_999_999)
    (2000000, 2)
    """

    type: pa.DataType
    name: str

    @cached_property
    def unit(self) -> TickUnit:
        return time_unit(self.type, self.name, "")[0]

    @cached_property
    def tick_ns(self) -> int:
        """Nanoseconds per tick."""
        return 10**9 // (ticks_per_second(self.unit) or 1)

    @cached_property
    def kind(self) -> str:
        """Kind of times: only instants, local times or integers can be compared with each other."""
        zone = time_unit(self.type, self.name, "")[1]
        return "integers" if self.unit is None else "local times" if zone is None else "instants"

    def nanoseconds(self, ticks: int) -> int:
        return ticks * self.tick_ns

    def ticks(self, nanoseconds: int) -> int:
        """The last tick at or before a nanosecond."""
        return max(min(nanoseconds // self.tick_ns, INF), -INF)

    def instant(self, value: Instant, *, where: str) -> int:
        """Nanoseconds of an instant."""
        return self.nanoseconds(self.first_tick(value, where=where))

    def first_tick(self, value: Instant, *, where: str) -> int:
        """The first tick that is not before an instant."""
        unit, zone = time_unit(self.type, self.name, where)
        return parse_instant(value, unit, zone, name=self.name, where=where, rounding="up")

    def span(self, name: str, value: Duration, *, where: str) -> int:
        """Ticks of a positive duration."""
        ticks = duration_ticks(value, self.unit, where=where)
        if ticks <= 0:
            raise PlanError(f"{name} must be positive, got {value!r}.", where=where,
                            hint='Use a duration such as "10m".')
        return ticks

    def moment(self, nanoseconds: int) -> Moment:
        """The instant in a readable form, exact to the tick.

        Python's datetime ends at microseconds. A finer instant is a pandas.Timestamp, or ticks without pandas.
        """
        ticks = self.ticks(nanoseconds)
        if self.unit == "ns" and ticks % 1000:
            return pa.scalar(ticks, self.type).as_py() if find_spec("pandas") is not None else ticks
        return format_instant(ticks, self.unit, time_unit(self.type, self.name, "")[1])
