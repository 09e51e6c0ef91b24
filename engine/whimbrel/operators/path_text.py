"""The loop over runs that remember values, as generated source text.

Unlike a run that is a set of states, such a run is one way through the pattern: it is in one state, and whatever it
remembers came about on that way. The text is the loop, and four functions that bind a query's expressions to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from whimbrel.batch import Schema, numpy_type
from whimbrel.expr import SCALARS, Cast, Col, Expr, Remembered, predicate_source, registers_of, to_source, type_of
from whimbrel.kernels import Compiled, load_text
from whimbrel.operators.pattern import Automaton


@dataclass(frozen=True)
class Slot:
    """One value that a run remembers, by the name under which expressions read it, and whether results tell it."""

    name: str
    type: pa.DataType
    source: Remembered
    initial: object = None
    shown: bool = True


@dataclass(frozen=True)
class PathText:
    """A generated loop and what it is called with.

    Attributes
    ----------
    step : Compiled
    leaves : tuple of Expr
        What it reads of the events, computed beforehand; each is an array of values and one of validity.
    parts : tuple of Expr
        What only Python can compute of an event and a run; where there is one, the loop is interpreted.
    """

    text: str
    step: Compiled
    leaves: tuple[Expr, ...]
    parts: tuple[Expr, ...]


@dataclass
class _Names:
    """Gives each part of an expression that the text does not write out a place among the arguments."""

    slots: dict[str, int]
    leaves: dict[str | int, Expr] = field(default_factory=dict)
    parts: dict[str | int, Expr] = field(default_factory=dict)

    def bind(self, part: Expr) -> tuple[str, str | None]:
        if isinstance(part, Col) and part.name in self.slots:
            return f"r{self.slots[part.name]}[place]", f"(q{self.slots[part.name]}[place] == 1)"
        known = self.parts if registers_of(part) else self.leaves
        name = part.name if isinstance(part, Col) else id(part)  # two functions may look alike
        known.setdefault(name, part)
        position = list(known).index(name)
        if known is self.parts:
            return f"parts.value({position}, row, place)", f"parts.valid({position}, row, place)"
        return f"c{position}[row]", f"v{position}[row]"


def path_text(automaton: Automaton, slots: Sequence[Slot], schema: Schema, *, skip: bool,
              overlapping: bool) -> PathText:
    """Generate the loop; `schema` holds the columns of the events and, beside them, what runs remember."""
    names = _Names({slot.name: number for number, slot in enumerate(slots)})
    admits = [line for state, event in enumerate(automaton.events) if registers_of(event.condition)
              for line in (f"if state == {state}:",
                           f"    return {predicate_source(event.condition, schema, names.bind)}")]
    moves = [line for state in range(len(automaton.events)) for line in _move(automaton, state, slots, schema, names)]
    columns = [name for number in range(len(names.leaves)) for name in (f"c{number}", f"v{number}")]
    own = [name for number in range(len(slots)) for name in (f"r{number}", f"q{number}")]
    told = [number for number, slot in enumerate(slots) if slot.shown]
    outs = [name for number in told for name in (f"o{number}", f"p{number}")]
    tells = [f"{out}{number}[done] = {own}{number}[place]" for number in told for out, own in (("o", "r"), ("p", "q"))]
    parts = ["parts"] if names.parts else []
    used = [name for name in SCALARS if any(f"{name}(" in line for line in [*admits, *moves])]
    text = _TEXT.format(
        imports="".join(f"from {SCALARS[name].__module__} import {name}\n" for name in used),
        reads=_listed([*columns, *own, *parts]), own=_listed(own), outs=_listed(outs),
        admits=_indented(admits), moves=_indented(moves), states=len(automaton.events),
        copies=_indented([f"{name}[new] = {name}[place]" for name in own]),
        same=" and ".join(["True", *(f"{name}[one] == {name}[other]" for name in own)]),
        shown_same=" and ".join(["True", *(f"{name}[one] == {name}[other]" for name in outs)]),
        shows=_indented(tells),
        skip=skip, overlapping=overlapping,
    )
    return PathText(text, load_text(text, "advance", {}), tuple(names.leaves.values()), tuple(names.parts.values()))


def _move(automaton: Automaton, state: int, slots: Sequence[Slot], schema: Schema, names: _Names) -> list[str]:
    """What a run remembers after it moved into a state, from what it remembered before."""
    event = automaton.events[state]
    lines: list[str] = []
    for number, slot in enumerate(slots):
        changed = _new_value(slot, event.name, dict(event.updates))
        if changed is None:
            continue
        mine = slot.type if numpy_type(slot.type) is None or type_of(changed, schema) == slot.type else None
        value, valid = to_source(changed if mine is not None else Cast(changed, slot.type), schema, names.bind)
        assign = [f"if {valid or 'True'}:", f"    r{number}[new], q{number}[new] = {value}, 1", "else:",
                  f"    r{number}[new], q{number}[new] = r{number}[0], 2"]
        if slot.source.which == "first":
            assign = [f"if q{number}[place] == 0:", *(f"    {line}" for line in assign)]
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


_TEXT = '''\
import numpy as np
{imports}

def admits(state, row, place{reads}):
    """Whether an event that may lead to a state does so for this run, too."""
{admits}    return True


def move(state, row, place, new{reads}):
    """What a run remembers once this event has led it to a state."""
{copies}{moves}    return 0


def same(one, other{own}):
    """Whether two runs remember the same."""
    return {same}


def shown_before(one, begin, first, events{outs}, out_first, out_events):
    """Whether this event has shown such a match already."""
    other = one - 1
    while other >= begin and out_first[other] == first:
        if out_events[other] == events and {shown_same}:
            return True
        other -= 1
    return False


def show(done, place{own}{outs}):
{shows}    return 0


def advance(row, sync, group, satisfied, alone, within, first, last, follow, scalars, free, head, length, after, state,
            began, events, count, out_sync, out_end, out_group, out_first, out_events{reads}{outs}):
    done = 0
    while row < sync.shape[0]:
        mine, time, bits = group[row], sync[row], satisfied[row]
        most = (length[mine] + 1) * {states} + 1
        if done + most > out_sync.shape[0] or scalars[1] + (free.shape[0] - scalars[0]) < most:
            break
        old = head[mine]
        head[mine] = -1
        length[mine] = 0
        begin = done
        moved = False
        starting = False
        while True:
            if old < 0:  # runs that begin here come from the empty run, which is in place 0
                if starting or not alone[row] or (moved and not {overlapping}):
                    break
                starting = True
                place, options, start, number, following = 0, first & bits, time, 1, -1
            else:
                place, following = old, after[old]
                start, number = began[place], events[place] + 1
                timely = alone[row] and time < start + within
                options = follow[state[place]] & bits if timely else 0
            kept = False
            went = False
            for to in range({states}):
                if not (options >> to) & 1 or not admits(to, row, place{reads}):
                    continue
                went = True
                if scalars[1] > 0:
                    scalars[1] -= 1
                    new = free[scalars[1]]
                else:
                    new = scalars[0]
                    scalars[0] += 1
                move(to, row, place, new{reads})
                state[new], began[new], events[new] = to, start, number
                if (last >> to) & 1:
                    show(done, new{own}{outs})
                    if not shown_before(done, begin, start, number{outs}, out_first, out_events):
                        out_sync[done], out_end[done], out_group[done] = time, start + within, mine
                        out_first[done], out_events[done] = start, number
                        done += 1
                twin = head[mine]
                while twin >= 0 and began[twin] == start:
                    if state[twin] == to and events[twin] == number and same(twin, new{own}):
                        break
                    twin = after[twin]
                if follow[to] and (twin < 0 or began[twin] != start):
                    after[new] = head[mine]
                    head[mine] = new
                    length[mine] += 1
                else:
                    free[scalars[1]] = new
                    scalars[1] += 1
            if not starting:
                moved = moved or went
                if {skip} and timely and not went:
                    twin = head[mine]
                    while twin >= 0 and began[twin] == start:
                        if state[twin] == state[place] and events[twin] == number - 1 and same(twin, place{own}):
                            break
                        twin = after[twin]
                    if twin < 0 or began[twin] != start:
                        kept = True
                        after[place] = head[mine]
                        head[mine] = place
                        length[mine] += 1
                if not kept:
                    free[scalars[1]] = place
                    scalars[1] += 1
            old = following
        row += 1
    count[0] = done
    return row
'''
