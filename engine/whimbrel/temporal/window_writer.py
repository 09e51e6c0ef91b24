"""Write the loops of a periodic loop that compute windows into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from whimbrel.expr.overflow import can_overflow
from whimbrel.kernels.source_text import comment, indented
from whimbrel.plan import TwoPasses
from whimbrel.temporal.bounds import Needs, Shifted
from whimbrel.temporal.loop_module import LoopModule
from whimbrel.temporal.loop_steps import Adjacent, Slid, Windowed
from whimbrel.temporal.slot_code import Condition, SlotValue, slot
from whimbrel.temporal.step_writer import BOOL, StepWriter, WindowArrays
from whimbrel.temporal.window_algorithms import algebra_of, fresh_state, is_short, time_of
from whimbrel.temporal.window_functions import SlidingFold, initial_dtypes, shown

Guarded = tuple[tuple[Condition, ...], str]
"""A line, and what must be true, all of it, for it to run."""


def tumbling_loop(writer: StepWriter, step: Adjacent, key: Shifted, needs: Needs) -> list[str]:
    """The loop that computes tumbling windows."""
    module, loop = writer.module, writer.begin()
    given = writer.stream(step.inputs[0], key[1])
    number, starts, measures = module.number(), writer.starting(step, given), []
    maximum, width, phase = module.max_slots // step.width + 3, step.width, slot("base", step.offset + key[1])
    entering: list[Guarded] = []
    turned: list[str] = []
    emit = []
    nearer: list[Guarded] = []
    for measure in step.measures:
        names = module.aggregate(algebra := algebra_of(measure))
        measures.append(q := names.number)
        module.array(f"window{q}", measure.out_dtypes[0], maximum)
        if not measure.steps.always:
            module.array(f"known{q}", BOOL, maximum)
        value = writer.entering(measure, step, given, None if starts is None else Condition(f"started{number}"))
        told = comment(f"{measure.name}={measure.aggregate.show()}")
        line = f"state{q} = {names.accumulate}(state{q}, {value.text}{time_of(measure, 'at')})  {told}"
        entering.append((value.valid, line))
        state = f"state{q}"
        if isinstance(algebra, TwoPasses):
            state = f"about{q}"
            turned.append(f"about{q} = {names.turn}(state{q})")
            nearer.append((value.valid, f"about{q} = {names.again}(about{q}, {value.text})  {told}"))
        emit.append(shown(module, measure, names, state, f"window{q}", f"known{q}", "window"))
    fresh = [" = ".join([", ".join(f"state{q}" for q in measures),
                         ", ".join(fresh_state(algebra_of(measure)) for measure in step.measures)])]
    enter, again = _grouped(entering), _grouped(nearer)
    if starts is not None:
        module.array(f"some{number}", BOOL, maximum)
        fresh.append("some = False")
        enter = [f"started{number} = {starts.text}", f"some = some or started{number}", *enter]
        again = [f"started{number} = {starts.text}", *again]
        emit.append(f"some{number}[window] = some")
    writer.tumbled[key] = WindowArrays(number, tuple(measures), starts is not None)
    begun, over = slot("first", needs.back), slot("stop", -needs.forward)
    return [
        f"begin{number} = {begun} - ({phase} + {begun}) % {width}  {_window(step)}",
        f"for window in range(-((begin{number} - ({over})) // {width})):",
        *indented([f"begun{number} = begin{number} + window * {width}", *fresh,
                   *loop.over(f"begun{number}", f"begun{number} + {width}", enter), *turned,
                   *(loop.over(f"begun{number}", f"begun{number} + {width}", again) if turned else []), *emit])]


def sliding_loops(writer: StepWriter, step: Slid, needs: Needs) -> list[str]:
    """The loops that compute windows that slide, by place.

    The places are cut into blocks of `width`; a window is the rest of one block and the beginning of the next.
    The states of rests are computed when a block is complete, and merged with that of the beginning (van Herk,
    1992). No state is removed, which would round, and the result depends on the slots of the stream only.
    """
    module, loop = writer.module, writer.begin()
    given, number = writer.stream(step.inputs[0], 0), module.number()
    begin, first, stop = f"begin{number}", slot("first", needs.back), slot("stop", -needs.forward)
    starts, started = writer.starting(step, given), None
    before: list[str] = []
    after: list[str] = []
    measures: list[int] = []
    in_blocks = False
    if starts is not None:
        module.imports["window_turns"] = "whimbrel.kernels.primitives.windows.sliding_masks"
        array = _stored(module, starts, f"starts{number}", before)
        started = Condition(f"{array}[uintp(at)]", array)
        turned = [module.array_by_slot(f"{name}{number}", BOOL) for name in ("alive", "turns", "begins")]
        after.append(f"window_turns({array}, {first}, {stop}, {step.width}, {', '.join(turned)})")
    for measure in step.measures:
        short = is_short(step, measure)
        names = module.aggregate(algebra_of(measure)) if short else module.aggregate(measure.steps, merged=True)
        measures.append(q := names.number)
        value, counts = writer.entering(measure, step, given, started), None
        arrays = []
        if measure.aggregate.expr is not None:
            if value.array is None:
                may_fail = can_overflow(measure.aggregate.expr, step.inputs[0].schema)
                before.append(_held(module, value, f"held{q}", measure.value_dtypes[0], may_fail=may_fail))
            arrays.append(value.array or f"held{q}")
        if value.valid:
            counts = value.valid[0] if len(value.valid) == 1 else Condition(" and ".join(
                each.text for each in value.valid))
            arrays.append(_stored(module, counts, f"counts{q}", before))
        results = [module.array_by_slot(f"shown{q}", measure.out_dtypes[0])]
        results += [] if measure.steps.always else [module.array_by_slot(f"shown{q}_valid", BOOL)]
        fold = SlidingFold(measure, names, step.width, counts is not None)
        told = comment(f"{measure.name}={measure.aggregate.show()}")
        if short:
            after.append(f"{fold.one_by_one(module)}({', '.join([*arrays, first, stop, *results])})  {told}")
            continue
        in_blocks = True
        rests = [module.array(f"{name}{q}_{at}", dtype, step.width)
                 for name in ("rest", "left") for at, dtype in enumerate(initial_dtypes(measure))]
        times = ["time", "period"] if measure.steps.timed else []
        arguments = ", ".join([*arrays, begin, stop, str(step.width), *times, *rests, *results])
        after.append(f"{fold.by_blocks(module)}({arguments})  {told}")
    writer.slid[id(step)] = WindowArrays(number, tuple(measures), starts is not None)
    oldest = needs.back + step.width
    blocks = f"{begin} = first - {oldest} - (base + first - {oldest}) % {step.width}  {_window(step)}"
    return [*([blocks] if before or in_blocks else []), *(loop.over(begin, stop, before) if before else []), *after]


def _stored(module: LoopModule, condition: Condition, name: str, lines: list[str]) -> str:
    """The array of a condition by place: the one that it reads, or a new one that a further line writes."""
    if condition.array is not None:
        return condition.array
    lines.append(f"{module.array_by_slot(name, BOOL)}[uintp(at)] = {condition.text}")
    return name


def _held(module: LoopModule, value: SlotValue, name: str, dtype: np.dtype[Any], *, may_fail: bool) -> str:
    """The line that stores a value by place. What may fail is not computed where it does not count."""
    text = value.text
    if may_fail and value.valid:
        text = f"{text} if {' and '.join(each.text for each in value.valid)} else np.{dtype}(0)"
    return f"{module.array_by_slot(name, dtype)}[uintp(at)] = {text}"


def _window(step: Windowed) -> str:
    return comment(f"windows of {step.width}")


def _grouped(lines: Sequence[Guarded]) -> list[str]:
    """Lines under their conditions. Consecutive lines share a condition."""
    return [line for tests, group in groupby(lines, lambda each: each[0])
            for line in _when(tests, [line for _, line in group])]


def _when(tests: Sequence[Condition], lines: list[str]) -> list[str]:
    return [f"if {' and '.join(each.text for each in tests)}:", *indented(lines)] if tests else lines
