"""Generate the code that binds aggregates to handwritten primitives."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.kernels import Compiled, load_text
from whimbrel.kernels.source_text import comment
from whimbrel.plan import Aggregate, AggregateFunctions, AggregatePhase
from whimbrel.plan.aggregate_source import (
    SHOW,
    bind_steps,
    into,
    literals,
    out_names,
    outputs,
    shows_states,
    stored,
    tuple_of,
)

_OF = {AggregatePhase.WHOLE: "state", AggregatePhase.STATES: "state, shown as it is,",
       AggregatePhase.MERGED: "merged state"}


def replay_function(aggregate: Aggregate, steps: AggregateFunctions, part: AggregatePhase) -> Compiled:
    """The loop that applies a schedule of operations to the state of one aggregate."""
    stacks = two_stacks(steps)
    roles = ["accumulate", "remove"]
    roles += ([] if shows_states(steps, part) else ["result"]) + (["merge"] if stacks else ["spoiled"])
    imports, functions = bind_steps(steps, "", roles)
    fields = range(len(steps.init))
    state = ", ".join(f"state{field}" for field in fields)
    columns = range(len(steps.init) if part is AggregatePhase.MERGED else steps.inputs)
    shown = outputs(steps, part)
    seen = into("shown", "group", shown)
    entering = _row("value", "row", steps, part, "start")
    lines = [
        comment(f"Replays a schedule of operations on the {_OF[part]} of {aggregate.name}."),
        "",
        "import numpy as np",
        *imports,
        *([] if shows_states(steps, part) else [SHOW]),
        "from whimbrel.kernels.primitives.hashing.hash_table import index",
        "",
        "",
        f"def replay(first, count, kind, who, which, slot, target, {_each('value', columns)}, valid,",
        f"           {_each('held', columns)}, held_valid, moment, held_sync, held_other, head, after, before, stale,",
        f"           {_each('shown', outputs(steps, part))}, shown_valid, {out_names(steps, part)}, out_valid,",
        "           start, held_start,",
        *([f"           front, last, newest, newer, {_suffixes(steps)},"] if stacks else []),
        f"           {state}):",
        "    for step in range(first, count):",
        "        operation = kind[step]",
        "        group = index(who[step])",
        "        if operation == 0:  # the row enters",
        "            row = index(which[step])",
        "            counts = valid.shape[0] == 0 or valid[row]",
        "            if held0.shape[0]:",
        f"                {into('held', 'slot[step]', columns)} = {into('value', 'row', columns)}",
        "                held_valid[slot[step]] = counts",
        *(["                held_start[slot[step]] = start[row]"] if steps.timed else []),
        *(_enter_stack() if stacks else []),
        "            if counts:",
        f"                {stored('state', 'group', fields, f'accumulate({_load(steps)}, {entering})')}",
        "        elif operation == 1:  # the row leaves",
        *_leave(steps, part),
        "        elif operation == 2:  # the value is shown",
        *(_recompute(steps, part) if steps.remove is None else []),
        *(_both_stacks(steps) if stacks else [f"            state = {_load(steps)}"]),
        *(_recompute_spoiled(steps, part) if steps.spoiled is not None else []),
        "            to = target[step]",
        *_show(steps, part),
        "            if shown_valid.shape[0]:",
        f"                {seen}, shown_valid[group] = {into('out', 'to', shown)}, out_valid[to]",
        "        elif operation == 3:  # what was shown ends",
        f"            {into('out', 'target[step]', shown)}, out_valid[target[step]] = {seen}, shown_valid[group]",
        "        elif operation == 5:  # the state is that of another group",
        f"            {into('state', 'group', fields)} = {into('state', 'index(which[step])', fields)}",
        "        else:  # the group is empty",
        f"            {into('state', 'group', fields)} = {literals(steps)}",
        "            stale[group] = False",
        *(["            if front.shape[0]:", "                front[group], newest[group] = -1, -1"] if stacks else []),
        "",
    ]
    return load_text("\n".join(lines), "replay", functions)


def finish_function(aggregate: Aggregate, steps: AggregateFunctions) -> Compiled:
    """The loop that makes values of states."""
    imports, functions = bind_steps(steps, "", ("result",))
    fields = range(len(steps.init))
    text = "\n".join([
        comment(f"Makes values of states of {aggregate.name}."),
        "",
        *imports,
        SHOW,
        "",
        "",
        f"def finish({_each('state', fields)}, out, out_valid):",
        "    for row in range(out.shape[0]):",
        f"        out_valid[row] = show(result({tuple_of('state', 'row', fields)}), out, row)",
        "",
    ])
    return load_text(text, "finish", functions)


def slopes_function(aggregate: Aggregate, steps: AggregateFunctions) -> Compiled:
    """The loop that makes values of states, and says how much each value grows with each field, by changing it."""
    imports, functions = bind_steps(steps, "", ("result",))
    fields = range(len(steps.init))
    lines = [
        comment(f"Makes values of states of {aggregate.name}, and sees what they depend on."),
        "",
        *imports,
        SHOW,
        "",
        "",
        f"def slopes({_each('state', fields)}, {_each('step', fields)}, {_each('varies', fields)}, out, out_valid,",
        f"           {_each('slope', fields)}):",
        "    for row in range(out.shape[0]):",
        f"        out_valid[row] = show(result({tuple_of('state', 'row', fields)}), out, row)",
    ]
    for field in fields:
        moved = " ".join(f"state{at}[row]{f' + step{at}[row]' if at == field else ''}," for at in fields)
        lines += [
            f"        slope = 0.0  # of field {field}",
            f"        if varies{field} and out_valid[row] and show(result(({moved})), slope{field}, row):",
            f"            slope = (slope{field}[row] - out[row]) / step{field}[row]",
            f"        slope{field}[row] = slope if slope - slope == 0 else 0.0  # not a finite number",
        ]
    return load_text("\n".join([*lines, ""]), "slopes", functions)


def merge_function(aggregate: Aggregate, steps: AggregateFunctions) -> Compiled:
    """The loop that merges states, each into that of its group."""
    imports, functions = bind_steps(steps, "", ("merge",))
    fields = range(len(steps.init))
    both = f"merge({_load(steps)}, {tuple_of('given', 'row', fields)})"
    lines = [
        comment(f"Merges states of {aggregate.name}."),
        "",
        *imports,
        "",
        "",
        f"def merged(groups, {_each('given', fields)}, {_each('state', fields)}):",
        "    for row in range(groups.shape[0]):",
        "        group = groups[row]",
        f"        {stored('state', 'group', fields, both)}",
    ]
    return load_text("\n".join([*lines, ""]), "merged", functions)


def two_stacks(steps: AggregateFunctions) -> bool:
    """Whether rows that leave in arrival order need no recomputation, though no row can be removed."""
    return steps.remove is None and steps.merge is not None


def _each(name: str, columns: Sequence[int]) -> str:
    return ", ".join(f"{name}{column}" for column in columns)


def _row(name: str, entry: str, steps: AggregateFunctions, part: AggregatePhase, start: str) -> str:
    """What a row brings: its values and maybe its start, or the state of many rows."""
    if part is not AggregatePhase.MERGED:
        return into(name, entry, range(steps.inputs)) + (f", {start}[{entry}]" if steps.timed else "")
    return tuple_of(name, entry, range(len(steps.init)))


def _show(steps: AggregateFunctions, part: AggregatePhase) -> list[str]:
    if shows_states(steps, part):
        return [f"            {stored('out', 'to', outputs(steps, part), 'state')}", "            out_valid[to] = True"]
    return ["            out_valid[to] = show(result(state), out0, to)"]


def _load(steps: AggregateFunctions) -> str:
    return tuple_of("state", "group", range(len(steps.init)))


def _suffixes(steps: AggregateFunctions) -> str:
    return ", ".join(f"suffix{field}" for field in range(len(steps.init)))


def _leave(steps: AggregateFunctions, part: AggregatePhase) -> Sequence[str]:
    if two_stacks(steps):
        return _leave_stack(steps, part)
    lines = ["            if held_valid[slot[step]]:"]
    if steps.remove is None:
        return [*lines, "                stale[group] = True"]
    row = _row("held", "slot[step]", steps, part, "held_start")
    taken = stored("state", "group", range(len(steps.init)), f"remove({_load(steps)}, {row})")
    return [*lines, f"                {taken}"]


def _enter_stack() -> Sequence[str]:
    """The back stack is the state of the group. A row that leaves before an earlier one ends the order of the group."""
    return [
        "            if front.shape[0]:",
        "                entry, before = index(slot[step]), newest[group]",
        "                if front[group] != -2 and before >= 0 and held_other[entry] < held_other[before]:",
        "                    front[group], stale[group] = -2, True",
        "                newest[group] = entry",
    ]


def _leave_stack(steps: AggregateFunctions, part: AggregatePhase) -> Sequence[str]:
    """Pop the front stack; where it is empty, turn the back stack over: each slot gets the merge from it to the newest.

    All that end at one moment leave with the first of them, so that their order among each other does not matter.
    """
    fields = range(len(steps.init))
    fresh = f"({literals(steps)},)"
    held = _row("held", "entry", steps, part, "held_start")
    return [
        "            if front[group] == -2:",
        "                if held_valid[slot[step]]:",
        "                    stale[group] = True",
        "            else:",
        "                now, top = held_other[slot[step]], front[group]",
        "                while top >= 0 and held_other[top] <= now:",
        "                    top = -1 if top == last[group] else newer[top]",
        "                if top < 0:",
        f"                    state = {fresh}",
        "                    entry = newest[group]",
        "                    while entry >= 0 and held_other[entry] > now:",
        "                        if held_valid[entry]:",
        f"                            state = merge(accumulate({fresh}, {held}), state)",
        f"                        {stored('suffix', 'entry', fields, 'state')}",
        "                        if top < 0:",
        "                            last[group] = entry",
        "                        else:",
        "                            newer[entry] = top",
        "                        top, entry = entry, after[entry]",
        "                    newest[group] = -1 if top < 0 else newest[group]",
        f"                    {into('state', 'group', fields)} = {literals(steps)}",
        "                front[group] = top",
    ]


def _both_stacks(steps: AggregateFunctions) -> Sequence[str]:
    top = tuple_of("suffix", "front[group]", range(len(steps.init)))
    return [
        f"            state = {_load(steps)}",
        "            if front.shape[0] and front[group] >= 0:",
        f"                state = merge({top}, state)",
    ]


def _recompute(steps: AggregateFunctions, part: AggregatePhase) -> Sequence[str]:
    """A row cannot be removed: recompute the group."""
    return ["            if stale[group]:", *_recomputed(steps, part), "                stale[group] = False"]


def _recompute_spoiled(steps: AggregateFunctions, part: AggregatePhase) -> Sequence[str]:
    return [
        "            if spoiled(state):",
        "                if head.shape[0] == 0:",
        "                    return step  # the rows of a group do not hang together yet",
        *_recomputed(steps, part),
    ]


def _recomputed(steps: AggregateFunctions, part: AggregatePhase) -> Sequence[str]:
    """The state of the rows of a group that are active at this moment; if order matters, from the oldest one on."""
    oldest = [
        "                while entry >= 0 and after[entry] >= 0:",
        "                    entry = after[entry]",
    ] if steps.in_order else []
    return [
        "                now = moment[target[step]]",
        f"                state = ({literals(steps)},)",
        "                entry = head[group]",
        *oldest,
        "                while entry >= 0:",
        "                    if held_valid[entry] and held_sync[entry] <= now < held_other[entry]:",
        f"                        state = accumulate(state, {_row('held', 'entry', steps, part, 'held_start')})",
        f"                    entry = {'before' if steps.in_order else 'after'}[entry]",
        f"                {stored('state', 'group', range(len(steps.init)), 'state')}",
    ]
