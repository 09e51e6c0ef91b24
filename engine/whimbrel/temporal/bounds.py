"""Boundary resolution: what functions of time read around a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

from whimbrel.clock import INF, MIN_TIME, TickUnit, show_ticks
from whimbrel.plan import Exact, LineageRequest, Reach, earlier, floor_to, later
from whimbrel.temporal.loop_steps import Adjacent, Moved, PeriodicStep, Sampled, Slid, Windowed, in_order
from whimbrel.temporal.parts import CellWindow, EventValue, ReadColumn, RowWindow, TimeWindow, WindowFold


@dataclass(frozen=True)
class Bounds:
    """How far a function of time reads.

    Parameters
    ----------
    back : int
        Ticks, or slots of a loop. Events that ended so long before a time do not matter, but the last `rows` of them.
    lookahead : int
        Ticks, or slots of a loop.
    rows : int
        Events of a key that are needed, however long ago they were.
    every : bool
        All events before are needed.
    """

    back: int = 0
    lookahead: int = 0
    rows: int = 0
    every: bool = False

    @property
    def span(self) -> int:
        """From the first time that is read to the last."""
        return self.back + self.lookahead

    def reach(self, events: Reach) -> Reach | None:
        """Reach of the function over a stream: the events that are active within the bounds started earlier."""
        if events.longest is None:
            return None
        return replace(self, back=self.back + events.longest).reach_of_starts(events, events.longest)

    def reach_of_starts(self, events: Reach, longest: int | None) -> Reach | None:
        """Reach of a function over the starts of events, whose rows last at most `longest` ticks."""
        return None if self._far_back else events.wider(self.back, self.lookahead, longest)

    @property
    def _far_back(self) -> bool:
        """Whether events matter however long ago they were."""
        return self.rows > 0 or self.every

    def _since(self, time: int) -> int:
        return MIN_TIME if self._far_back else earlier(time, self.back)

    def around(self, wanted: LineageRequest) -> LineageRequest:
        """The events that are read at wanted times."""
        return wanted.during(self._since(wanted.start), later(wanted.end, self.lookahead), Exact.LIFETIMES)

    def starts(self, wanted: LineageRequest, longest: int | None) -> LineageRequest:
        """The events whose starts are read where wanted rows start; the rows last at most `longest` ticks."""
        first = wanted.start
        if not wanted.starting:
            first = MIN_TIME if longest is None else earlier(first, longest - 1)
        return wanted.starts(self._since(first), later(wanted.end, self.lookahead))

    def widened(self, wanted: LineageRequest) -> LineageRequest:
        """The same rows, of a range that is wider by so much."""
        return replace(wanted, start=self._since(wanted.start), end=later(wanted.end, self.lookahead))

    def combined(self, other: Bounds) -> Bounds:
        """The farther of both."""
        return Bounds(max(self.back, other.back), max(self.lookahead, other.lookahead), max(self.rows, other.rows),
                      self.every or other.every)

    def then(self, other: Bounds) -> Bounds:
        """One function reads another one."""
        return Bounds(max(0, self.back + other.back), max(0, self.lookahead + other.lookahead), self.rows + other.rows,
                      self.every or other.every)

    def show(self, unit: TickUnit) -> str:
        """In words."""
        parts = [f"{show_ticks(self.back, unit)} back"] if self.back or not self.rows else []
        parts += [f"{self.rows} {'event' if self.rows == 1 else 'events'} back"] if self.rows else []
        back = "all events before" if self.every else " and ".join(parts)
        return f"reads {back}, {show_ticks(self.lookahead, unit)} ahead"

    def lineage(self, wanted: LineageRequest, longest: int | None) -> LineageRequest:
        """The events that wanted rows read where they start; the rows last at most `longest` ticks."""
        if wanted.starting:
            return self.around(wanted)
        started = MIN_TIME if longest is None else earlier(wanted.start, longest - 1)
        return self.around(replace(wanted, start=started))


HERE: Final = Bounds()
"""Reads its own time only."""


def part_bounds(part: ReadColumn) -> Bounds:
    """The bounds of one column that reads other events, in ticks."""
    match part.of:
        case EventValue(before=before, held=held):
            return Bounds(max(0, part.lag), max(0, -part.lag), before + held)
        case WindowFold(window=window):
            return Bounds(part.lag, -part.lag).then(window_bounds(window))
    raise AssertionError(part)


def window_bounds(window: TimeWindow | RowWindow | CellWindow) -> Bounds:
    """How far a window reads around its time."""
    match window:
        case TimeWindow(back, lookahead):
            return Bounds(back, lookahead)
        case RowWindow(rows, before):
            return Bounds(rows=rows + before)
    return Bounds(window.size, window.size - 1)


def column_bounds(parts: Iterable[ReadColumn]) -> Bounds:
    """The bounds of columns together."""
    return joined(list(map(part_bounds, parts)))


def joined(bounds: Sequence[Bounds]) -> Bounds:
    """How far all of them read."""
    return reduce(Bounds.combined, bounds, HERE)


def known_until(parts: Iterable[ReadColumn], watermark: int) -> int:
    """Values of columns before this tick depend on no event from the watermark on."""
    if watermark in (INF, MIN_TIME):
        return watermark
    known = [watermark]
    for part in parts:
        lookahead = part_bounds(part).lookahead
        if lookahead and isinstance(part.of, WindowFold) and isinstance(part.of.window, CellWindow):
            known.append(floor_to(watermark, part.of.window.size, part.of.window.offset) + part.lag)
        elif lookahead:
            known.append(watermark - lookahead)
    return max(MIN_TIME, min(known))


@dataclass(frozen=True)
class Boundary:
    """When events change a function of time.

    Parameters
    ----------
    of_end : bool
        It is after the end of an event; otherwise after its start.
    shift : int
        So many ticks; fewer than 0 are before.
    size, offset : int
        Starts are first rounded down to a grid, and ends up; a size of 0 does not round.
    """

    of_end: bool
    shift: int
    size: int = 0
    offset: int = 0

    @property
    def lead(self) -> int:
        """Most ticks from the boundary to the start or end of the event; negative if it is later than that."""
        return max(0, self.size - 1) - self.shift


@dataclass(frozen=True)
class Presence:
    """When an event gives a function of time a value: from one boundary to the other one, or for ever."""

    begin: Boundary
    end: Boundary | None

    @property
    def bounds(self) -> Bounds:
        """How far it reads; an event still matters when it passes its last boundary."""
        back = 0 if self.end is None else max(0, self.end.shift + self.end.size + 1)
        return Bounds(back, max(0, self.begin.lead), int(self.end is None))

    def known_until(self, watermark: int) -> int:
        """No event from the watermark on has a boundary before this tick."""
        begin = self.begin
        return (floor_to(watermark, begin.size, begin.offset) if begin.size else watermark) + begin.shift


def presence_of(part: ReadColumn) -> Presence:
    """When events give a column a value."""
    match part.of:
        case WindowFold(window=TimeWindow(back, lookahead)):
            return Presence(Boundary(False, part.lag - lookahead), Boundary(True, part.lag + back - 1))
        case WindowFold(window=CellWindow(size, offset)):
            return Presence(Boundary(False, part.lag, size, offset), Boundary(True, part.lag, size, offset))
        case WindowFold(window=RowWindow()) | EventValue(held=True):
            return Presence(Boundary(False, part.lag), None)
    return Presence(Boundary(False, part.lag), Boundary(True, part.lag))


def function_bounds(parts: Iterable[ReadColumn], presences: Iterable[Presence]) -> Bounds:
    """The bounds of functions of time that have a row as long as one of these has a value."""
    return joined([*map(part_bounds, parts), *(each.bounds for each in presences)])


Shifted = tuple[int, int]
"""A step, by identity, and how many places later it is used."""

EVERY: Final = 1 << 62
"""Instead of a shift: a step that is computed for all of them."""

RESULT: Final = (0, 0)
"""Stands for the loop that writes the rows of the result."""


@dataclass(eq=False)
class Needs:
    """The halo that one loop needs around a range of the result.

    Parameters
    ----------
    back, forward : int
        Slots before and after the range for which it runs.
    of : dict
        For each of its steps, the slots before and after the range for which that step is needed.
    """

    back: int = 0
    forward: int = 0
    of: dict[Shifted, tuple[int, int]] = field(default_factory=dict)

    def add(self, step: PeriodicStep, shift: int, back: int, forward: int) -> None:
        known = self.of.get((id(step), shift), (0, 0))
        self.of[id(step), shift] = max(known[0], back), max(known[1], forward)


def needs_of(last: PeriodicStep) -> dict[Shifted, Needs]:
    """The loops that compute a result, by what they compute: windows, and the result itself.

    It goes from the result to the inputs. Windows that slide are computed once, wherever they are used.
    """
    loops = {RESULT: Needs()}
    loops[RESULT].add(last, 0, 0, 0)
    for step in reversed(in_order(last)):
        for loop in list(loops.values()):
            for (found, shift), (back, forward) in list(loop.of.items()):
                if found != id(step):
                    continue
                if isinstance(step, Adjacent | Slid):
                    key = (found, EVERY if isinstance(step, Slid) else shift)
                    inner = loops.setdefault(key, Needs())
                    own = 0 if isinstance(step, Adjacent) else shift
                    inner.back, inner.forward = max(inner.back, back + own), max(inner.forward, forward - own)
                    wider = (step.width, step.width) if isinstance(step, Adjacent) else (2 * step.width, 0)
                    inner.add(step.inputs[0], shift - own, inner.back + wider[0], inner.forward + wider[1])
                    continue
                later = step.slots if isinstance(step, Moved) else 0
                for below in step.inputs:
                    loop.add(below, shift + later, back, forward)
    return loops


def slot_bounds(last: PeriodicStep) -> Bounds:
    """The bounds of a loop, in slots: what it reads of its inputs around a slot of the result."""
    needs = [(back + shift, forward - shift) for loop in needs_of(last).values()
             for (_, shift), (back, forward) in loop.of.items()]
    return Bounds(max(0, *(back for back, _ in needs)), max(0, *(forward for _, forward in needs)))


def loop_reach(last: PeriodicStep, period: int, inputs: Sequence[Reach]) -> Reach | None:
    """Reach of a loop into its inputs, which have slots of `period` ticks."""
    known: Reach | None = inputs[0]
    for other in inputs[1:]:
        known = None if known is None else known.combined(other)
    bounds, steps = slot_bounds(last), in_order(last)
    # What is active at a slot began a slot before, or an event of another period.
    begun = max([period, *(step.ticks for step in steps if isinstance(step, Sampled))])
    # A window whose events stay the same is one row.
    longest = period * max([1, *(step.width for step in steps if isinstance(step, Windowed))])
    return None if known is None else known.wider(bounds.back * period + begun, bounds.lookahead * period + longest,
                                                  longest)
