"""Take a band's result from the band before, but near late rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whimbrel.operators import Assume, LatenessBand, Recompute, RecomputeRows, Select, TemporalColumns, Union
from whimbrel.plan import Node, Operator, Reach, Source, walk
from whimbrel.temporal.bounds import column_bounds
from whimbrel.temporal.parts import EventValue


def recompute_late(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Compute steps that say what late rows change only where these are.

    A step over a union of what an earlier band reads and of late rows has the same result as in the earlier band, but
    within its reach of late rows. Steps between add their reach. Columns of other events, directly over the union, are
    the same but for the events that read late rows. Roots follow each other in the order of latencies.
    """
    done: dict[int, Node] = {}
    found: dict[tuple[int, tuple[int, ...]], Node] = {}
    changed: dict[int, _Changed] = {}
    for node in walk(roots):
        made = node.over(tuple(done[id(below)] for below in node.inputs))
        found[_key(made)] = done[id(node)] = made
        known = _of_union(made) if isinstance(made.op, Union) else _of_step(made, changed, found)
        here = _by_row(made, changed, found) or (None if known is None else _by_range(made, changed, known))
        if here is not None:
            found[_key(made)] = done[id(node)] = here
        if known is not None:
            changed[id(done[id(node)])] = known
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
    return _Changed(earlier, late, Reach(longest=_longest_late(late))) if _is_late(late) else None


def _of_step(node: Node, changed: dict[int, _Changed], found: dict[tuple[int, tuple[int, ...]], Node]
             ) -> _Changed | None:
    """What follows for a step, if an earlier band has the same one."""
    if isinstance(node.op, Source) or len(node.inputs) != 1 or id(node.inputs[0]) not in changed:
        return None
    below = changed[id(node.inputs[0])]
    if below.reach.longest is None:
        return None
    earlier, reach = found.get((id(node.op), (id(below.earlier),))), node.op.reach(below.reach)
    if earlier is None or reach is None or reach.longest is None or reach.time_grid is not None:
        return None
    return _Changed(earlier, below.late, reach)


def _by_row(node: Node, changed: dict[int, _Changed], found: dict[tuple[int, tuple[int, ...]], Node]) -> Node | None:
    """The node that computes the events again which read late ones: columns, and those that they read, at once."""
    ops, rows = list[TemporalColumns](), node
    while isinstance(rows.op, TemporalColumns | RecomputeRows):
        below = [rows.op] if isinstance(rows.op, TemporalColumns) else rows.op.ops
        ops, rows = [*below, *ops], rows.inputs[0 if isinstance(rows.op, TemporalColumns) else 1]
    if not isinstance(node.op, TemporalColumns) or all(map(_is_cheap, ops)) or column_bounds(
            part for op in ops for part in op.parts).lookahead:
        return None
    steps, union = list[Node](), rows
    while isinstance(union.op, Assume | Select):  # all rows, in the same order
        steps.insert(0, union)
        union, = union.inputs
    if not isinstance(union.op, Union) or id(union) not in changed:
        return None
    earlier: Node | None = changed[id(union)].earlier
    for op in [*(step.op for step in steps), *ops]:
        earlier = None if earlier is None else found.get((id(op), (id(earlier),)))
    late = changed[id(union)].late
    return None if earlier is None else Node(RecomputeRows(ops=tuple(ops)), (earlier, rows, late))


def _is_cheap(op: TemporalColumns) -> bool:
    """Whether columns are slices of others: to find what changed takes longer than to compute all of it."""
    return not op.keys and all(isinstance(part.of, EventValue) and not part.lag for part in op.parts)


def _by_range(node: Node, changed: dict[int, _Changed], known: _Changed) -> Node | None:
    """The node that computes ranges of time around late rows again."""
    if not isinstance(node.op, Operator) or node.op.late_rows_change is None:
        return None
    rows, = node.inputs
    own = node.op.reach(Reach(longest=changed[id(rows)].reach.longest))
    assert own is not None
    return Node(Recompute(op=node.op, own=own, changes=known.reach), (known.earlier, rows, known.late))


def _is_late(node: Node) -> bool:
    """Whether a node has the late rows of a band, and nothing else."""
    *steps, first = _chain(node)
    bands = [step.op for step in steps if isinstance(step.op, LatenessBand)]
    return isinstance(first.op, Source) and len(bands) > 0 and bands[0].over >= 0


def _longest_late(late: Node) -> int | None:
    """Most ticks that late rows last; None if nobody knows."""
    *steps, first = _chain(late)
    reach: Reach | None = Reach(longest=first.op.longest if isinstance(first.op, Source) else None)
    for step in reversed(steps):
        if reach is not None and isinstance(step.op, Operator) and not isinstance(step.op, LatenessBand):
            reach = step.op.reach(reach)
    return None if reach is None or reach.time_grid is not None else reach.longest


def _chain(node: Node) -> list[Node]:
    """The nodes from this one up to the first that has not one input."""
    nodes = [node]
    while len(nodes[-1].inputs) == 1:
        nodes.append(nodes[-1].inputs[0])
    return nodes
