"""Generate the loop over pattern runs with registers.

Unlike a run that is a set of states, such a run is one way through the pattern: it is in one state, and whatever it
remembers came about on that way. The text is the loop, and functions that bind a query's expressions to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from whimbrel.batch import Schema, numpy_type
from whimbrel.expr import (
    SCALARS,
    Cast,
    Col,
    Expr,
    LiteralArguments,
    OuterValue,
    predicate_source,
    registers_of,
    to_source,
    type_of,
)
from whimbrel.kernels import Compiled, load_text
from whimbrel.operators.patterns.automaton import Automaton


@dataclass(frozen=True)
class Slot:
    """One value that a run stores: its name for expressions, and whether it is in the result."""

    name: str
    type: pa.DataType
    source: OuterValue
    initial: object = None
    shown: bool = True


@dataclass(frozen=True)
class PathText:
    """A generated loop and its arguments.

    Attributes
    ----------
    step : Compiled
    leaves : tuple of Expr
        What it reads of the events, computed beforehand; each is an array of values and one of validity.
    numbers : tuple of int or float
        The numbers in its expressions.
    parts : tuple of Expr
        What only Python can compute of an event and a run; where there is one, the loop is interpreted.
    """

    text: str
    step: Compiled
    leaves: tuple[Expr, ...]
    numbers: tuple[int | float, ...]
    parts: tuple[Expr, ...]


@dataclass
class _Names(LiteralArguments):
    """Gives each part of an expression that the text does not write out a position among the arguments."""

    slots: dict[str, int]
    leaves: dict[str | int, Expr] = field(default_factory=dict)
    parts: dict[str | int, Expr] = field(default_factory=dict)
    numbers: list[int | float] = field(default_factory=list)

    def argument(self, number: float) -> str:
        self.numbers.append(number)
        return f"number{len(self.numbers) - 1}"

    def __call__(self, part: Expr) -> tuple[str, str | None]:
        if isinstance(part, Col) and part.name in self.slots:
            return f"r{self.slots[part.name]}[slot]", f"(q{self.slots[part.name]}[slot] == 1)"
        known = self.parts if registers_of(part) else self.leaves
        name = part.name if isinstance(part, Col) else id(part)  # two functions may look alike
        known.setdefault(name, part)
        position = list(known).index(name)
        if known is self.parts:
            return f"parts.value({position}, row, slot)", f"parts.valid({position}, row, slot)"
        return f"c{position}[row]", f"v{position}[row]"


def path_text(automaton: Automaton, slots: Sequence[Slot], schema: Schema, *, skip: bool,
              overlapping: bool, greedy: bool) -> PathText:
    """Generate the loop; `schema` has the columns of the events and the slots of runs.

    With `greedy` the runs of one begin stand in the order in which they are preferred. A match ends those after it.
    """
    names = _Names({slot.name: number for number, slot in enumerate(slots)})
    admits = [line for state, event in enumerate(automaton.events) if registers_of(event.condition)
              for line in (f"if state == {state}:",
                           f"    return {predicate_source(event.condition, schema, names)}")]
    moves = [line for state in range(len(automaton.events)) for line in _move(automaton, state, slots, schema, names)]
    columns = [name for number in range(len(names.leaves)) for name in (f"c{number}", f"v{number}")]
    columns += [f"number{number}" for number in range(len(names.numbers))]
    own = [name for number in range(len(slots)) for name in (f"r{number}", f"q{number}")]
    emitted = [number for number, slot in enumerate(slots) if slot.shown]
    outs = [name for number in emitted for name in (f"o{number}", f"p{number}")]
    tells = [f"o{number}[done], p{number}[done] = r{number}[new], q{number}[new]" for number in emitted]
    parts = ["parts"] if names.parts else []
    width = automaton.order(preferred=greedy).shape[1]
    used = [name for name in SCALARS if any(f"{name}(" in line for line in [*admits, *moves])]
    text = _TEXT.format(
        imports="".join(f"from {SCALARS[name].__module__} import {name}\n" for name in used),
        reads=_listed([*columns, *own, *parts]), own=_listed(own), outs=_listed(outs),
        admits=_indented(admits), moves=_indented(moves), states=len(automaton.events),
        copies=_indented([f"r{at}[new], q{at}[new] = r{at}[slot], q{at}[slot]" for at in range(len(slots))]),
        same="".join(f" and {name}[run] == {name}[other]" for name in own),
        shown_same="".join(f" and {name}[one] == {name}[other]" for name in outs),
        shows="".join(f"{20 * ' '}{line}\n" for line in tells),
        skip=skip, overlapping=overlapping, width=width,
        ends_not=f"order[to * {width}] >= 0",
        **(_GREEDY if greedy else dict.fromkeys(_GREEDY, "")),
    )
    return PathText(text, load_text(text, "advance", {}), tuple(names.leaves.values()), tuple(names.numbers),
                    tuple(names.parts.values()))


def _move(automaton: Automaton, state: int, slots: Sequence[Slot], schema: Schema, names: _Names) -> list[str]:
    """What a run remembers after it moved into a state, from what it remembered before."""
    event = automaton.events[state]
    lines: list[str] = []
    for number, slot in enumerate(slots):
        changed = _new_value(slot, event.name, dict(event.updates))
        if changed is None:
            continue
        mine = slot.type if numpy_type(slot.type) is None or type_of(changed, schema) == slot.type else None
        value, valid = to_source(changed if mine is not None else Cast(changed, slot.type), schema, names)
        assign = [f"if {valid or 'True'}:", f"    r{number}[new], q{number}[new] = {value}, 1", "else:",
                  f"    r{number}[new], q{number}[new] = r{number}[0], 2"]
        if slot.source.which == "first":
            assign = [f"if q{number}[slot] == 0:", *(f"    {line}" for line in assign)]
        lines += [f"    {line}" for line in assign]
    return [f"if state == {state}:", *lines] if lines else []


def _new_value(slot: Slot, event: str, updates: dict[str, Expr]) -> Expr | None:
    if slot.source.which == "register":
        return updates.get(slot.source.column)
    return Col(slot.source.column) if slot.source.event == event else None


def _listed(names: Sequence[str]) -> str:
    return "".join(f", {name}" for name in names)


def _indented(lines: Sequence[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


_GREEDY = {
    "turn": ", turned",
    "over": f"{12 * ' '}over = done > begin and out_first[done - 1] == start\n",
    "is_over": " or over",
    "is_match": f"{20 * ' '}over = True\n",
    "not_over": " and not over",
    "turned": f"{8 * ' '}head[mine] = turned(head[mine], after)\n",
}
"""Parts of the loop that end the runs after a match in the order of preference."""

_TEXT = '''\
import numpy as np
from whimbrel.kernels.primitives.patterns.pattern_runs import ends_at, settle, taken{turn}
{imports}

def admits(state, row, slot{reads}):
    """Whether an event that may lead to a state does so for this run, too."""
{admits}    return True


def move(state, row, slot, new{reads}):
    """What a run remembers once this event has led it to a state."""
{copies}{moves}

def known(run, other, state, began, events, after{own}):
    """Whether another run, of those from this one on, is where the run is and remembers the same."""
    while other >= 0 and began[other] == began[run]:
        if state[other] == state[run] and events[other] == events[run]{same}:
            return True
        other = after[other]
    return False


def shown_before(one, begin{outs}, out_first, out_events):
    """Whether this event has shown such a match already."""
    for other in range(one - 1, begin - 1, -1):
        if out_first[other] != out_first[one]:
            break
        if out_events[other] == out_events[one]{shown_same}:
            return True
    return False


def advance(row, sync, group, satisfied, alone, within, last, order, scalars, free, head, length, after, state, began,
            events, count, out_sync, out_end, out_group, out_first, out_events{reads}{outs}):
    done = 0
    while row < sync.shape[0]:
        mine, time, bits = group[row], sync[row], satisfied[row]
        most = (length[mine] + 1) * {states} + 1
        if done + most > out_sync.shape[0] or scalars[1] + (free.shape[0] - scalars[0]) < most:
            break
        old, begin, moved, starting = head[mine], done, False, False
        head[mine], length[mine] = -1, 0
        while old >= 0 or not (starting or not alone[row] or (moved and not {overlapping})):
            if old < 0:  # runs that begin here come from the empty run, which is in slot 0
                slot, place, options, start, number, following, starting = 0, {states}, bits, time, 1, -1, True
            else:
                slot, following, place = old, after[old], state[old]
                start, number = began[slot], events[slot] + 1
                options = bits if alone[row] and time < ends_at(start, within) else 0
            went = False
{over}            for to in order[place * {width} : place * {width} + {width}]:
                if to < 0{is_over} or not (options >> to) & 1 or not admits(to, row, slot{reads}):
                    continue
                new, went = taken(scalars, free), True
                move(to, row, slot, new{reads})
                state[new], began[new], events[new] = to, start, number
                if (last >> to) & 1:
                    out_sync[done], out_end[done], out_group[done] = time, ends_at(start, within), mine
                    out_first[done], out_events[done] = start, number
{shows}                    done += not shown_before(done, begin{outs}, out_first, out_events)
{is_match}                stays = {ends_not} and not known(new, head[mine], state, began, events, after{own})
                settle(new, stays, mine, head, length, after, scalars, free)
            if not starting:
                moved = moved or went
                stays = {skip} and not went{not_over} and alone[row] and time < ends_at(start, within)
                stays = stays and not known(slot, head[mine], state, began, events, after{own})
                settle(slot, stays, mine, head, length, after, scalars, free)
            old = following
{turned}        row += 1
    count[0] = done
    return row
'''
