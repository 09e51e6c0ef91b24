"""Fuse operators over periodic streams into one loop."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.operators import PeriodicLoop, RunningAggregate, TemporalColumns, TemporalSamples
from whimbrel.optimize.loop_limits import MAX_BEFORE, OutsideLoopError, is_row_by_row, is_worthwhile
from whimbrel.optimize.lower_to_steps import Lowering
from whimbrel.optimize.slot_spacing import SlotSpacing, spacings_below
from whimbrel.plan import Node, Operator, Source, walk
from whimbrel.temporal.bounds import slot_bounds
from whimbrel.temporal.loop_steps import Joined, PeriodicStep, in_order, ticks_of
from whimbrel.temporal.shared_windows import share_windows

_BY_POSITION = TemporalColumns, TemporalSamples, RunningAggregate
"""Operators that are fast without a loop over ticks."""

_MAX_SPARSE_REACH = 1 << 15
"""Twice the longest window, as the loop reads it, over points that need not be at every tick: it visits all ticks."""

_MAX_GAP, _MAX_GAP_OF_WINDOWS = 64, 8
"""Most ticks from one such point to the next, on average, for which a loop over all ticks is faster than operators that
visit the points only: with joins, and for windows alone."""

_FEW_ROWS, _RANGES = 4_096, 8
"""So few rows that their gaps do not matter. Into how many ranges others are cut to find their gaps."""


def fuse_periodic(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Replace the largest parts of plans that can run as a periodic loop and have a window or a join."""
    return _fuse(roots, {})


def loop_notes(roots: Sequence[Node]) -> list[str]:
    """For each operator over events that never overlap, but outside a loop, the reason."""
    reasons: dict[str, str] = {}
    _fuse(roots, reasons)
    return [f"{shown} is not in a periodic loop: {reason}" for shown, reason in reasons.items()]


def _fuse(roots: Sequence[Node], reasons: dict[str, str]) -> tuple[Node, ...]:
    spacings = spacings_below(roots)
    parts: dict[int, tuple[Operator | Source, Sequence[Node]]] = {}
    loops: dict[tuple[object, ...], PeriodicLoop] = {}

    def inputs(node: Node) -> Sequence[Node]:
        op, before = _fused(node, spacings[id(node)], reasons) or (node.op, node.inputs)
        if isinstance(op, PeriodicLoop):  # parts of the same operators have one loop
            op = loops.setdefault((op.period, op.lasts, op.causal, *_structure(node, before)), op)
        parts[id(node)] = op, before
        return before

    done: dict[int, Node] = {}
    for node in walk(roots, inputs):
        op, before = parts[id(node)]
        after = tuple(done[id(below)] for below in before)
        same = op is node.op and all(new is old for new, old in zip(after, before, strict=True))
        done[id(node)] = node if same else Node(op, after)
    return tuple(done[id(root)] for root in roots)


def _fused(node: Node, spacings: frozenset[SlotSpacing], reasons: dict[str, str]
           ) -> tuple[PeriodicLoop, list[Node]] | None:
    found: list[str] = []
    for spacing in sorted(spacings, reverse=True):  # the slowest first, as it has fewest places
        loop = Lowering(spacing)
        last = loop.step(node)
        if last is None or not is_worthwhile(in_order(last)):
            found += loop.reasons.get(id(node), ())
            continue
        last = share_windows(last)
        try:
            lasts = _lasting(loop, last)
        except OutsideLoopError as why:
            found.append(str(why))
            continue
        if lasts is None:
            continue
        shown = tuple(dict.fromkeys(loop.shown[::-1]))
        return PeriodicLoop(last=last, period=spacing.period, lasts=lasts, per=spacing.per, shown=shown,
                            causal=node.properties.causal, unit=node.schema.unit), loop.inputs
    if found and isinstance(node.op, Operator) and not isinstance(node.op, _BY_POSITION) and (
            found[0] not in reasons.values()):
        reasons[node.op.show()] = found[0]
    return None


def _structure(node: Node, inputs: Sequence[Node]) -> list[tuple[int, ...]]:
    """The operators of a part of a plan, and which of them reads which, whatever its inputs are."""
    numbers = {id(each): number for number, each in enumerate(inputs)}
    found: list[tuple[int, ...]] = []
    for each in walk((node,), lambda each: () if id(each) in numbers else each.inputs):
        if id(each) not in numbers:
            found.append((id(each.op), *(numbers[id(below)] for below in each.inputs)))
            numbers[id(each)] = len(numbers)
    return found


def _lasting(loop: Lowering, last: PeriodicStep) -> int | None:
    """How long events of a whole loop last at each place; None where they also change between places."""
    spacing = loop.spacing
    if loop.sparse and slot_bounds(last).span > _MAX_SPARSE_REACH:
        raise OutsideLoopError(f"its windows are longer than {_MAX_SPARSE_REACH // 2:,} ticks, and not every tick "
                               f"needs to have an event")
    if loop.sparse:
        joins, gap = any(isinstance(step, Joined) for step in in_order(last)), max(map(_gap, loop.inputs))
        if gap > (_MAX_GAP if joins else _MAX_GAP_OF_WINDOWS):
            raise OutsideLoopError(f"only one tick of about {gap:,} has an event, and a loop visits each tick")
    try:
        lasts = ticks_of(last, spacing.period)
    except ValueError as error:
        raise OutsideLoopError(str(error)) from error
    if lasts is not None and spacing.per and not is_row_by_row(last, lasts, spacing.period):
        raise OutsideLoopError(f"for each key a loop looks back at most {MAX_BEFORE} events, and never ahead")
    return lasts


def _gap(node: Node) -> int:
    """Ticks from one row to the next in the middle of each source, on average; 0 where that is not known."""
    known = ((source.rows, source.cuts(_RANGES)) for source in node.sources()
             if source.rows is not None and source.rows > _FEW_ROWS)
    return max((((cuts[-1] - cuts[0]) * _RANGES // (rows * (len(cuts) - 1))) for rows, cuts in known if len(cuts) > 1),
               default=0)
