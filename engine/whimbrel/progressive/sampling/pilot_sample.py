"""Draw a pilot sample from all blocks of a source in memory.

The sample has all outliers. Each block is evaluated as if it were a time of its own, so one run of the query's kernels
gives the states of all blocks. The rows of the pilot sample do not depend on the order in which blocks are read.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from whimbrel.batch import Batch, Ticks, frozen
from whimbrel.clock import INF
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Col, Expr, columns_of, evaluate
from whimbrel.kernels import KeyTable
from whimbrel.operators import GroupAggregate
from whimbrel.plan import Blocks, Operator, reads_lifetime
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.block_states import BlockStates
from whimbrel.progressive.sampling.in_memory_source import InMemorySource

Array = np.ndarray[Any, Any]

EVEN, ODD, FAR = range(3)
KINDS = 3
"""Kinds of rows of the pilot sample: two halves of the ordinary rows, and outliers."""
_LOOKED_AT = 1 << 17
"""The target number of rows."""
_MIN_EVERY, _MAX_EVERY = 2, 16
"""One of this many ordinary rows is in the sample."""
_FAR_OUT = 0.02
"""The fraction of the rows in each tail that counts as outliers."""
_MANY = 1 << 20
"""With more rows than this, the fraction of outliers decreases."""
_RARE = 8
"""All rows of groups with fewer sampled rows are in the sample."""
_COMPUTED = 1 << 22
"""The largest number of rows for which inputs of aggregates, and groups, are computed for all rows."""


class PilotSample(NamedTuple):
    """States of the sampled rows of each block.

    Attributes
    ----------
    states : Batch
        By pane and group of a block, with the times of panes.
    blocks : numpy.ndarray of int64
        The block of each state.
    kinds : numpy.ndarray of int64
        The kind of its rows: even or odd position, or outliers.
    weights : numpy.ndarray of int64
        The number of rows that each of its rows represents.
    every : int
        One of this many ordinary rows is in the sample.
    rows : numpy.ndarray of int64
        By block, the number of rows that the sampled rows represent: about all.
    far : numpy.ndarray of int64
        By block, the number of outliers.
    """

    states: Batch
    blocks: Ticks
    kinds: Ticks
    weights: Ticks
    every: int
    rows: Ticks
    far: Ticks


def draw_pilot(split: SplitQuery, states: BlockStates, blocks: Blocks) -> PilotSample | None:
    """Draw rows from all blocks; None if the source is not in memory, or result rows depend on several rows."""
    source, cuts = states.source, split.cuts
    if not source.in_memory or cuts is None or not split.one_each or _reads_lifetimes(split):
        return None
    first, last = ((int(time) - cuts.offset) // cuts.hop for time in (blocks.earliest.min(), blocks.latest.max()))
    span = last - first + 1
    if KINDS * len(blocks) * span * cuts.hop >= INF // 2:
        return None
    rows = int(blocks.rows.sum())
    every = min(max(rows // _LOOKED_AT, _MIN_EVERY), _MAX_EVERY)
    places, kinds, chosen = _chosen(split, states, rows, every)
    # Times that encode the block, the kind of its rows, and the pane.
    which = np.searchsorted(blocks.stop, places, "right")
    numbers = (KINDS * which + kinds) * span
    numbers += (chosen.sync - cuts.offset) // cuts.hop - first
    order = np.argsort(numbers, kind="stable")
    copy = states.of_same_rows()
    copy.source = InMemorySource.of(states.source, Batch(
        chosen.schema, frozen(numbers[order] * cuts.hop + cuts.offset), 1,
        tuple(column.take(order) for column in chosen.columns)))
    copy.read((0, len(order)), ())
    found = copy.take()
    offset, late = split.window.offset, int(split.window.label == "end")
    numbers = (found.sync - offset) // cuts.hop - late
    sync = (numbers % span + first + late) * cuts.hop + offset
    stand_for = np.bincount(which, np.where(kinds == FAR, 1, every), len(blocks)).astype(np.int64)
    far = np.bincount(which[kinds == FAR], minlength=len(blocks))
    kinds = numbers // span % KINDS
    return PilotSample(found.having(sync=frozen(sync)), numbers // span // KINDS, kinds,
                       np.where(kinds == FAR, 1, every), every, stand_for, far)


def _reads_lifetimes(split: SplitQuery) -> bool:
    return any(reads_lifetime(node.op) for node in split.states.walk() if isinstance(node.op, Operator))


def _chosen(split: SplitQuery, states: BlockStates, rows: int, every: int) -> tuple[Ticks, Ticks, Batch]:
    """The sampled rows: their indexes, their kinds and the rows themselves."""
    steps = np.arange(0, rows, every)
    places = steps + np.random.default_rng(0).integers(0, every, len(steps))
    places = places[places < rows]
    batches = [batch for batch in states.source.read(states.columns) if batch is not None]
    parts = list(itertools.pairwise(np.cumsum([0, *map(len, batches)]).tolist()))
    far = np.zeros(rows, np.bool_)
    groups = _groups(split, batches, rows)
    count = 1 if groups is None else int(groups.max()) + 1
    seen_of = np.zeros(len(places), np.int32) if groups is None else groups[places]
    if groups is not None:
        rare = (np.bincount(seen_of, minlength=count) < _RARE)[groups]
        if rare.sum() <= _FAR_OUT * rows:  # they are rare in the whole log, too
            far |= rare
    for expr in _inputs(split, rows):
        columns = [_numbers(expr, batch) for batch in batches]
        numbers = [column for column in columns if column is not None]
        if len(numbers) == len(batches):
            seen = np.concatenate([column[_within(places, *part)] for column, part in zip(numbers, parts, strict=True)])
            low, high = _limits(seen, seen_of, count, _FAR_OUT * min(1.0, _MANY / rows))
            for column, (first, stop) in zip(numbers, parts, strict=True):
                mine: Any = 0 if groups is None else groups[first:stop]
                far[first:stop] |= (column < low[mine]) | (column > high[mine])
    beyond = np.flatnonzero(far)
    places = places[~far[places]]
    chosen = np.concatenate([places, beyond])
    order = np.argsort(chosen, kind="stable")
    kinds = np.append(places // every % 2, np.full(len(beyond), FAR))
    chosen, kinds = chosen[order], kinds[order]
    taken = [batch.take(_within(chosen, *part)) for batch, part in zip(batches, parts, strict=True)]
    return chosen, kinds, Batch.concat(taken)


def _within(places: Ticks, first: int, stop: int) -> Ticks:
    """The indexes within a part, relative to its first row."""
    begin, end = np.searchsorted(places, [first, stop])
    return places[begin:end] - first


def _limits(seen: Array, groups: Array, count: int, far_out: float) -> tuple[Array, Array]:
    """The limits of ordinary numbers by group; in a group without sampled rows, all rows are outliers."""
    there = ~np.isnan(seen) if seen.dtype.kind == "f" else np.ones(len(seen), np.bool_)
    seen, groups = seen[there], groups[there]
    if count == 1 and len(seen):
        outside = int(far_out * (len(seen) - 1))
        both = [outside, len(seen) - 1 - outside]
        low, high = np.partition(seen, both)[both].reshape(2, 1)
        return low, high
    order = np.lexsort((seen, groups))
    ends = np.cumsum(np.bincount(groups, minlength=count))
    first, last = np.append(0, ends[:-1]), ends - 1
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    known = np.flatnonzero(last >= first)
    beyond = (far_out * (last[known] - first[known])).astype(np.int64)
    low[known], high[known] = seen[order[first[known] + beyond]], seen[order[last[known] - beyond]]
    return low, high


def _groups(split: SplitQuery, batches: Sequence[Batch], rows: int) -> Array | None:
    """The index of the group of each row; None if there is one group, or too many rows."""
    op = split.plan.op
    assert isinstance(op, GroupAggregate)
    names = [expr.name for _, expr in op.keys if isinstance(expr, Col)]
    if rows > _COMPUTED or not op.keys or len(names) < len(op.keys):
        return None
    keys = KeyTable([batches[0].column(name).type for name in names])
    return np.concatenate([keys.ids([batch.column(name) for name in names], len(batch)) for batch in batches])


def _inputs(split: SplitQuery, rows: int) -> list[Expr]:
    """The inputs of aggregates that are checked for outliers; with many rows, columns only."""
    op = split.plan.op
    assert isinstance(op, GroupAggregate)
    exprs = [aggregate.expr for _, aggregate in op.measures if aggregate.expr is not None]
    found = {expr.show(): expr for expr in exprs if isinstance(expr, Col) or (columns_of(expr) and rows <= _COMPUTED)}
    return list(found.values())


def _numbers(expr: Expr, batch: Batch) -> Array | None:
    """The values of an expression for all rows, NaN for null; None if they are not numbers or fail."""
    try:
        column = evaluate(expr, batch)
    except WhimbrelError:  # perhaps for rows that the query filters out
        return None
    if not column.fixed or column.values.dtype.kind not in "iuf":
        return None
    values = np.asarray(column.values)
    return values if column.valid is None else np.where(column.valid, values, np.nan)
