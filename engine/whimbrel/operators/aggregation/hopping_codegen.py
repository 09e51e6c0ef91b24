"""Generate the loop of hopping windows over the states of their panes."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.kernels import Compiled, load_text
from whimbrel.kernels.source_text import comment
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.plan.aggregate_source import SHOW, Functions, bind_steps, literals, stored, tuple_of

_CURSOR = "FIRST, FREE, FULL, NEXT, NOW, READ, SHOWING, SHOWN, TURNED, USED"


def hop_function(measures: Sequence[ScalarAccumulator]) -> Compiled:
    """The loop that lets panes enter, shows what windows hold, and lets panes leave."""
    imports: list[str] = []
    functions: Functions = {}
    for number, measure in enumerate(measures):
        lines, given = bind_steps(measure.steps, str(number), ("merge", "result"))
        imports += lines
        functions |= given
    of = _States(measures)
    parameters = [
        "row, sync, group, limit, size, hop, offset, at, names, seat_of, group_of, name_of, rows_of, front, free",
        "when, seat_at, after",
        *(name for array in ("value", "state", "old", "held") for name in of.names(array)), "out_sync, out_name",
        *(f"{', '.join(of.outs(number))}, out{number}_valid" for number in range(len(measures)))]
    text = "\n".join([
        comment(f"Windows that hop: {', '.join(f'{each.name}={each.aggregate.show()}' for each in measures)}"),
        "",
        "import numpy as np",
        *imports,
        f"from whimbrel.kernels.primitives.windows.hopping_windows import {_CURSOR}, close_up",
        SHOW,
        "from whimbrel.kernels.primitives.hashing.prefetch import prefetch",
        "from whimbrel.kernels.primitives.hashing.hash_table import SOON, index",
        "",
        "",
        f"def hop({', '.join(parameters)}):",
        "    mask, done, full, now, first, next_ = when.shape[0] - 1, 0, False, at[NOW], at[FIRST], at[NEXT]",
        "    used, spare, named = at[USED], at[FREE], names.shape[0] > 0",
        "    while not full:",
        "        if not at[SHOWING]:",
        "            if first == next_:  # the window is empty: time goes on with the next row",
        "                if row == sync.shape[0]:",
        "                    break",
        "                now = sync[row]",
        "            while row < sync.shape[0] and sync[row] == now:  # a pane enters",
        "                soon = index(group[min(row + SOON, sync.shape[0] - 1)])",
        "                prefetch(seat_of, soon), prefetch(names, soon)",
        "                mine, slot = index(group[row]), next_ & mask",
        "                if seat_of[mine] < 0:",
        "                    seat = index(free[spare - 1] if spare > 0 else used)",
        "                    used, spare = used + (spare == 0), max(spare - 1, 0)",
        "                    seat_of[mine], group_of[seat], name_of[seat] = seat, mine, names[mine] if named else mine",
        "                seat = index(seat_of[mine])",
        "                when[slot], seat_at[slot], rows_of[seat] = now, seat, rows_of[seat] + 1",
        *_inner(of.set("held", "slot", "value", "row"), 4),
        *_inner(of.merge("state", "seat", ("state", "seat"), ("value", "row")), 4),
        "                row, next_ = row + 1, next_ + 1",
        "            if row == sync.shape[0] and now >= limit:",
        "                break",
        "            at[SHOWING], at[READ] = True, 0",
        "        stop = min(used, at[READ] + out_sync.shape[0] - done)",
        "        for slot in range(at[READ], stop):  # the window is shown",
        "            seat = index(slot)",
        "            if rows_of[seat] > 0:",
        "                out_sync[done], out_name[done] = now, name_of[seat]",
        *_inner(of.show(), 4),
        "                done += 1",
        "        at[READ], full = stop, stop < used",
        "        if full:",
        "            break",
        "        now, at[SHOWING] = now + hop, False",
        "        if (now - offset) % size == 0:  # the block is full: each row has what comes of it and all behind it",
        "            for number in range(next_ - 1, at[TURNED] - 1, -1):",
        "                slot = number & mask",
        "                seat = index(seat_at[slot])",
        "                after[slot], front[seat] = front[seat], slot",
        "                if after[slot] >= 0:",
        "                    later = index(after[slot])",
        *_inner(of.merge("held", "slot", ("held", "slot"), ("held", "later")), 5),
        "            for seat in range(used):",
        *_inner(of.clear("seat", "state", "old"), 4),
        "            used, spare = close_up(used, spare, seat_of, group_of, name_of, rows_of, front, seat_at, after)",
        "            for seat in range(used):",
        "                if front[seat] >= 0:",
        *_inner(of.set("old", "seat", "held", "front[seat]"), 5),
        "            at[TURNED] = next_",
        "        while first < at[TURNED] and when[first & mask] + size <= now:  # a pane leaves",
        "            slot, first = first & mask, first + 1",
        "            soon = index(seat_at[first + SOON & mask])",
        f"            {of.ask('soon', 'rows_of', 'front')}",
        "            seat = index(seat_at[slot])",
        "            rows_of[seat], front[seat] = rows_of[seat] - 1, after[slot]",
        "            if after[slot] >= 0:",
        *_inner(of.set("old", "seat", "held", "index(after[slot])"), 4),
        "            else:",
        *_inner(of.clear("seat", "old"), 4),
        "            if rows_of[seat] == 0:",
        "                seat_of[index(group_of[seat])], free[spare], spare = -1, seat, spare + 1",
        "        full = 8 * done > out_sync.shape[0]  # what is shown together is of one time, if it is much",
        ("    at[NOW], at[FIRST], at[NEXT], at[USED], at[FREE], at[SHOWN], at[FULL] = "
         "now, first, next_, used, spare, done, full"),
        "    return row",
        "",
    ])
    return load_text(text, "hop", functions)


class _States:
    """Lines over the states of all aggregates, which lie in arrays that are named for what they hold."""

    def __init__(self, measures: Sequence[ScalarAccumulator]) -> None:
        self.steps = [measure.steps for measure in measures]

    def names(self, array: str) -> list[str]:
        return [f"{array}{number}_{field}" for number, steps in enumerate(self.steps)
                for field in range(len(steps.init))]

    def ask(self, slot: str, *arrays: str) -> str:
        return ", ".join(f"prefetch({array}, {slot})" for array in (*arrays, *self.names("old")))

    def set(self, to: str, slot: str, array: str, source: str) -> list[str]:
        return [f"{self._all(to, slot)} = {self._all(array, source)}" if self.steps else "pass"]

    def clear(self, slot: str, *arrays: str) -> list[str]:
        emptied = ", ".join(self._all(array, slot) for array in arrays)
        return [f"{emptied} = {', '.join(map(literals, self.steps * len(arrays)))}" if self.steps else "pass"]

    def merge(self, to: str, slot: str, left: tuple[str, str], right: tuple[str, str]) -> list[str]:
        return [stored(f"{to}{number}_", slot, range(len(steps.init)), self._both(number, left, right))
                for number, steps in enumerate(self.steps)]

    def show(self) -> list[str]:
        lines = []
        for number, steps in enumerate(self.steps):
            both = self._both(number, ("old", "seat"), ("state", "seat"))
            if steps.columns is not None:
                shown = ", ".join(f"{name}[done]" for name in self.outs(number))
                lines += [f"{shown} = {both}", f"out{number}_valid[done] = True"]
            else:
                lines.append(f"out{number}_valid[done] = show(result{number}({both}), out{number}, done)")
        return lines

    def outs(self, number: int) -> list[str]:
        """Where the value of one aggregate is written, or its state, of which a column is made later."""
        steps = self.steps[number]
        return [f"out{number}"] if steps.columns is None else [
            f"out{number}_{field}" for field in range(len(steps.init))]

    def _all(self, array: str, slot: str) -> str:
        return ", ".join(f"{name}[{slot}]" for name in self.names(array))

    def _both(self, number: int, left: tuple[str, str], right: tuple[str, str]) -> str:
        fields = range(len(self.steps[number].init))
        states = (tuple_of(f"{array}{number}_", slot, fields) for array, slot in (left, right))
        return f"merge{number}({', '.join(states)})"


def _inner(lines: Sequence[str], levels: int) -> list[str]:
    return ["    " * levels + line for line in lines]
