"""Arrivals of logs that count time in different units, on one scale: nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
    """How a column of arrivals counts time. A tick of plain integers stands for a second.

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
        """Nanoseconds that a tick stands for."""
        return 10**9 // (ticks_per_second(self.unit) or 1)

    @cached_property
    def kind(self) -> str:
        """What it can be compared with: instants, local times or plain integers."""
        zone = time_unit(self.type, self.name, "")[1]
        return "integers" if self.unit is None else "local times" if zone is None else "instants"

    def nanoseconds(self, ticks: int) -> int:
        return ticks * self.tick_ns

    def ticks(self, nanoseconds: int) -> int:
        """The last tick that has come."""
        return max(min(nanoseconds // self.tick_ns, INF), -INF)

    def instant(self, value: Instant, *, where: str) -> int:
        """Nanoseconds of an instant as people write it."""
        return self.nanoseconds(self.first_tick(value, where=where))

    def first_tick(self, value: Instant, *, where: str) -> int:
        """The first tick that is not before an instant."""
        unit, zone = time_unit(self.type, self.name, where)
        return parse_instant(value, unit, zone, name=self.name, where=where, rounding="up")

    def span(self, value: Duration, *, where: str) -> int:
        """Ticks of a duration that is longer than nothing."""
        ticks = duration_ticks(value, self.unit, where=where)
        if ticks <= 0:
            raise PlanError(f"A time span must be positive, got {value!r}.", where=where, hint='Use for example "10m".')
        return ticks

    def moment(self, nanoseconds: int) -> Moment:
        """What people read."""
        return format_instant(self.ticks(nanoseconds), self.unit, time_unit(self.type, self.name, "")[1])
