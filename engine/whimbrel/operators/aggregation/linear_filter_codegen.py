"""Generate the loop of a recursive linear filter."""

from __future__ import annotations

from whimbrel.kernels import Compiled, load_text

MAX_ORDER = 16
"""Highest order of a generated loop: more local variables do not fit in registers."""


def filter_function(order: int, sections: int, *, feedback: bool) -> Compiled:
    """The loop of a filter of some order, or of so many second-order sections.

    Operations and their order are those of SciPy's ``lfilter`` and ``sosfilt``. Without feedback no result is read
    again, not even times 0: NaN leaves the filter.
    """
    fields = range(2 * sections or order)
    state = ", ".join(f"z{field}" for field in fields)
    zeros = ", ".join("0.0" for _ in fields)
    stored = ", ".join(f"state[at + {field}]" for field in fields)
    steps = _section_lines(sections) if sections else _direct_lines(order, feedback)
    coefficients = ", ".join(steps[0])
    text = "\n".join([
        f"# A recursive filter: {f'{sections} sections' if sections else f'order {order}'}",
        "",
        "from whimbrel.kernels.primitives.hashing.hash_table import index",
        "",
        "",
        "def run(group, hidden, fresh, values, coefficients, initial, state, out):",
        f"    {coefficients} = {', '.join(f'coefficients[{number}]' for number in range(len(steps[0])))}",
        *(f"    i{field} = initial[{field}] if initial.shape[0] else 0.0" for field in fields),
        f"    key, at, {state} = -1, 0, {zeros}",
        "    for row in range(group.shape[0]):",
        "        if hidden.shape[0] and hidden[row]:",
        "            continue",
        "        if group[row] != key:",
        "            if key >= 0:",
        f"                {stored} = {state}",
        "            key = index(group[row])",
        f"            at = key * {len(fields)}",
        f"            {state} = {stored}",
        "        value = values[row]",
        "        if fresh.shape[0] and fresh[row]:",
        f"            {state} = {zeros}",
        "            if initial.shape[0]:",
        f"                {state} = {', '.join(f'i{field} * value' for field in fields)}",
        *(f"        {line}" for line in steps[1]),
        "        out[row] = value",
        "    if key >= 0:",
        f"        {stored} = {state}",
        "",
    ])
    return load_text(text, "run", {})


def run_function(order: int, sections: int, *, feedback: bool) -> Compiled:
    """The same loop for rows of one key, none of which is left out or begins again: nothing is asked for each row."""
    fields = range(2 * sections or order)
    state = ", ".join(f"z{field}" for field in fields)
    stored = ", ".join(f"state[{field}]" for field in fields)
    names, lines = _section_lines(sections) if sections else _direct_lines(order, feedback)
    text = "\n".join([
        f"# A recursive filter of a run: {f'{sections} sections' if sections else f'order {order}'}",
        "",
        "",
        "def run(values, coefficients, state, out):",
        f"    {', '.join(names)} = {', '.join(f'coefficients[{number}]' for number in range(len(names)))}",
        f"    {state} = {stored}",
        "    for row in range(values.shape[0]):",
        "        value = values[row]",
        *(f"        {line}" for line in lines),
        "        out[row] = value",
        f"    {stored} = {state}",
        "",
    ])
    return load_text(text, "run", {})


def _direct_lines(order: int, feedback: bool) -> tuple[list[str], list[str]]:
    """Names of the coefficients, and the steps of direct form II transposed."""
    names = [f"b{number}" for number in range(order + 1)] + [f"a{number}" for number in range(1, order + 1)]
    lines = ["given = value", "value = z0 + b0 * given"]
    back = [f" - value * a{number}" if feedback else "" for number in range(order + 1)]
    lines += [f"z{number - 1} = z{number} + given * b{number}{back[number]}" for number in range(1, order)]
    return names, [*lines, f"z{order - 1} = given * b{order}{back[order]}"]


def _section_lines(sections: int) -> tuple[list[str], list[str]]:
    """Names of the coefficients, and the steps of second-order sections, one after the other."""
    names, lines = list[str](), list[str]()
    for number in range(sections):
        b0, b1, b2, a1, a2 = mine = [f"{name}_{number}" for name in ("b0", "b1", "b2", "a1", "a2")]
        first, second = f"z{2 * number}", f"z{2 * number + 1}"
        names += mine
        lines += ["given = value", f"value = {b0} * given + {first}",
                  f"{first} = {b1} * given - {a1} * value + {second}", f"{second} = {b2} * given - {a2} * value"]
    return names, lines
