"""Generate the loop that folds an aggregate over windows of consecutive events."""

from __future__ import annotations

from whimbrel.kernels import Compiled, load_text
from whimbrel.kernels.source_text import comment, indented
from whimbrel.plan import Aggregate, AggregateFunctions, AggregatePhase
from whimbrel.plan.aggregate_source import SHOW, bind_steps, into, literals, outputs, shows_states, stored, tuple_of


def fold_function(aggregate: Aggregate, steps: AggregateFunctions, inputs: int) -> Compiled:
    """The loop over windows ``[low, high)`` of positions.

    Where states merge, each window has a cut. What lies before the cut is folded backwards, once for all windows with
    this cut; what lies after it is folded forwards. So a window costs two steps, and its value depends on its events
    and its cut only (van Herk, 1992). Other windows are folded from their first event on.
    """
    states = shows_states(steps, AggregatePhase.WHOLE)
    roles = ["accumulate", *(["merge"] if steps.merge is not None else []), *([] if states else ["result"])]
    imports, functions = bind_steps(steps, "", roles)
    fields, shown = range(len(steps.init)), outputs(steps, AggregatePhase.WHOLE)
    values, suffix, out = (", ".join(f"{name}{at}" for at in columns) for name, columns in (
        ("value", range(inputs)), ("suffix", fields), ("out", shown)))
    lines = _Lines(steps, inputs)
    body = lines.direct() if steps.merge is None else lines.parts_of_events() if steps.spans else lines.halves()
    shows = ([stored("out", "window", shown, "folded"), "out_valid[window] = True"] if states
             else ["out_valid[window] = show(result(folded), out0, window)"])
    return load_text("\n".join([
        comment(f"Folds {aggregate.name} over windows of consecutive events."),
        "",
        "import numpy as np",
        *imports,
        *([] if states else [SHOW]),
        "from whimbrel.kernels.primitives.hashing.hash_table import index",
        "",
        "",
        f"def fold(low, cut, high, since, until, start, end, {values}, valid, {suffix}, {out}, out_valid):",
        "    first, middle, done = -1, -1, -1",
        f"    state = {lines.fresh}",
        "    for window in range(low.shape[0]):",
        "        out_valid[window] = False",
        "        begin, stop = index(low[window]), index(high[window])",
        "        if begin >= stop:",
        "            continue",
        *indented(body, 2),
        *indented(shows, 2),
        "",
    ]), "fold", functions)


class _Lines:
    """The lines that fold one window."""

    def __init__(self, steps: AggregateFunctions, inputs: int) -> None:
        self.steps, self.inputs = steps, inputs
        self.fields = range(len(steps.init))
        self.fresh = f"({literals(steps)},)"

    def direct(self) -> list[str]:
        """From the first event on; or from where the window before ended, if it began with the same event."""
        grows = [] if self.steps.spans else ["if begin != first or stop < done:"]
        fresh = ["first = done = begin", f"state = {self.fresh}"]
        return [*grows, *indented(fresh, len(grows)),
                "for row in range(done, stop):", *self._taken("state", clipped=self.steps.spans),
                "done, folded = stop, state"]

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


