"""Static properties of streams, for checks and physical variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd
from typing import Literal

from whimbrel.clock import TickUnit
from whimbrel.clock.calendar_grid import CalendarWindows
from whimbrel.plan.ordered_columns import Ordered

LatePolicy = Literal["raise", "drop", "adjust", "side_output"]


@dataclass(frozen=True, slots=True)
class WindowGrid:
    """Starts lie on ``offset + k * hop`` only, rounded to it down or (label "end") up; lifetimes are `size` ticks.

    Where a `size` above the hop is not a multiple of it, ends are the event's start plus `size`, rounded as starts are.
    At any grid point T exactly those events are active that lie in the window that ends (or with "end": begins) there.
    `shared`: an event on a border belongs to the windows on both of its sides, and lasts a hop longer.
    `window`: the call of the user's window, for errors.
    """

    size: int
    hop: int
    offset: int = 0
    label: Literal["start", "end"] = "start"
    shared: bool = False
    window: str = field(default="", compare=False, repr=False)

    @property
    def tumbling(self) -> bool:
        return self.size == self.hop

    @property
    def step(self) -> int:
        """Ticks that the result of one window lasts."""
        return min(self.size, self.hop)

    @property
    def bounds(self) -> tuple[int, int]:
        """From the start of a result to the bounds of its window, in ticks."""
        return (-self.size, 0) if self.label == "end" else (self.step - self.size, self.step)


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """Lifetimes begin and end on ``offset + k * hop`` only: between two such points nothing changes."""

    hop: int
    offset: int = 0

    def on(self, other: TimeGrid) -> bool:
        """Whether every point of this grid is also one of `other`."""
        return self.hop % other.hop == 0 and (self.offset - other.offset) % other.hop == 0

    def joined(self, other: TimeGrid) -> TimeGrid:
        """The coarsest grid that has the points of both."""
        return TimeGrid(gcd(self.hop, other.hop, self.offset - other.offset), self.offset)


@dataclass(frozen=True, slots=True)
class NonOverlapping:
    """For each combination of values in some columns at most one event is active at any time.

    Parameters
    ----------
    per : frozenset of str
        The columns; none: at most one event of the whole stream.
    period : int, optional
        Their starts follow each other at this distance.
    gaps : bool
        Their starts follow each other at multiples of the period instead.
    declared : bool
        The user said so. Otherwise it is checked for an operator that needs it, and events may be far apart.
    """

    per: frozenset[str] = frozenset()
    period: int | None = None
    gaps: bool = False
    declared: bool = True

    def show(self) -> str:
        keys = f" per {', '.join(sorted(self.per))}" if self.per else ""
        if self.period is None:
            return f"non-overlapping{keys}"
        return f"every {self.period}{keys}{' with gaps' if self.gaps else ''}"


@dataclass(frozen=True, slots=True)
class Sampling:
    """Events are samples: they start at the times of a timebase, at most one at each.

    Parameters
    ----------
    period : Fraction
        Ticks from one sample to the next, at least 1.
    phase : int, optional
        Time of a sample, in ticks. None: the first event of a key is at the time of a sample.
    per : frozenset of str
        Key columns: each key has samples of its own.
    gaps : bool
        Samples may be missing.
    """

    period: Fraction
    phase: int | None = None
    per: frozenset[str] = frozenset()
    gaps: bool = True

    def with_gaps(self) -> Sampling:
        """The same, where samples may be missing."""
        return replace(self, gaps=True)

    @property
    def apart(self) -> NonOverlapping:
        """What follows for overlaps of samples; a period that is no whole number of ticks is not known there."""
        whole = self.period.denominator == 1
        return NonOverlapping(self.per, int(self.period) if whole else None, gaps=whole and self.gaps)

    def show(self) -> str:
        keys = f" per {', '.join(sorted(self.per))}" if self.per else ""
        return f"samples every {self.period}{keys}{' with gaps' if self.gaps else ''}"


@dataclass(frozen=True, slots=True)
class Properties:
    """Facts that hold for every row of a stream.

    Parameters
    ----------
    intervals_only : bool
        Every row is an interval whose end is known; no start or end edges.
    duration : int, optional
        Every lifetime is so many ticks long.
    grid : WindowGrid, optional
        Starts lie on a grid (the output of a window).
    causal : bool
        The value at a time never depends on events after it.
    time_grid : TimeGrid, optional
        Lifetimes begin and end on a grid. An operator that gives new lifetimes starts without one.
    starts_only : bool
        No event ends.
    apart : NonOverlapping, optional
        Events do not overlap.
    in_order : bool
        Rows come in the order of time: nothing waits to be sorted. Derived from the inputs by the graph.
    mixed : bool
        Events that are known only later than they say lie among finer ones: a pattern over them would see ahead.
        Derived from the inputs by the graph.
    packed : bool
        No batch has rows that were filtered out and not yet moved.
    lookahead : TimeGrid, optional
        Of a stream that is not causal: the value at a time may depend on events up to the next of these points, and on
        none after it. None: nobody knows how far it looks. Derived from the other properties by the graph.
    points : bool
        Events are points as a source without ends has them: each lasts one tick, whatever a tick is.
    sampling : Sampling, optional
        Events are samples of a timebase.
    window_samples : int, optional
        Segments have at most so many samples.
    calendar : CalendarWindows, optional
        Starts and ends lie on a grid of the calendar (the output of a window of the calendar).
    whole : bool
        All events start with the first one and do not end (the output of one window for a whole log).
    named_unit : {"s", "ms", "us", "ns"} or None
        Of a source with integer times: the unit that the name of its time column ends with.
    ordered : tuple of OrderedColumn
        Columns in an order. Each operator says which of its results are.
    late : {"raise", "drop", "adjust", "side_output"}
        The late policy of the sources; the strictest one. Derived from the inputs by the graph.
    own_clock : bool
        Times are values of a column or a function of time (``retime``), and no event is known later than they say.
    """

    intervals_only: bool = True
    duration: int | None = None
    grid: WindowGrid | None = None
    causal: bool = True
    time_grid: TimeGrid | None = None
    starts_only: bool = False
    apart: NonOverlapping | None = None
    in_order: bool = False
    mixed: bool = False
    packed: bool = True
    lookahead: TimeGrid | None = None
    points: bool = False
    sampling: Sampling | None = None
    window_samples: int | None = None
    calendar: CalendarWindows | None = None
    whole: bool = False
    named_unit: TickUnit = None
    ordered: Ordered = ()
    late: LatePolicy = "raise"
    own_clock: bool = False

    @property
    def instants(self) -> bool:
        """Whether each event lasts one tick."""
        return self.points or self.duration == 1

    def apart_as(self, names: Mapping[str, str]) -> NonOverlapping | None:
        """What is known of overlaps where only these columns are left, under other names."""
        if self.apart is None or not self.apart.per <= names.keys():
            return None
        return replace(self.apart, per=frozenset(names[name] for name in self.apart.per))

    def no_period(self) -> NonOverlapping | None:
        """What is known of overlaps where events may be left out."""
        return None if self.apart is None else replace(self.apart, period=None, gaps=False)

    def sampling_as(self, names: Mapping[str, str]) -> Sampling | None:
        """What is known of samples where only these columns are left, under other names."""
        if self.sampling is None or not self.sampling.per <= names.keys():
            return None
        return replace(self.sampling, per=frozenset(names[name] for name in self.sampling.per))

    def with_missing_samples(self) -> Sampling | None:
        """What is known of samples where events may be left out."""
        return None if self.sampling is None else self.sampling.with_gaps()

    def show(self) -> str:
        words = ["starts" if self.starts_only else "intervals" if self.intervals_only else "edges"]
        if self.grid is not None:
            words.append(f"grid(size={self.grid.size}, hop={self.grid.hop}, offset={self.grid.offset})")
        elif self.duration is not None:
            words.append(f"duration={self.duration}")
        if self.apart is not None:
            words.append(self.apart.show())
        if not self.packed:
            words.append("with gaps in batches")
        if not self.causal:
            words.append("look-ahead")
        if self.ordered:
            words.append(f"ordered: {', '.join(each.show() for each in self.ordered)}")
        return ", ".join(words)

