"""Generate the loop that folds an aggregate over windows of consecutive events."""

from __future__ import annotations

import numpy as np

from whimbrel.kernels import Compiled, load_text
from whimbrel.kernels.source_text import comment, indented
from whimbrel.plan import Aggregate, AggregateFunctions, AggregatePhase, TwoPasses
from whimbrel.plan.aggregate_source import SHOW, bind_steps, into, outputs, shows_states, stored, tuple_of
from whimbrel.temporal.window_algorithms import fresh_state

_LANES = 8
"""Windows that are folded side by side."""
_COMMON_EVENTS = 16
"""Fewer common events are folded sooner one window after the other."""


_IN_STEP, _AT_ONCE = 64, 4
"""Windows in step that are folded together, and the events that each takes in at once."""


def fold_function(aggregate: Aggregate, steps: AggregateFunctions, inputs: int, *, apart: bool, slides: bool
                  ) -> Compiled:
    """The loop over windows ``[low, high)`` of positions.

    Where states merge, each window has a cut. What lies before the cut is folded backwards, once for all windows with
    this cut; what lies after it is folded forwards. So a window costs two steps, and its value depends on its events
    and its cut only (van Herk, 1992). Other windows are folded from their first event on. Neighboring ones that share
    most events are folded side by side: one step waits for the step before it, but not for those of other windows. Many
    windows that are in step, each one event after the one before, are folded together by SIMD instructions.

    Parameters
    ----------
    aggregate : Aggregate
    steps : AggregateFunctions
    inputs : int
        Number of columns that it reads.
    apart : bool
        Whether two windows share few events, or all. Then one with the events of the window before has its value, and
        an aggregate of two passes goes through the events of a window twice.
    slides : bool
        Whether windows follow each other event by event.
    """
    states = shows_states(steps, AggregatePhase.WHOLE)
    twice, repeats = steps.twice if apart else None, apart and not steps.spans
    together = slides and not steps.spans and (twice is not None or steps.flagged is not None)
    imports, functions = bind_steps(twice or steps, "", [*_roles(steps, twice), *(
        ["flagged"] if together and twice is None else [])])
    fields, shown = range(len(steps.init)), outputs(steps, AggregatePhase.WHOLE)
    values, suffix, out = (", ".join(f"{name}{at}" for at in columns) for name, columns in (
        ("value", range(inputs)), ("suffix", fields), ("out", shown)))
    lines = _Lines(twice or steps, inputs, steps)
    body = (lines.two_passes() if twice is not None else lines.direct() if steps.merge is None
            else lines.parts_of_events() if steps.spans else lines.halves())
    side_by_side = steps.merge is None and not steps.spans and not apart
    shows = ([stored("out", "window", shown, "folded"), "out_valid[window] = True"] if states
             else ["out_valid[window] = show(result(folded), out0, window)"])
    return load_text("\n".join([
        comment(f"Folds {aggregate.name} over windows of consecutive events."),
        "",
        "import numpy as np",
        *imports,
        *([] if states else [SHOW]),
        "from whimbrel.kernels.primitives.hashing.hash_table import index",
        *(["from numpy import uintp", "from whimbrel.kernels.primitives.temporal.window_runs import in_step"]
          if together else []),
        "",
        "",
        *(lines.continued(values) if side_by_side else []),
        f"def fold(low, cut, high, since, until, start, end, {values}, valid, {suffix}, {out}, out_valid):",
        "    first, middle, done = -1, -1, -1",
        *indented(["before, after, parted, like = -1, -1, -1, 0"] if repeats else []),
        f"    state = {lines.fresh}",
        *indented(lines.lanes() if together else []),
        *(["    window = -1", "    while window + 1 < low.shape[0]:", "        window += 1"]
          if together or side_by_side else ["    for window in range(low.shape[0]):"]),
        *indented(lines.in_step(shows) if together else [], 2),
        *indented(lines.side_by_side(values, shows) if side_by_side else [], 2),
        "        out_valid[window] = False",
        "        begin, stop = index(low[window]), index(high[window])",
        "        if begin >= stop:",
        "            continue",
        *indented(lines.repeated(shown) if repeats else [], 2),
        *indented(body, 2),
        *indented(shows, 2),
        "",
    ]), "fold", functions)


def _roles(steps: AggregateFunctions, twice: TwoPasses | None) -> list[str]:
    if twice is not None:
        return ["accumulate", "turn", "again", "result"]
    states = shows_states(steps, AggregatePhase.WHOLE)
    return ["accumulate", *(["merge"] if steps.merge is not None else []), *([] if states else ["result"])]


class _Lines:
    """The lines that fold one window."""

    def __init__(self, algebra: AggregateFunctions | TwoPasses, inputs: int, steps: AggregateFunctions) -> None:
        self.algebra, self.steps, self.inputs = algebra, steps, inputs
        self.fields = range(len(steps.init))
        self.fresh = fresh_state(algebra)

    def repeated(self, shown: range) -> list[str]:
        """A window with the events and the cut of the one before has its value."""
        return ["if begin == before and stop == after and index(cut[window]) == parted:",
                f"    {into('out', 'window', shown)} = {into('out', 'like', shown)}",
                "    out_valid[window] = out_valid[like]",
                "    continue",
                "before, after, parted, like = begin, stop, index(cut[window]), window"]

    def two_passes(self) -> list[str]:
        """From the first event to the last, and so again."""
        return [f"state = {self.fresh}", "for row in range(begin, stop):", *self._taken("state"),
                "folded = turn(state)",
                "for row in range(begin, stop):",
                *self._taken("folded", f"again(folded, {into('value', 'row', range(self.inputs))})")]

    def direct(self) -> list[str]:
        """From the first event on; or from where the window before ended, if it began with the same event."""
        grows = [] if self.steps.spans else ["if begin != first or stop < done:"]
        fresh = ["first = done = begin", f"state = {self.fresh}"]
        return [*grows, *indented(fresh, len(grows)),
                "for row in range(done, stop):", *self._taken("state", clipped=self.steps.spans),
                "done, folded = stop, state"]

    def continued(self, values: str) -> list[str]:
        """A function that folds further events into a state."""
        return [f"def continued(state, begin, stop, start, {values}, valid):", "    for row in range(begin, stop):",
                *indented(self._taken("state")), "    return state", "", ""]

    def side_by_side(self, values: str, shows: list[str]) -> list[str]:
        """Several windows from this one on: their common events together, and those before and after one by one."""
        lanes = range(_LANES)
        lows, highs = ([f"index({bound}[window + {lane}])" for lane in lanes] for bound in ("low", "high"))
        given = f"start, {values}, valid)"
        return [f"if window + {_LANES} <= low.shape[0]:", *indented([
            f"begin, stop = max({', '.join(lows)}), min({', '.join(highs)})",
            f"if stop - begin >= {_COMMON_EVENTS} and low[window] != low[window + {_LANES - 1}]:", *indented([
                *(f"state{lane} = continued({self.fresh}, {lows[lane]}, begin, {given}" for lane in lanes),
                "for row in range(begin, stop):", "    if valid.shape[0] == 0 or valid[row]:",
                *(f"        state{lane} = {self._accumulated(f'state{lane}')}" for lane in lanes),
                *(f"state{lane} = continued(state{lane}, stop, {highs[lane]}, {given}" for lane in lanes),
                f"first, done, state = {lows[-1]}, {highs[-1]}, state{_LANES - 1}",
                f"for folded in ({', '.join(f'state{lane}' for lane in lanes)}):", *indented([*shows, "window += 1"]),
                "window -= 1", "continue"])])]

    def lanes(self) -> list[str]:
        """Arrays for the states of windows in step: before the second pass, and in it."""
        twice = self.algebra if isinstance(self.algebra, TwoPasses) else None
        states = {"lane": self.algebra.init} | ({} if twice is None else {"about": twice.turn(twice.init)})
        return [f"{', '.join(f'{name}{at}' for at in range(len(fields)))}, = "
                f"{', '.join(f'np.empty({_IN_STEP}, np.{np.asarray(field).dtype})' for field in fields)},"
                for name, fields in states.items()]

    def in_step(self, shows: list[str]) -> list[str]:
        """Many windows from this one on, if they are in step and no value is missing: event by event in all of them."""
        first, lane = range(len(self.algebra.init)), "uintp(lane)"
        fields = first
        passes = [f"for lane in range({_IN_STEP}):", f"    {stored('lane', lane, first, self.fresh)}"]
        if isinstance(self.algebra, TwoPasses):
            fields = range(len(self.algebra.turn(self.algebra.init)))
            turned = f"turn({tuple_of('lane', lane, first)})"
            passes += [*self._through("lane", first, "accumulate"), f"for lane in range({_IN_STEP}):",
                       f"    {stored('about', lane, fields, turned)}",
                       *self._through("about", fields, "again")]
        else:
            passes += ["bad = False", *self._through("lane", fields, "flagged")]
        kept = "about" if isinstance(self.algebra, TwoPasses) else "lane"
        end = [f"for lane in range({_IN_STEP}):", f"    folded = {tuple_of(kept, lane, fields)}",
               *indented([*shows, "window += 1"]), "window -= 1", "first, done = -1, -1", "continue"]
        return [f"if valid.shape[0] == 0 and in_step(low, high, window, {_IN_STEP}):",
                *indented(["begin, width = low[window], high[window] - low[window]", *passes,
                           *(end if kept == "about" else ["if not bad:", *indented(end)])])]

    def _through(self, name: str, fields: range, function: str) -> list[str]:
        """Each window takes in its events, a few at a time."""
        names, flagged = [f"field{at}" for at in fields], function == "flagged"
        state = f"({', '.join(names)},)"
        given = ", ".join(f"value{at}[uintp(begin + taken + lane + more)]" for at in range(self.inputs))
        given += ", start[uintp(begin + taken + lane + more)]" if self.steps.timed else ""
        found = ", ".join([*names, *(["asked"] if flagged else [])])

        taking = [f"({found},) = {function}({state}, {given})", *(["bad |= asked"] if flagged else [])]

        def through(events: int) -> list[str]:
            return [f"for lane in range({_IN_STEP}):", *indented([
                f"({', '.join(names)},) = ({into(name, 'uintp(lane)', fields)},)",
                f"for more in range({events}):", *indented(taking),
                stored(name, "uintp(lane)", fields, state)]), f"taken += {events}"]

        return ["taken = 0", f"while taken + {_AT_ONCE} <= width:", *indented(through(_AT_ONCE)),
                "while taken < width:", *indented(through(1))]

    def halves(self) -> list[str]:
        """What lies before the cut, and what lies after it."""
        return [*self._backwards("middle"),
                "for row in range(done, stop):", *self._taken("state"),
                "done, folded = stop, state",
                "if begin < middle:", f"    folded = merge({self._suffix('begin')}, state)"]

    def parts_of_events(self) -> list[str]:
        """The same, where events reach beyond the window: the first, the last, and the one before the cut."""
        return [*self._backwards("middle - 1"),
                "for row in range(done, stop - 1):", *self._taken("state"),
                f"done, folded = max(done, stop - 1), {self.fresh}",
                "if begin < middle:", "    row = begin", *self._taken("folded", clipped=True),
                "if begin + 1 < middle - 1:", f"    folded = merge(folded, {self._suffix('begin + 1')})",
                "if begin < middle - 1:", "    row = middle - 1", *self._taken("folded", clipped=True),
                "folded = merge(folded, state)",
                "if stop > middle:", "    row = stop - 1", *self._taken("folded", clipped=True)]

    def _backwards(self, end: str) -> list[str]:
        return ["if index(cut[window]) != middle:",
                *indented(["middle = done = index(cut[window])", f"state = {self.fresh}",
                         f"for row in range({end} - 1, begin - 1, -1):",
                         *self._taken("state", f"merge({self._accumulated(self.fresh)}, state)"),
                         f"    {stored('suffix', 'row', self.fields, 'state')}",
                         f"state = {self.fresh}"])]

    def _taken(self, state: str, taken: str | None = None, *, clipped: bool = False) -> list[str]:
        taken = taken or self._accumulated(state, clipped=clipped)
        return indented(["if valid.shape[0] == 0 or valid[row]:", f"    {state} = {taken}"])

    def _accumulated(self, state: str, *, clipped: bool = False) -> str:
        given = into("value", "row", range(self.inputs))
        if self.steps.spans:
            given += (", max(start[row], since[window]), min(end[row], until[window])" if clipped
                      else ", start[row], end[row]")
        elif self.steps.timed:
            given += ", start[row]"
        return f"accumulate({state}, {given})"

    def _suffix(self, entry: str) -> str:
        return tuple_of("suffix", entry, self.fields)
