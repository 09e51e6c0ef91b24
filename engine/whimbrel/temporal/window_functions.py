"""Generate functions that slide windows over arrays by slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.kernels.source_text import indented
from whimbrel.plan import TwoPasses
from whimbrel.plan.typed_aggregate import TypedAggregate
from whimbrel.temporal.loop_module import FunctionNames, LoopModule
from whimbrel.temporal.window_algorithms import algebra_of, fresh_state, time_of


@dataclass(frozen=True)
class SlidingFold:
    """An aggregate of windows that slide.

    Parameters
    ----------
    measure : TypedAggregate
    names : FunctionNames
    width : int
        Places of a window.
    counted : bool
        Whether an array says which values count.
    """

    measure: TypedAggregate
    names: FunctionNames
    width: int
    counted: bool

    @property
    def _alike(self) -> tuple[Any, ...]:
        """What the text of its functions depends on, but the width."""
        steps, names = self.measure.steps, self.names
        functions = names.accumulate, names.result, names.merge, names.turn, names.again
        return (functions, self._valued, self.counted, steps.timed, steps.always, str(self.measure.value_dtypes[0]),
                fresh_state(algebra_of(self.measure)))

    @property
    def _valued(self) -> bool:
        return self.measure.aggregate.expr is not None

    @property
    def _given(self) -> list[str]:
        return [*(["values"] if self._valued else []), *(["counts"] if self.counted else [])]

    @property
    def _written(self) -> list[str]:
        return ["out", *([] if self.measure.steps.always else ["valid"])]

    def _value(self, slot: str) -> str:
        return f"np.{self.measure.value_dtypes[0]}(values[uintp({slot})])" if self._valued else "1"

    def by_blocks(self, module: LoopModule) -> str:
        """The name of the function that slides windows by blocks of their width (van Herk, 1992)."""
        return module.define(("blocks", *self._alike), f"slide{self.names.number}", lambda: self._blocks(module))

    def one_by_one(self, module: LoopModule) -> str:
        """The name of the function that recomputes each window.

        Windows do not depend on each other, so SIMD instructions compute several at once.
        """
        return module.define(("each", self.width, *self._alike), f"slide{self.names.number}",
                             lambda: self._each(module))

    def _blocks(self, module: LoopModule) -> list[str]:
        measure, fresh = self.measure, fresh_state(self.measure.steps)
        rests, lefts = ([f"{name}{at}" for at in range(len(measure.steps.init))] for name in ("rest", "left"))
        merge, fields = self.names.merge, "".join(f"{name}[uintp(at - block + 1)], " for name in rests).strip()
        head = [*self._given, "begin", "stop", "width", *(["time", "period"] if measure.steps.timed else []),
                *rests, *lefts, *self._written]
        whole = f"{merge}(({fields}), state) if at - block + 1 < width else state"

        def entering(state: str, slot: str, begun: str, into: str) -> list[str]:
            text = into.format(f"{self.names.accumulate}({begun}, {self._value(slot)}{time_of(measure, slot)})")
            if not self.counted:
                return [f"{state} = {text}"]
            if self.names.user_defined:  # it may fail where nothing is
                return [f"{state} = {text} if counts[uintp({slot})] else {state}"]
            return [f"moved = {text}", f"{state} = moved if counts[uintp({slot})] else {state}"]  # so it needs no jump

        inner = [
            *entering("state", "at", "state", "{}"),
            "if block > begin:",
            f"    {shown(module, measure, self.names, whole, 'out', 'valid', 'uintp(at)')}",
            "back = block + end - 1 - at  # what is left of the block, and slides out with the next",
            *entering("left", "back", fresh, f"{merge}({{}}, left)"),
            f"{' '.join(f'{name}[uintp(back - block)],' for name in lefts)} = left"]
        return [
            ", ".join(head),
            "for block in range(begin, stop, width):",
            f"    end, state, left = min(block + width, stop), {fresh}, {fresh}",
            "    for at in range(block, end):  # from both sides at once: neither waits for the other",
            *indented(inner, 2),
            f"    {', '.join([*rests, *lefts])} = {', '.join([*lefts, *rests])}"]

    def _each(self, module: LoopModule) -> list[str]:
        algebra, names = algebra_of(self.measure), self.names

        def through(state: str, function: str | None, begun: str) -> list[str]:
            text = f"{function}({state}, {self._value('at - back')})"
            lines = [f"next_{state} = {text}", f"{state} = next_{state} if counts[uintp(at - back)] else {state}"]
            return [f"{state} = {begun}", f"for back in range({self.width - 1}, -1, -1):",
                    *indented(lines if self.counted else [f"{state} = {text}"])]

        passes, last = through("state", names.accumulate, fresh_state(algebra)), "state"
        if isinstance(algebra, TwoPasses):
            passes, last = [*passes, *through("about", names.again, f"{names.turn}(state)")], "about"
        return [", ".join([*self._given, "first", "stop", *self._written]), "for at in range(first, stop):",
                *indented(passes),
                f"    {shown(module, self.measure, names, last, 'out', 'valid', 'uintp(at)')}"]


def shown(module: LoopModule, measure: TypedAggregate, names: FunctionNames, state: str, out: str, valid: str,
          slot: str) -> str:
    """The line that writes the value of a state, and whether it has one."""
    value = f"{names.result}({state})"
    if measure.steps.always:
        return f"{out}[{slot}] = {value}"
    module.imports["show"] = "whimbrel.kernels.primitives.aggregation.write_value"
    return f"{valid}[{slot}] = show({value}, {out}, {slot})"


def initial_dtypes(measure: TypedAggregate) -> list[np.dtype[Any]]:
    """Types of the fields of a state."""
    return [np.asarray(initial).dtype for initial in measure.steps.init]
