"""Source text of windows that hop over the states of panes: how one aggregate follows their schedule."""

from __future__ import annotations

from whimbrel.kernels import Compiled, load_text
from whimbrel.operators.aggregate_text import bind_steps, comment, into, literals, stored, tuple_of
from whimbrel.plan import Aggregate, Steps


def hop_function(aggregate: Aggregate, steps: Steps) -> Compiled:
    """The loop that lets panes enter, and shows what windows hold."""
    fields = range(len(steps.init))
    return _load("replay", aggregate, steps, [
        f"Replays a schedule of windows on the states of panes of {aggregate.name}.",
        "count, kind, who, which, slot, target,",
        *(_names(name, fields) for name in ("value", "filling", "full", "state", "out"))], [
        "for step in range(count):",
        "    group = index(who[step])",
        f"    state = {tuple_of('state', 'group', fields)}",
        "    if kind[step] == 0:  # a pane enters",
        "        row, place = index(which[step]), index(slot[step])",
        f"        state = merge(state, {tuple_of('value', 'row', fields)})",
        f"        {into('filling', 'place', fields)} = {into('value', 'row', fields)}",
        f"        {stored('state', 'group', fields, 'state')}",
        "    else:  # the window is shown",
        "        if slot[step] >= 0:",
        f"            state = merge({tuple_of('full', 'index(slot[step])', fields)}, state)",
        f"        {stored('out', 'target[step]', fields, 'state')}",
    ])


def turn_function(aggregate: Aggregate, steps: Steps) -> Compiled:
    """The loop that gives each row of a full block the state from it on, and begins a new one."""
    fields = range(len(steps.init))
    return _load("turn", aggregate, steps, [
        f"Sums up a full block of panes of {aggregate.name} from behind.",
        "count, group_of, after,", _names("full", fields), _names("state", fields)], [
        "for place in range(count - 1, -1, -1):",
        "    group, later = index(group_of[place]), after[place]",
        "    if later >= 0:",
        f"        state = merge({tuple_of('full', 'place', fields)}, {tuple_of('full', 'index(later)', fields)})",
        f"        {stored('full', 'place', fields, 'state')}",
        f"    {into('state', 'group', fields)} = {literals(steps)}",
    ])


def _load(name: str, aggregate: Aggregate, steps: Steps, head: list[str], body: list[str]) -> Compiled:
    title, *parameters = head
    imports, functions = bind_steps(steps, "", ("merge",))
    indent = " " * len(f"def {name}(")
    text = "\n".join([
        comment(title),
        "",
        "import numpy as np",
        *imports,
        "from whimbrel.kernels.primitives.table import index",
        "",
        "",
        f"def {name}({parameters[0]}",
        *(f"{indent}{each}," for each in parameters[1:-1]),
        f"{indent}{parameters[-1]}):",
        *(f"    {line}" for line in body),
        "",
    ])
    return load_text(text, name, functions)


def _names(name: str, fields: range) -> str:
    return ", ".join(f"{name}{field}" for field in fields)
