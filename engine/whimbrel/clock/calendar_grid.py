"""Calendar grids: when days, months and years begin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.clock.calendar_span import CalendarSpan, Integers
from whimbrel.clock.ticks import INF, MIN_TIME, TickUnit, ticks_per_second
from whimbrel.clock.window_borders import Label, WindowBorders

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - what a clock shows has no zone
_BLOCK: Final = 512
"""So many bounds are computed and kept at once."""
_YEARS: Final = (-719_162, 2_932_897)
"""The first days of the years 1 and 10000, from 1970-01-01."""
_DAYS: Final = (-106_700, 106_700)
"""Days that nanoseconds can say; a cell that would begin beyond them begins with the first or last one."""
_ALIKE: Final = 146_097 * 86_400
"""Seconds of 400 years, after which dates and weekdays repeat."""
ARROW_UNTIL: Final = 24_800
"""Arrow knows no changes of clocks after 2037: from this day in that year on, the standard library is asked."""
_USUAL: Final = WindowBorders()
_MARGIN: Final = 2
"""No clock is so many days ahead of UTC."""


@dataclass(frozen=True)
class CalendarGrid:
    """The cells of a calendar, counted from the one that begins at the epoch.

    A cell begins when the clock of the zone first shows its midnight. Where the clock skips that midnight, it begins
    with the first moment after it. A day that the zone skipped is an empty cell.

    Parameters
    ----------
    step : CalendarSpan
        Length of a cell.
    zone : str
    unit : {"s", "ms", "us", "ns"}
    first_day : int
        With a step in days: the day on which cell 0 begins, from 1970-01-01.
    offset : int
        How long after midnight cells begin, in ticks of the zone's clock.

    Examples
    --------
    >>> months = CalendarGrid(CalendarSpan.of("1mo"), "Europe/Berlin", "s")
    >>> [str(np.datetime64(int(bound), "s")) for bound in months.bounds(650, 652)]
    ['2024-02-29T23:00:00', '2024-03-31T22:00:00']
    >>> months.number(1_709_300_000)
    650
    """

    step: CalendarSpan
    zone: str
    unit: TickUnit
    first_day: int = 0
    offset: int = 0

    @property
    def range(self) -> tuple[int, int]:
        """First and last tick that a calendar is for: years 1 to 9999, or as far as the unit goes."""
        first, last = (_DAYS[0] + 1, _DAYS[1] - 1) if self.unit == "ns" else _YEARS
        return first * self.day, last * self.day - 1

    @property
    def day(self) -> int:
        """Ticks of a day on which no clock changes."""
        return 86_400 * (ticks_per_second(self.unit) or 1)

    @property
    def _days(self) -> tuple[int, int]:
        """First and last day on which cells begin: beyond the years, so that the cells at their ends are whole."""
        return _DAYS if self.unit == "ns" else (2 * _YEARS[0], 2 * _YEARS[1])

    def days(self, numbers: Integers) -> Integers:
        """The days on which cells begin, from 1970-01-01."""
        if self.step.unit == "d":
            return self.first_day + numbers * self.step.count
        months = (numbers * self.step.count).astype("datetime64[M]")
        return months.astype("datetime64[D]").astype(np.int64)

    def numbers_of(self, days: Integers) -> Integers:
        """The cells that have days."""
        if self.step.unit == "d":
            return (days - self.first_day) // self.step.count
        return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) // self.step.count

    def bounds(self, first: int, stop: int) -> Integers:
        """When the cells from `first` to before `stop` begin, in ticks."""
        blocks = range(first // _BLOCK, (max(stop, first + 1) - 1) // _BLOCK + 1)
        found = [_block(self, block) for block in blocks]
        begin = blocks[0] * _BLOCK
        whole = found[0] if len(found) == 1 else np.concatenate(found)
        return whole[first - begin:stop - begin]

    def made(self, numbers: Integers) -> Integers:
        """When cells begin, without what is kept; cells beyond the calendar begin where it ends."""
        first, last = self._days
        low, high = (int(number) for number in self.numbers_of(np.array([first, last])))
        days = np.clip(self.days(np.clip(numbers, low, high + 1)), first, last)
        walls = days * self.day + self.offset
        return np.maximum.accumulate(instants(walls, self.zone, self.unit))

    def around(self, low: int, high: int) -> tuple[int, Integers]:
        """A cell before two ticks, and the bounds from it to a cell after both."""
        days = [(tick - self.offset) // self.day for tick in (max(low, self.range[0]), min(high, self.range[1]))]
        first, last = (int(n) for n in self.numbers_of(np.array([days[0] - _MARGIN, days[1] + _MARGIN])))
        return first - 1, self.bounds(first - 1, last + 3)

    def number(self, tick: int) -> int:
        """The cell of a tick; beyond the calendar the first or the last one."""
        tick = max(self.range[0], min(self.range[1], tick))
        first, bounds = self.around(tick, tick)
        return first + int(np.searchsorted(bounds, tick, "right")) - 1

    def bound(self, number: int) -> int:
        """When a cell begins."""
        return int(self.bounds(number, number + 1)[0])

    def number_at_or_after(self, tick: int) -> int:
        """The cell that begins at a tick, or else the next one that is not empty."""
        number = self.number(tick)
        return number if self.bound(number) >= tick else self.number(self.bound(number + 1))


def instants(walls: Integers, zone: str, unit: TickUnit) -> Integers:
    """When the clock of a zone first shows times, or has gone past those that it skips."""
    if zone == "UTC":
        return walls
    per_second = ticks_per_second(unit) or 1
    late = walls >= ARROW_UNTIL * 86_400 * per_second
    local = pa.array(np.where(late, 0, walls), pa.int64()).cast(pa.timestamp(unit))
    found = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="latest")
    ticks = found.cast(pa.int64()).to_numpy().copy()
    clock = pa.lib.string_to_tzinfo(zone)
    for row in np.flatnonzero(late).tolist():
        seconds, rest = divmod(int(walls[row]), per_second)
        alike, years = _repeated(seconds)
        ticks[row] = (_instant(alike, clock) + years) * per_second + rest
    return ticks


def shown_by_clocks(ticks: Integers, zone: str, unit: TickUnit) -> Integers:
    """What the clock of a zone shows at times."""
    if zone == "UTC":
        return ticks
    per_second = ticks_per_second(unit) or 1
    late = ticks >= ARROW_UNTIL * 86_400 * per_second
    early = pa.array(np.where(late, 0, ticks), pa.int64()).cast(pa.timestamp(unit, zone))
    walls = pc.local_timestamp(early).cast(pa.int64()).to_numpy().copy()
    clock = pa.lib.string_to_tzinfo(zone)
    for row in np.flatnonzero(late).tolist():
        seconds, _ = _repeated(int(ticks[row]) // per_second)
        time = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=UTC)
        walls[row] = int(ticks[row]) + _offset(time.astimezone(clock)) * per_second
    return walls


def _repeated(seconds: int) -> tuple[int, int]:
    """Seconds for which clocks show the same some 400 years before, and how many those years have.

    The standard library knows no year 10000.
    """
    years = (seconds - ARROW_UNTIL * 86_400) // _ALIKE * _ALIKE
    return seconds - years, years


def _instant(wall: int, zone: tzinfo) -> int:
    """The first second at which the clock of a zone shows a time, or has gone past it."""
    local = _EPOCH + timedelta(seconds=wall)
    early, late = sorted(wall - _offset(local.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    if early + _offset((_EPOCH + timedelta(seconds=early)).replace(tzinfo=UTC).astimezone(zone)) == wall:
        return early
    while late - early > 1:  # the clock skips it between these two
        middle = (early + late) // 2
        shown = middle + _offset((_EPOCH + timedelta(seconds=middle)).replace(tzinfo=UTC).astimezone(zone))
        early, late = (early, middle) if shown >= wall else (middle, late)
    return late


def _offset(time: datetime) -> int:
    offset = time.utcoffset()
    assert offset is not None
    return offset // timedelta(seconds=1)


@lru_cache(maxsize=512)
def _block(grid: CalendarGrid, block: int) -> Integers:
    found = grid.made(np.arange(block * _BLOCK, (block + 1) * _BLOCK))
    found.flags.writeable = False
    return found


@dataclass(frozen=True)
class CalendarWindows:
    """Windows of `size` on a grid of the calendar, one for each cell of the grid.

    An event of cell `n` is active from that cell until the cell which has the day that is `size` after day `n`.

    Parameters
    ----------
    grid : CalendarGrid
    size : CalendarSpan
    borders : WindowBorders
        Whether an event starts with the cell that it is in, or with the next bound, and where one on a bound belongs.

    Examples
    --------
    >>> days = CalendarGrid(CalendarSpan.of("1d"), "UTC", "s")
    >>> windows = CalendarWindows(days, CalendarSpan.of("1mo"))
    >>> windows.ends(np.array([27, 28, 29, 30, 31])).tolist()
    [58, 58, 58, 58, 59]
    """

    grid: CalendarGrid
    size: CalendarSpan
    borders: WindowBorders = _USUAL

    @property
    def label(self) -> Label:
        return self.borders.label

    @property
    def shared(self) -> bool:
        """Whether one event may be in two windows that follow each other."""
        return self.tumbling and self.borders.shared

    @property
    def tumbling(self) -> bool:
        return (self.size.count, self.size.unit) == (self.grid.step.count, self.grid.step.unit)

    @property
    def longest(self) -> int:
        """Most ticks that an event lasts."""
        return (self.size.longest + self.grid.step.longest + 2 * _MARGIN) * self.grid.day

    @property
    def longest_step(self) -> int:
        """Most ticks that a cell lasts."""
        return (self.grid.step.longest + _MARGIN) * self.grid.day

    def ends(self, numbers: Integers) -> Integers:
        """The cells with which events of other cells end."""
        if self.tumbling:
            return numbers + 1
        return np.maximum(self.grid.numbers_of(self.size.after(self.grid.days(numbers))), numbers + 1)

    def first_active(self, numbers: Integers) -> Integers:
        """The first cell whose events are still active in each cell."""
        if self.tumbling or not len(numbers):
            return numbers
        back = self.size.longest // self.grid.step.shortest + 2
        first = int(numbers.min()) - back
        ends = self.ends(np.arange(first, int(numbers.max()) + 1))
        return first + np.searchsorted(ends, numbers, "right")

    def windows_of(self, starts: Integers) -> tuple[Integers, Integers]:
        """Start and end of the window of each result, which begins at a bound of the grid."""
        if not len(starts):
            return starts, starts
        first, bounds = self.grid.around(int(starts.min()), int(starts.max()))
        cells = first + np.searchsorted(bounds, starts, "right") - 1
        begins = self.first_active(cells)
        later = 1 if self.label == "start" else 0
        return self.times(begins + later - 1), self.times(cells + later)

    def times(self, numbers: Integers) -> Integers:
        """When cells begin; what never ends does not."""
        if not len(numbers):
            return numbers
        first, last = int(numbers.min()), int(numbers.max())
        if last != INF:
            return self.grid.bounds(first, last + 1)[numbers - first]
        known = numbers != INF
        out = numbers.copy()
        out[known] = self.times(numbers[known])
        return out

    def time(self, number: int) -> int:
        """When a cell begins, as a watermark."""
        return number if number in (INF, MIN_TIME) else self.grid.bound(number)

    def number(self, tick: int) -> int:
        """The cell in which an event of a tick starts."""
        tick += self.borders.late_start
        return self.grid.number(tick) if self.label == "start" else self.grid.number_at_or_after(tick)

    def show(self) -> tuple[str, str]:
        """Its size and its hop as the user would write them."""
        return repr(self.size.show()), repr(self.grid.step.show())
