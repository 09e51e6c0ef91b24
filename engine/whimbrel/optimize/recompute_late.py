"""Take a band's result from the band before, but near late rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whimbrel.operators import LatenessBand, Recompute, Union
from whimbrel.plan import Node, Operator, Reach, Source, walk


def recompute_late(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Compute steps that say what late rows change only where these are.

    A step over a union of what an earlier band reads and of late rows has the same result as in the earlier band, but
    within its reach of late rows. Steps between add their reach. Roots follow each other in the order of latencies.
    """
    done: dict[int, Node] = {}
    found: dict[tuple[int, tuple[int, ...]], Node] = {}
    changed: dict[int, _Changed] = {}
    for node in walk(roots):
        made = node.over(tuple(done[id(below)] for below in node.inputs))
        found[_key(made)] = done[id(node)] = made
        known = _of_union(made) if isinstance(made.op, Union) else _of_step(made, changed, found)
        if known is not None:
            if isinstance(made.op, Operator) and made.op.late_rows_change is not None:
                rows, = made.inputs
                own = made.op.reach(Reach(longest=changed[id(rows)].reach.longest))
                assert own is not None
                recomputed = Recompute(op=made.op, own=own, changes=known.reach)
                done[id(node)] = Node(recomputed, (known.earlier, rows, known.late))
            changed[id(done[id(node)])] = known
            found[_key(made)] = done[id(node)]
    return tuple(done[id(root)] for root in roots)


@dataclass(frozen=True)
class _Changed:
    """A node of a band is as one of an earlier band, but within reach of late rows."""

    earlier: Node
    late: Node
    reach: Reach


def _key(node: Node) -> tuple[int, tuple[int, ...]]:
    return id(node.op), tuple(map(id, node.inputs))


def _of_union(node: Node) -> _Changed | None:
    """What the rows of an earlier band and its late rows are together."""
    if len(node.inputs) != 2:
        return None
    earlier, late = node.inputs
    longest = _longest_late(late)
    return None if longest is None else _Changed(earlier, late, Reach(longest=longest))


def _of_step(node: Node, changed: dict[int, _Changed], found: dict[tuple[int, tuple[int, ...]], Node]
             ) -> _Changed | None:
    """What follows for a step, if an earlier band has the same one."""
    if isinstance(node.op, Source) or len(node.inputs) != 1 or id(node.inputs[0]) not in changed:
        return None
    below = changed[id(node.inputs[0])]
    earlier, reach = found.get((id(node.op), (id(below.earlier),))), node.op.reach(below.reach)
    if earlier is None or reach is None or reach.longest is None or reach.time_grid is not None:
        return None
    return _Changed(earlier, below.late, reach)


def _longest_late(late: Node) -> int | None:
    """Most ticks that late rows last; None if the node is something else, or nobody knows."""
    steps: list[Operator] = []
    while isinstance(late.op, Operator) and len(late.inputs) == 1:
        steps.append(late.op)
        late, = late.inputs
    bands = [step for step in steps if isinstance(step, LatenessBand)]
    if not isinstance(late.op, Source) or not bands or bands[0].over < 0:
        return None
    reach: Reach | None = Reach(longest=late.op.longest)
    for step in reversed(steps):
        if reach is not None and not isinstance(step, LatenessBand):
            reach = step.reach(reach)
    return None if reach is None or reach.time_grid is not None else reach.longest
