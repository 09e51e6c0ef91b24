"""Generate the loop of running aggregates."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.kernels import Compiled, load_text
from whimbrel.kernels.source_text import comment, indented
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.plan.aggregate_source import SHOW, Functions, bind_steps, into, literals, tuple_of


def running_function(measures: Sequence[ScalarAccumulator]) -> Compiled:
    """The loop that takes in each row, and writes the value of each aggregate after it.

    The state of the key of the row before is in local variables: where all rows have one key, no step waits for memory.
    """
    imports: list[str] = []
    functions: Functions = {}
    parameters, lines = ["group, skip"], list[str]()
    fresh, loaded, written = list[str](), list[str](), list[str]()
    for number, measure in enumerate(measures):
        bound, given = bind_steps(measure.steps, str(number), ("accumulate", "result"))
        imports += bound
        functions |= given
        steps, fields = measure.steps, range(len(measure.steps.init))
        value, state, out = (f"{name}{number}_" for name in ("value", "state", "out"))
        outs = range(len(measure.out_dtypes))
        parameters.append(", ".join([
            *(f"{value}{column}" for column in range(len(measure.value_dtypes))), f"valid{number}", f"start{number}",
            f"reset{number}", *(f"{out}{column}" for column in outs), f"shown{number}",
            *(f"{state}{field}" for field in fields)]))
        lies = into(state, "mine", fields)
        held, now = tuple_of(state, "mine", fields), lies
        if all(isinstance(value, float) for value in steps.init):  # integers of an array may be narrower
            now = ", ".join(f"now{number}_{field}" for field in fields)
            held = f"({now},)"
            fresh.append(f"{now} = {literals(steps)}")
            loaded.append(f"{now} = {lies}")
            written.append(f"{lies} = {now}")
        given_row = into(value, "row", range(steps.inputs)) + (f", start{number}[row]" if steps.timed else "")
        lines += [
            f"if reset{number}.shape[0] and reset{number}[row]:",
            f"    {now} = {literals(steps)}",
            f"if valid{number}.shape[0] == 0 or valid{number}[row]:",
            f"    {now} = accumulate{number}({held}, {given_row}){'[0]' if len(fields) == 1 else ''}",
        ]
        if steps.columns is not None:
            lines += [f"{into(out, 'row', outs)} = {now}", f"shown{number}[row] = True"]
        else:
            lines.append(f"shown{number}[row] = show(result{number}({held}), {out}0, row)")
    text = "\n".join([
        comment(f"Running values of {', '.join(each.aggregate.show() for each in measures)}"),
        "",
        "import numpy as np",
        *imports,
        SHOW,
        "from whimbrel.kernels.primitives.hashing.hash_table import index",
        "",
        "",
        f"def run({', '.join(parameters)}):",
        *indented(["mine = -1", *fresh] if fresh else []),
        "    for row in range(group.shape[0]):",
        "        if skip.shape[0] and skip[row]:",
        "            continue",
        *indented(["if group[row] != mine:", *indented(["if mine >= 0:", *indented(written)]),
                   "    mine = index(group[row])", *indented(loaded)] if fresh else ["mine = index(group[row])"], 2),
        *indented(lines, 2),
        *indented(["if mine >= 0:", *indented(written)] if fresh else []),
        "",
    ])
    return load_text(text, "run", functions)
