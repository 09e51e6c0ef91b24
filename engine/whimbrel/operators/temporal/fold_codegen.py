"""Generate the loop that folds an aggregate over windows of consecutive events."""

from __future__ import annotations

from whimbrel.kernels import Compiled, load_text
from whimbrel.operators.aggregation.aggregate_codegen import (
    SHOW,
    bind_steps,
    comment,
    into,
    literals,
    outputs,
    shows_states,
    stored,
    tuple_of,
)
from whimbrel.plan import Aggregate, AggregateFunctions, AggregatePhase


def fold_function(aggregate: Aggregate, steps: AggregateFunctions, inputs: int) -> Compiled:
    """The loop over windows ``[low, high)`` of positions, each with a cut between.

    What lies before the cut is folded backwards, once for all windows with this cut; what lies after it is folded
    forwards. So a window costs two steps, and its value depends on its events and its cut only (van Herk, 1992).
    """
    states = shows_states(steps, AggregatePhase.WHOLE)
    imports, functions = bind_steps(steps, "", ("accumulate", "merge", *(() if states else ("result",))))
    fields, shown = range(len(steps.init)), outputs(steps, AggregatePhase.WHOLE)
    values = ", ".join(f"value{at}" for at in range(inputs))
    suffix, out = (", ".join(f"{name}{at}" for at in columns) for name, columns in (("suffix", fields), ("out", shown)))
    fresh = f"({literals(steps)},)"
    row = into("value", "row", range(inputs)) + (", start[row]" if steps.timed else "")
    shows = ([stored("out", "window", shown, "folded"), "out_valid[window] = True"] if states
             else ["out_valid[window] = show(result(folded), out0, window)"])
    return load_text("\n".join([
        comment(f"Folds {aggregate.name} over windows of consecutive events."),
        "",
        "import numpy as np",
        *imports,
        *([] if states else [SHOW]),
        "",
        "",
        f"def fold(low, cut, high, {values}, valid, start, {suffix}, {out}, out_valid):",
        "    middle, done = -1, -1",
        f"    state = {fresh}",
        "    for window in range(low.shape[0]):",
        "        out_valid[window] = False",
        "        if low[window] >= high[window]:",
        "            continue",
        "        if cut[window] != middle:",
        "            middle = done = cut[window]",
        f"            state = {fresh}",
        "            for row in range(middle - 1, low[window] - 1, -1):",
        "                if valid.shape[0] == 0 or valid[row]:",
        f"                    state = merge(accumulate({fresh}, {row}), state)",
        f"                {stored('suffix', 'row', fields, 'state')}",
        f"            state = {fresh}",
        "        for row in range(done, high[window]):",
        "            if valid.shape[0] == 0 or valid[row]:",
        f"                state = accumulate(state, {row})",
        "        done = high[window]",
        "        folded = state",
        "        if low[window] < middle:",
        f"            folded = merge({tuple_of('suffix', 'low[window]', fields)}, state)",
        *(f"        {line}" for line in shows),
        "",
    ]), "fold", functions)
