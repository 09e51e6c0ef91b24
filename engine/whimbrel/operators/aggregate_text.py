"""Source text of aggregation: thin glue that binds a query's expressions and aggregates to handwritten primitives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from whimbrel.kernels import Compiled, load_text
from whimbrel.plan import Aggregate, Steps

Functions = dict[str, Callable[..., Any]]


def replay_function(aggregate: Aggregate, steps: Steps) -> Compiled:
    """The loop that applies a schedule of operations to the state of one aggregate."""
    stacks = two_stacks(steps)
    imports, functions = bind_steps(steps, "", ("accumulate", "deaccumulate", "result", *(["merge"] if stacks else [])))
    fields = range(len(steps.init))
    state = ", ".join(f"state{field}" for field in fields)
    lines = [
        comment(f"Replays a schedule of operations on the state of {aggregate.name}."),
        "",
        "import numpy as np",
        *imports,
        "from whimbrel.kernels.primitives.table import index",
        "",
        "",
        "def replay(count, kind, who, which, slot, target, values, valid, held, held_valid,",
        "           moment, held_sync, held_other, head, after, stale, shown, shown_valid, out, out_valid,",
        "           start, held_start,",
        *([f"           front, last, newest, newer, {_suffixes(steps)},"] if stacks else []),
        f"           {state}):",
        "    for step in range(count):",
        "        operation = kind[step]",
        "        group = index(who[step])",
        "        if operation == 0:  # the row enters",
        "            row = index(which[step])",
        "            counts = valid.shape[0] == 0 or valid[row]",
        "            if held.shape[0]:",
        "                held[slot[step]] = values[row]",
        "                held_valid[slot[step]] = counts",
        *(["                held_start[slot[step]] = start[row]"] if steps.timed else []),
        *(_enter_stack() if stacks else []),
        "            if counts:",
        f"                state = accumulate({_load(steps)}, values[row]{', start[row]' if steps.timed else ''})",
        *_store(steps, 16),
        "        elif operation == 1:  # the row leaves",
        *_leave(steps),
        "        elif operation == 2:  # the value is shown",
        *_recompute(steps),
        *(_both_stacks(steps) if stacks else [f"            value = result({_load(steps)})"]),
        "            to = target[step]",
        "            out_valid[to] = value is not None",
        "            if value is not None:",
        "                out[to] = value",
        "            if shown.shape[0]:",
        "                shown[group] = out[to]",
        "                shown_valid[group] = out_valid[to]",
        "        elif operation == 3:  # what was shown ends",
        "            out[target[step]] = shown[group]",
        "            out_valid[target[step]] = shown_valid[group]",
        "        else:  # the group is empty",
        *(f"            state{field}[group] = {literal(steps.init[field])}" for field in fields),
        "            stale[group] = False",
        *(["            if front.shape[0]:", "                front[group], newest[group] = -1, -1"] if stacks else []),
        "",
    ]
    return load_text("\n".join(lines), "replay", functions)


def two_stacks(steps: Steps) -> bool:
    """Whether rows that leave in the order they came need no recomputation, though none can be taken back."""
    return steps.deaccumulate is None and steps.merge is not None


def comment(text: str) -> str:
    """A user's words as a comment: on one line, whatever they hold, so that they can never be code."""
    return "# " + " ".join(text.split())


def literal(number: float) -> str:
    """A number of a state as source text."""
    if isinstance(number, float) and not math.isfinite(number):
        return "np.nan" if math.isnan(number) else "np.inf" if number > 0 else "-np.inf"
    return repr(number)


def bind_steps(steps: Steps, suffix: str, roles: Sequence[str]) -> tuple[list[str], Functions]:
    """Import lines for the steps of an aggregate; functions that cannot be imported are handed over instead."""
    lines: list[str] = []
    functions: Functions = {}
    for role in roles:
        function = getattr(steps, role)
        if function is None:
            continue
        # Machine code is kept under a name that covers the text of the engine's own functions only.
        if not function.__module__.startswith("whimbrel.aggregates.") or "<" in function.__qualname__:
            functions[f"{role}{suffix}"] = function
        else:
            lines.append(f"from {function.__module__} import {function.__name__} as {role}{suffix}")
    return lines, functions


def _load(steps: Steps) -> str:
    inside = ", ".join(f"state{field}[group]" for field in range(len(steps.init)))
    return f"({inside},)"


def _store(steps: Steps, indent: int) -> list[str]:
    return [f"{' ' * indent}state{field}[group] = state[{field}]" for field in range(len(steps.init))]


def _suffixes(steps: Steps) -> str:
    return ", ".join(f"suffix{field}" for field in range(len(steps.init)))


def _leave(steps: Steps) -> Sequence[str]:
    if two_stacks(steps):
        return _leave_stack(steps)
    lines = ["            if held_valid[slot[step]]:"]
    if steps.deaccumulate is None:
        return [*lines, "                stale[group] = True"]
    started = ", held_start[slot[step]]" if steps.timed else ""
    return [*lines, f"                state = deaccumulate({_load(steps)}, held[slot[step]]{started})",
            *_store(steps, 16)]


def _enter_stack() -> Sequence[str]:
    """The back stack is the state of the group. A row that leaves before an earlier one ends the order of the group."""
    return [
        "            if front.shape[0]:",
        "                place = index(slot[step])",
        "                before = newest[group]",
        "                if front[group] != -2 and before >= 0 and held_other[place] < held_other[before]:",
        "                    front[group] = -2",
        "                    stale[group] = True",
        "                newest[group] = place",
    ]


def _leave_stack(steps: Steps) -> Sequence[str]:
    """Pop the front stack; where it is empty, turn the back stack over: each slot gets the merge from it to the newest.

    All that end at one moment leave with the first of them, so that their order among each other does not matter.
    """
    fields = range(len(steps.init))
    fresh = f"({', '.join(map(literal, steps.init))},)"
    started = ", held_start[place]" if steps.timed else ""
    return [
        "            if front[group] == -2:",
        "                if held_valid[slot[step]]:",
        "                    stale[group] = True",
        "            else:",
        "                now = held_other[slot[step]]",
        "                top = front[group]",
        "                while top >= 0 and held_other[top] <= now:",
        "                    top = -1 if top == last[group] else newer[top]",
        "                if top < 0:",
        f"                    state = {fresh}",
        "                    place = newest[group]",
        "                    while place >= 0 and held_other[place] > now:",
        "                        if held_valid[place]:",
        f"                            state = merge(accumulate({fresh}, held[place]{started}), state)",
        *(f"                        suffix{field}[place] = state[{field}]" for field in fields),
        "                        if top < 0:",
        "                            last[group] = place",
        "                        else:",
        "                            newer[place] = top",
        "                        top = place",
        "                        place = after[place]",
        "                    if top < 0:",
        "                        newest[group] = -1",
        *(f"                    state{field}[group] = {literal(steps.init[field])}" for field in fields),
        "                front[group] = top",
    ]


def _both_stacks(steps: Steps) -> Sequence[str]:
    top = ", ".join(f"suffix{field}[front[group]]" for field in range(len(steps.init)))
    return [
        f"            state = {_load(steps)}",
        "            if front.shape[0] and front[group] >= 0:",
        f"                state = merge(({top},), state)",
        "            value = result(state)",
    ]


def _recompute(steps: Steps) -> Sequence[str]:
    """A row cannot be taken back: compute the group afresh from the rows that are active at this moment."""
    if steps.deaccumulate is not None:
        return []
    return [
        "            if stale[group]:",
        "                now = moment[target[step]]",
        f"                state = ({', '.join(map(literal, steps.init))},)",
        "                place = head[group]",
        "                while place >= 0:",
        "                    if held_valid[place] and held_sync[place] <= now < held_other[place]:",
        f"                        state = accumulate(state, held[place]{', held_start[place]' if steps.timed else ''})",
        "                    place = after[place]",
        *_store(steps, 16),
        "                stale[group] = False",
    ]
