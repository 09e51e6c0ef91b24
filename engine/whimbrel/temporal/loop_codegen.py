"""Generate one loop over slots for the steps of a periodic loop.

Each step is written where its value is used. A shift is another slot of the same column, and a condition is a flag.
Only windows have their own loops, which run first and write arrays that the other loops read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from whimbrel.expr import SCALARS
from whimbrel.kernels import Compiled, load_text
from whimbrel.kernels.source_text import comment
from whimbrel.temporal.bounds import needs_of, reach_of
from whimbrel.temporal.loop_steps import Adjacent, PeriodicStep, Slid, in_order
from whimbrel.temporal.loop_text import indented
from whimbrel.temporal.loop_writer import Leaf, LoopWriter, Nulls

_PART = 16_384
"""Places that are worked on at once: what windows write and others read stays in the cache."""


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


_written: WeakKeyDictionary[PeriodicStep, dict[Any, GeneratedLoop]] = WeakKeyDictionary()


def loop_text(last: PeriodicStep, shown: str, nulls: Nulls, period: int, *, masked: bool, max_slots: int,
              by_key: bool = False) -> GeneratedLoop:
    """The loop for the steps that end in `last`, which is generated once as long as they are there.

    In the text, `at` is a place counted from the first one that is given, `base` that one's number, `time` its tick.

    Parameters
    ----------
    last : Step
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
    loops = needs_of(last)
    writer = LoopWriter(nulls, period, masked=masked, max_slots=max_slots + sum(reach_of(last)))
    body = [line for step in in_order(last) for key in loops if key[0] == id(step)
            for line in (writer.windows(step, key, loops[key]) if isinstance(step, Adjacent)
                         else writer.slides(cast(Slid, step), loops[key]))]
    result, lines = writer.rows(last, timed=by_key)
    body += lines
    nullable = tuple(valid is not None for _, valid in result.columns)
    changing = result.changes is not None and not result.recomputed
    everywhere = result.present is None and not changing and not by_key
    # What windows need to begin with is computed again for each part: a few times the reach should not matter.
    in_parts = bool(loops) and not (masked or changing or writer.leads) and 16 * sum(reach_of(last)) <= _PART
    used = [name for name in SCALARS if any(f"{name}(" in line for line in body)]
    named = set(re.findall(r"\w+", "\n".join(body)))
    masks = tuple((kind, port) for port in sorted(writer.ports) for kind in ("there", "changes")
                  if f"{kind}{port}" in named)
    leaves = tuple(leaf for leaf in writer.leaves.values() if f"c{leaf[0]}_{leaf[1]}" in named)
    parameters = [
        "base", "first", "stop", "time", "period", *(f"lead{port}" for port in writer.leads),
        *(f"{kind}{port}" for kind, port in masks),
        *(f"{kind}{port}_{at}" for port, at, with_nulls in leaves for kind in ("cv" if with_nulls else "c")),
        *writer.scratch, "count", *([] if everywhere else ["out_sync"]), *(["out_end"] if changing else []),
        *(f"out{at}{kind}" for at, some in enumerate(nullable) for kind in (("", "_valid") if some else ("",)))]
    text = "\n".join([
        comment(f"Periodic loop: {shown}"), "", "import numpy as np", "from numpy import uintp",
        *(f"from {module} import {', '.join(name for name, of in writer.imports.items() if of == module)}"
          for module in dict.fromkeys(writer.imports.values())),
        *(f"from {SCALARS[name].__module__} import {name}" for name in used), "", "",
        *writer.definitions, *_wrapped("def loop(", parameters), *indented(body), "",
        *(_each_key(parameters) if by_key else _each_part(parameters) if in_parts else [])])
    loop = load_text(text, "by_key" if by_key else "in_parts" if in_parts else "loop", writer.functions)
    return GeneratedLoop(text, loop, tuple(writer.leads), masks, leaves, tuple(writer.scratch.values()), nullable,
                         changing, everywhere, result.recomputed)


def _each_key(parameters: Sequence[str]) -> list[str]:
    """The function that runs the loop for each key, in its part of the arrays, and says where in them each row was."""
    given = ["bases[key]", "first", "end - begin", "times[key]", *_part_of(parameters[4:], "begin:end")]
    return [
        "", *_wrapped("def by_key(", ["begins", "bases", "first", "times", *parameters[4:], "slots"]),
        "    rows = 0",
        "    for key in range(len(bases)):",
        "        begin, end = begins[key], begins[key + 1]",
        *indented(indented([line.removesuffix(":") for line in _wrapped("loop(", given)])),
        "        for row in range(rows, rows + count[0]):",
        "            slots[row] = begin + (out_sync[row] - times[key]) // period",
        "        rows += count[0]",
        "    count[0] = rows", ""]


def _each_part(parameters: Sequence[str]) -> list[str]:
    """The function that runs the loop for a few places at a time."""
    given = ["base + done", "first", f"min(first + {_PART}, stop - done)", "time + done * period",
             *_part_of(parameters[4:], "done:")]
    return [
        "", *_wrapped("def in_parts(", parameters),
        "    rows = 0",
        f"    for done in range(0, stop - first, {_PART}):",
        *indented(indented([line.removesuffix(":") for line in _wrapped("loop(", given)])),
        "        rows += count[0]",
        "    count[0], count[3] = rows, time + first * period", ""]


def _part_of(names: Sequence[str], slots: str) -> list[str]:
    """The part of each array that one call of the loop reads or writes."""
    return [f"{name}[{slots}]" if re.match("(there|changes|c|v)[0-9]", name) else (
        f"{name}[rows:]" if name.startswith("out") else name) for name in names]


def _wrapped(head: str, names: Sequence[str]) -> list[str]:
    """A function's head over several lines."""
    lines: list[str] = []
    line = head
    for at, name in enumerate(names):
        part = f"{name}, " if at < len(names) - 1 else f"{name}):"
        if len(line) + len(part) > 110:
            lines, line = [*lines, line.rstrip()], " " * len(head)
        line += part
    return [*lines, line]
