"""Generate one loop over slots for the steps of a periodic loop.

Each step is written where its value is used. A shift is another slot of the same column, and a condition is a flag.
Only windows have their own loops, which run first and write arrays that the other loops read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

import numpy as np

from whimbrel.expr import SCALARS
from whimbrel.kernels import Compiled, CompilePolicy, load_text
from whimbrel.kernels.source_text import comment, free_names, indented
from whimbrel.temporal.bounds import needs_of, slot_bounds
from whimbrel.temporal.loop_module import LoopModule
from whimbrel.temporal.loop_steps import Adjacent, PeriodicStep, Slid, in_order
from whimbrel.temporal.row_writer import row_loop
from whimbrel.temporal.step_writer import Leaf, Nulls, StepWriter
from whimbrel.temporal.window_writer import sliding_loops, tumbling_loop

_PART = 16_384
"""Places that are worked on at once: what windows write and others read stays in the cache."""
_WORTH_COMPILING_PLACES = 512
"""Interpreted they take about ten milliseconds, and the compiler takes a second."""


@dataclass(frozen=True)
class GeneratedLoop:
    """A generated loop and its arguments.

    Attributes
    ----------
    text : str
    loop : Compiled
    leads : tuple of int
        Inputs with another period: the loop gets the ticks from their first event to the first slot.
    masks : tuple of (str, int)
        What it reads of where the events of inputs are: where they are "there", or where something "changes".
    leaves : tuple of Leaf
    scratch : tuple of (numpy.dtype, int)
        Types and lengths of the arrays that it works in.
    nullable : tuple of bool
        Of each column of the result, whether it may have nulls.
    changing : bool
        Whether it writes ends; if not, every event lasts until the next place.
    everywhere : bool
        Whether it writes a row for every place, and so no times.
    recomputed : bool
        Whether each row is of one place.
    policy : CompilePolicy
        Of all runs in this process. Where a log begins and ends a few places lack an event, and a loop for such places
        takes the compiler longer than to run them interpreted.
    """

    text: str
    loop: Compiled
    leads: tuple[int, ...]
    masks: tuple[tuple[str, int], ...]
    leaves: tuple[Leaf, ...]
    scratch: tuple[tuple[np.dtype[Any], int], ...]
    nullable: tuple[bool, ...]
    changing: bool
    everywhere: bool
    recomputed: bool
    policy: CompilePolicy = field(default_factory=lambda: CompilePolicy(_WORTH_COMPILING_PLACES))


_written: WeakKeyDictionary[PeriodicStep, dict[Any, GeneratedLoop]] = WeakKeyDictionary()


def loop_text(last: PeriodicStep, shown: str, nulls: Nulls, period: int, *, masked: bool, max_slots: int,
              by_key: bool = False) -> GeneratedLoop:
    """The loop for the steps that end in `last`, which is generated once as long as they are there.

    In the text, `at` is a place counted from the first one that is given, `base` that one's number, `time` its tick.

    Parameters
    ----------
    last : PeriodicStep
    shown : str
        The steps in the user's words.
    nulls : Nulls
    period : int
        Ticks of a place.
    masked : bool
        Whether inputs may have places without an event.
    max_slots : int
        The longest range that it is called for.
    by_key : bool
        Whether inputs are given key by key, and so the loop is run.
    """
    texts, key = _written.setdefault(last, {}), (shown, nulls, period, masked, max_slots, by_key)
    if key not in texts:
        texts[key] = _generated(last, shown, nulls, period, masked=masked, max_slots=max_slots, by_key=by_key)
    return texts[key]


def _generated(last: PeriodicStep, shown: str, nulls: Nulls, period: int, *, masked: bool, max_slots: int,
               by_key: bool) -> GeneratedLoop:
    loops, reach = needs_of(last), slot_bounds(last).span
    module = LoopModule(max_slots + reach)
    writer = StepWriter(module, nulls, period, masked=masked)
    body = [line for step in in_order(last) for key in loops if key[0] == id(step)
            for line in (tumbling_loop(writer, step, key, loops[key]) if isinstance(step, Adjacent)
                         else sliding_loops(writer, cast(Slid, step), loops[key]))]
    result, lines = row_loop(writer, last, timed=by_key)
    body += lines
    nullable = tuple(bool(column.valid) for column in result.columns)
    changing = result.changes is not None and not result.recomputed
    everywhere = result.present is None and not changing and not by_key
    # What windows need to begin with is computed again for each part: a few times the reach should not matter.
    in_parts = bool(loops) and not (masked or changing or writer.leads) and 16 * reach <= _PART
    free = free_names(body)
    masks = tuple((kind, port) for port in sorted(writer.ports) for kind in ("there", "changes")
                  if f"{kind}{port}" in free)
    leaves = tuple(leaf for leaf in writer.leaves.values() if not free.isdisjoint(_arrays(leaf)))
    parameters = [
        *(Parameter(f"lead{port}") for port in writer.leads),
        *(Parameter(f"{kind}{port}", "slot") for kind, port in masks),
        *(Parameter(name, "slot") for leaf in leaves for name in _arrays(leaf)),
        *(Parameter(name) for name in (*module.scratch, "count")),
        *([] if everywhere else [Parameter("out_sync", "row")]), *([Parameter("out_end", "row")] if changing else []),
        *(Parameter(f"out{at}{kind}", "row") for at, some in enumerate(nullable)
          for kind in (("", "_valid") if some else ("",)))]
    text = "\n".join([
        comment(f"Periodic loop: {shown}"), "", "import numpy as np", "from numpy import uintp",
        *(f"from {origin} import {', '.join(name for name, of in module.imports.items() if of == origin)}"
          for origin in dict.fromkeys(module.imports.values())),
        *(f"from {SCALARS[name].__module__} import {name}" for name in SCALARS if name in free), "", "",
        *module.definitions, *_wrapped("def loop", [*_RANGE, *(each.name for each in parameters)], ":"),
        *indented(body), "",
        *(_each_key(parameters) if by_key else _each_part(parameters) if in_parts else [])])
    loop = load_text(text, "by_key" if by_key else "in_parts" if in_parts else "loop", module.functions)
    return GeneratedLoop(text, loop, tuple(writer.leads), masks, leaves, tuple(module.scratch.values()), nullable,
                         changing, everywhere, result.recomputed)


@dataclass(frozen=True)
class Parameter:
    """A parameter of the loop.

    Parameters
    ----------
    name : str
    each : {"slot", "row"}, optional
        It is an array with an entry for each slot that is given, or each row that is written.
    """

    name: str
    each: Literal["slot", "row"] | None = None

    def part(self, slots: str) -> str:
        """The part that one call of the loop reads or writes."""
        return f"{self.name}[{slots}]" if self.each == "slot" else f"{self.name}[rows:]" if self.each else self.name


_RANGE = ("base", "first", "stop", "time", "period")
"""Parameters that say for which places the loop runs."""


def _arrays(leaf: Leaf) -> list[str]:
    """Arrays of a column that is read."""
    port, position, with_nulls = leaf
    return [f"{kind}{port}_{position}" for kind in ("cv" if with_nulls else "c")]


def _each_key(parameters: Sequence[Parameter]) -> list[str]:
    """The function that runs the loop for each key, in its part of the arrays, and says where in them each row was."""
    given = ["bases[key]", "first", "end - begin", "times[key]", "period",
             *(each.part("begin:end") for each in parameters)]
    names = ["begins", "bases", "first", "times", "period", *(each.name for each in parameters), "slots"]
    return [
        "", *_wrapped("def by_key", names, ":"),
        "    rows = 0",
        "    for key in range(len(bases)):",
        "        begin, end = begins[key], begins[key + 1]",
        *indented(_wrapped("loop", given), 2),
        "        for row in range(rows, rows + count[0]):",
        "            slots[row] = begin + (out_sync[row] - times[key]) // period",
        "        rows += count[0]",
        "    count[0] = rows", ""]


def _each_part(parameters: Sequence[Parameter]) -> list[str]:
    """The function that runs the loop for a few places at a time."""
    given = ["base + done", "first", f"min(first + {_PART}, stop - done)", "time + done * period", "period",
             *(each.part("done:") for each in parameters)]
    return [
        "", *_wrapped("def in_parts", [*_RANGE, *(each.name for each in parameters)], ":"),
        "    rows = 0",
        f"    for done in range(0, stop - first, {_PART}):",
        *indented(_wrapped("loop", given), 2),
        "        rows += count[0]",
        "    count[0], count[3] = rows, time + first * period", ""]


def _wrapped(head: str, names: Sequence[str], end: str = "") -> list[str]:
    """A head with its arguments, over several lines."""
    lines: list[str] = []
    line = f"{head}("
    for at, name in enumerate(names):
        part = f"{name}, " if at < len(names) - 1 else f"{name}){end}"
        if len(line) + len(part) > 110:
            lines, line = [*lines, line.rstrip()], " " * (len(head) + 1)
        line += part
    return [*lines, line]
