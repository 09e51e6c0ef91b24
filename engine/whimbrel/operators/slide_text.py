"""Sliding windows over events on a beat, as generated source text: additions only, however long the stream."""

from __future__ import annotations

from whimbrel.kernels import Compiled, load_text
from whimbrel.operators.aggregate_text import bind_steps, comment, literal
from whimbrel.plan import Aggregate, Steps


def slide_function(aggregate: Aggregate, steps: Steps) -> Compiled:
    """The loop that computes one aggregate over the last `width` places, for places from `skip` on.

    Place 0 begins a block of `width` places. A window is the rest of one block and the beginning of the next: the
    states of rests are computed when a block is complete, and merged with the state of the beginning (van Herk, 1992).
    So a state is never taken back, which would round, and depends on the places of the stream alone.
    """
    imports, functions = bind_steps(steps, "", ("accumulate", "merge", "result"))
    fields = range(len(steps.init))
    fresh = f"({', '.join(map(literal, steps.init))},)"
    rests = ", ".join(f"rest{field}" for field in fields)
    started = ", start[{}]" if steps.timed else ""
    text = "\n".join([
        comment(f"Slides {aggregate.name} along a beat."),
        "",
        "import numpy as np",
        *imports,
        "",
        "",
        f"def slide(value, valid, there, start, width, skip, {rests}, out, out_valid):",
        f"    state = {fresh}",
        "    inside = 0",
        "    for place in range(value.shape[0]):",
        "        if inside == width:",
        f"            state = {fresh}",
        "            for older in range(width - 1, 0, -1):",
        "                at = place - width + older",
        "                if (there.shape[0] == 0 or there[at]) and (valid.shape[0] == 0 or valid[at]):",
        f"                    state = merge(accumulate({fresh}, value[at]{started.format('at')}), state)",
        *(f"                rest{field}[older] = state[{field}]" for field in fields),
        f"            state = {fresh}",
        "            inside = 0",
        "        if (there.shape[0] == 0 or there[place]) and (valid.shape[0] == 0 or valid[place]):",
        f"            state = accumulate(state, value[place]{started.format('place')})",
        "        inside += 1",
        "        if place >= skip:",
        "            shown = state",
        "            if inside < width and place >= width:",
        f"                shown = merge(({', '.join(f'rest{field}[inside]' for field in fields)},), state)",
        "            answer = result(shown)",
        "            out_valid[place - skip] = answer is not None",
        "            if answer is not None:",
        "                out[place - skip] = answer",
        "",
    ])
    return load_text(text, "slide", functions)


def adjacent_function(aggregate: Aggregate, steps: Steps) -> Compiled:
    """The loop that computes one aggregate over adjacent windows of `width` places, one value a window."""
    imports, functions = bind_steps(steps, "", ("accumulate", "result"))
    fresh = f"({', '.join(map(literal, steps.init))},)"
    started = ", start[place]" if steps.timed else ""
    text = "\n".join([
        comment(f"Computes {aggregate.name} of adjacent windows on a beat."),
        "",
        "import numpy as np",
        *imports,
        "",
        "",
        "def adjacent(value, valid, there, start, width, out, out_valid):",
        "    for window in range(out.shape[0]):",
        f"        state = {fresh}",
        "        for place in range(window * width, (window + 1) * width):",
        "            if (there.shape[0] == 0 or there[place]) and (valid.shape[0] == 0 or valid[place]):",
        f"                state = accumulate(state, value[place]{started})",
        "        answer = result(state)",
        "        out_valid[window] = answer is not None",
        "        if answer is not None:",
        "            out[window] = answer",
        "",
    ])
    return load_text(text, "adjacent", functions)
