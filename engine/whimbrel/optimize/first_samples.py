"""First rows of sources, which decide the times of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whimbrel.operators import Select, Sync
from whimbrel.operators.rows.align_samples import AlignSamples
from whimbrel.operators.rows.block_samples import BlockSamples, block_duration
from whimbrel.plan import Node, OrderingSpec, Source


@dataclass(frozen=True)
class FirstRows:
    """What is known of the rows of a source.

    Parameters
    ----------
    earliest : int
        The time of its first row, in ticks.
    samples : int, optional
        Most samples of a block, if its rows are blocks.
    """

    earliest: int
    samples: int | None = None


def with_first_samples(plan: Node, find: Callable[[Source, Sequence[str]], FirstRows | None]) -> Node:
    """Set the time of sample 0 where it is the first row of a history.

    The result stays the same. It no longer depends on the first row, so the history can be cut into ranges of time.

    Parameters
    ----------
    plan : Node
    find : callable
        From a source and its columns of blocks to what is known of it; None if that is nothing.
    """
    if not has_first_samples(plan):
        return plan

    def known(node: Node) -> Node:
        if _begins_at_first_row(node):
            return _with_phase(node, find)
        return node if isinstance(node.op, Source) else _with_known_sampling(node)

    return plan.rewrite(known)


def has_first_samples(plan: Node) -> bool:
    """Whether a plan has samples that begin at the first row of a history, or blocks of unknown length."""
    return any(map(_begins_at_first_row, plan.walk()))


def first_rows(source: Source, blocks: Sequence[str] = ()) -> FirstRows | None:
    """What the statistics of a source say, without reading rows."""
    found = source.blocks(max(1, source.rows or 1))
    return FirstRows(int(found.earliest.min())) if found is not None and len(found) else None


def _begins_at_first_row(node: Node) -> bool:
    match node.op:
        case AlignSamples(phase=None, per=keys) if not keys:  # each key has a first row of its own
            pass
        case BlockSamples(phase=phase, block_ticks=ticks) if phase is None or ticks is None:
            pass
        case _:
            return False
    source = _rows_of(node)
    return (source is not None and not source.live and not source.edges
            and source.disorder in (OrderingSpec(), OrderingSpec(None)))


def _rows_of(node: Node) -> Source | None:
    """The source of an operator whose rows are all those of the source."""
    below = node.inputs[0]
    while isinstance(below.op, Select):
        below = below.inputs[0]
    return below.op if isinstance(below.op, Source) else None


def _with_phase(node: Node, find: Callable[[Source, Sequence[str]], FirstRows | None]) -> Node:
    source, op = _rows_of(node), node.op
    assert source is not None
    if isinstance(op, BlockSamples) and (rows := find(source, op.columns)) is not None:
        ticks = None if rows.samples is None else block_duration(op.period, rows.samples)
        phase = rows.earliest if op.phase is None else op.phase
        return Node(replace(op, phase=phase, block_ticks=op.block_ticks or ticks), node.inputs)
    if isinstance(op, AlignSamples) and (rows := find(source, ())) is not None:
        return Node(replace(op, phase=rows.earliest), node.inputs)
    return node


def _with_known_sampling(node: Node) -> Node:
    """The operator, with the time of sample 0 of its input."""
    op: Any = node.op
    sampling = getattr(op, "sampling", None)
    if sampling is None or sampling.phase is not None:
        return node
    known = node.inputs[-1 if isinstance(op, Sync) else 0].properties.sampling
    if known is None or known.phase is None:
        return node
    return Node(replace(op, sampling=replace(sampling, phase=known.phase)), node.inputs)
