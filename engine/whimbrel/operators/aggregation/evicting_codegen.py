"""Generate the fused loop of an evicting table.

Filter, window, slot and every aggregate of one query in one pass over rows in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whimbrel.batch import Batch
from whimbrel.expr import SCALARS, Expr
from whimbrel.kernels import Compiled, load_text
from whimbrel.kernels.source_text import comment, indented, without_comments
from whimbrel.operators.aggregation.pane_codegen import (
    Leaf,
    Leaves,
    accumulate_line,
    guard_lines,
    lines_under_tests,
)
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.plan.aggregate_source import Functions, bind_steps, into, literals


@dataclass(frozen=True)
class EvictingText:
    """A generated loop and what it is called with.

    Attributes
    ----------
    text : str
    step : Compiled
    leaves : tuple of Leaf
        Columns it reads in addition to time and key.
    numbers : tuple of int or float
        The numbers in its expressions, which are arguments: queries that differ in them share the compiled loop.
    timed : bool
        Whether it is given the starts of the rows as they were before windows.
    """

    text: str
    step: Compiled
    leaves: tuple[Leaf, ...]
    numbers: tuple[int | float, ...]
    timed: bool


def evicting_text(measures: Sequence[ScalarAccumulator], condition: Expr | None, batch: Batch) -> EvictingText:
    """Generate the loop for a query and the nulls that `batch` has."""
    leaves = Leaves(batch)
    stateful = [(number, measure) for number, measure in enumerate(measures) if not measure.counts_rows]
    imports: list[str] = []
    functions: Functions = {}
    for number, measure in stateful:
        lines, given = bind_steps(measure.steps, str(number), ("accumulate",))
        imports += lines
        functions |= given
    guard = [] if condition is None else guard_lines(condition, leaves)
    under = () if condition is None else (condition,)
    body = lines_under_tests([accumulate_line(number, measure, leaves, under, alone=False)
                              for number, measure in stateful])
    timed = any(measure.steps.timed for _, measure in stateful)
    states = [f"s{number}_{part}" for number, measure in stateful for part in range(len(measure.steps.init))]
    used = [name for name in SCALARS if any(f"{name}(" in line for line in [*guard, *body])]
    skip = ["if absent[row]:", "    continue"] if batch.absent is not None else []
    parameters = ["sync", "key_of", "absent", *(["start"] if timed else []), *leaves.parameters,
                  *leaves.arguments, "hop", "offset",
                  "slot_key", "slot_pane", "rows", "born", *states, "cursor",
                  "out_pane", "out_key", "out_rows", *(f"out_{state}" for state in states)]
    fields = [(number, range(len(measure.steps.init)), measure.steps) for number, measure in stateful]
    evict = [f"{into(f'out_s{number}_', 'done', parts)} = {into(f's{number}_', 'group', parts)}"
             for number, parts, _ in fields]
    clear = [f"{into(f's{number}_', 'group', parts)} = {literals(steps)}" for number, parts, steps in fields]
    text = "\n".join([
        comment("Partial aggregates: " + ", ".join(f"{each.name}={each.aggregate.show()}" for each in measures)),
        "",
        "import numpy as np",
        *imports,
        "from whimbrel.kernels.primitives.hashing.evicting_slots import slot_of_group",
        "from whimbrel.kernels.primitives.hashing.hash_table import index",
        *(f"from {SCALARS[name].__module__} import {name}" for name in used),
        "",
        "",
        f"def step({', '.join(parameters)}):",
        "    at, oldest, inserted = cursor[0], cursor[1], cursor[2]",
        "    done = 0",
        "    for row in range(sync.shape[0]):",
        *indented([
            *skip, *guard,
            "time = sync[row]",
            "if not at <= time < at + hop:  # most rows are in the pane of the row before",
            "    at = time - (time - offset) % hop",
            "key = key_of[row]",
            "group = index(slot_of_group(key, at, slot_key.shape[0]))",
            "if slot_key[group] != key or slot_pane[group] != at:",
            *indented([
                "if rows[group] > 0:  # another group leaves its slot",
                *indented(["out_pane[done], out_key[done] = slot_pane[group], slot_key[group]",
                           "out_rows[done] = rows[group]", *evict, "done += 1"]),
                "slot_key[group], slot_pane[group], rows[group], born[group] = key, at, 0, inserted",
                "oldest, inserted = min(oldest, at), inserted + 1",
                *clear]),
            "rows[group] += 1", *body], 2),
        "    cursor[0], cursor[1], cursor[2] = at, oldest, inserted",
        "    return done",
        "",
    ])
    step = load_text(without_comments(text), "step", functions)
    return EvictingText(text, step, tuple(leaves.leaves), tuple(leaves.numbers), timed)
