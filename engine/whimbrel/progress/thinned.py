"""A look at rows of all blocks of a source in memory: one of some, and all that lie far out, in one pass.

Rows of a block are answered as if each block was a time of its own, so that one run of the query's own kernels gives
the states of all blocks. Which rows are looked at does not depend on the order in which blocks are read.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from whimbrel.batch import Batch, Ticks, frozen
from whimbrel.clock import INF
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Col, Expr, columns_of, evaluate
from whimbrel.operators import GroupAggregate
from whimbrel.plan import Blocks, Operator, reads_lifetime
from whimbrel.progress.division import Division
from whimbrel.progress.held import Held
from whimbrel.progress.states import BlockStates

Array = np.ndarray[Any, Any]

_LOOKED_AT = 1 << 17
"""Rows that are enough."""
_FEWEST, _MOST = 4, 16
"""Of so many rows one is looked at."""
_FAR_OUT = 0.002
"""Of the rows that are looked at, how many are beyond each end of what is not far out."""
_COMPUTED = 1 << 22
"""Rows up to which what aggregates read is computed of all of them."""


class Thinned(NamedTuple):
    """States of some rows of each block.

    Attributes
    ----------
    states : Batch
        By pane and group of a block, with the times of panes.
    blocks : numpy.ndarray of int64
        Of each, the block.
    weights : numpy.ndarray of int64
        Rows that each of its rows stands for.
    """

    states: Batch
    blocks: Ticks
    weights: Ticks


def thinned(division: Division, states: BlockStates, blocks: Blocks) -> Thinned | None:
    """Look at rows of all blocks; None where rows do not lie in memory, or each is not answered for itself."""
    source, cuts = states.source, division.cuts
    if not source.in_memory or cuts is None or not division.one_each or _reads_lifetimes(division):
        return None
    first, last = ((int(time) - cuts.offset) // cuts.hop for time in (blocks.earliest.min(), blocks.latest.max()))
    span = last - first + 1
    if 2 * len(blocks) * span * cuts.hop >= INF // 2:
        return None
    rows = int(blocks.rows.sum())
    every = min(max(rows // _LOOKED_AT, _FEWEST), _MOST)
    places, far, chosen = _chosen(division, states, rows, every)
    # Times that tell the block, whether its rows are far out, and the pane.
    numbers = (2 * np.searchsorted(blocks.stop, places, "right") + far) * span
    numbers += (chosen.sync - cuts.offset) // cuts.hop - first
    order = np.argsort(numbers, kind="stable")
    twin = BlockStates(division.plan)
    twin.source = Held.of(states.source, Batch(
        chosen.schema, frozen(numbers[order] * cuts.hop + cuts.offset), 1,
        tuple(column.take(order) for column in chosen.columns)))
    twin.read((0, len(order)), ())
    found = twin.take()
    offset, late = division.window.offset, int(division.window.label == "end")
    numbers = (found.sync - offset) // cuts.hop - late
    sync = (numbers % span + first + late) * cuts.hop + offset
    return Thinned(found.having(sync=frozen(sync)), numbers // span // 2, np.where(numbers // span % 2, 1, every))


def _reads_lifetimes(division: Division) -> bool:
    return any(reads_lifetime(node.op) for node in division.states.walk() if isinstance(node.op, Operator))


def _chosen(division: Division, states: BlockStates, rows: int, every: int) -> tuple[Ticks, Ticks, Batch]:
    """One of so many rows, and all that lie far out: their places, which are far out (1), and the rows themselves."""
    steps = np.arange(0, rows, every)
    places = steps + np.random.default_rng(0).integers(0, every, len(steps))
    places = places[places < rows]
    batches = [batch for batch in states.source.read(states.columns) if batch is not None]
    parts = list(itertools.pairwise(np.cumsum([0, *map(len, batches)]).tolist()))
    far = np.zeros(rows, np.bool_)
    for expr in _inputs(division, rows):
        columns = [_numbers(expr, batch) for batch in batches]
        numbers = [column for column in columns if column is not None]
        if len(numbers) == len(batches):
            seen = np.concatenate([column[_within(places, *part)] for column, part in zip(numbers, parts, strict=True)])
            low, high = _limits(seen)
            for column, (first, stop) in zip(numbers, parts, strict=True):
                far[first:stop] |= (column < low) | (column > high)
    beyond = np.flatnonzero(far)
    places = places[~far[places]]
    chosen = np.concatenate([places, beyond])
    order = np.argsort(chosen, kind="stable")
    chosen, is_far = chosen[order], np.repeat([0, 1], [len(places), len(beyond)])[order]
    taken = [batch.take(_within(chosen, *part)) for batch, part in zip(batches, parts, strict=True)]
    return chosen, is_far, Batch.concat(taken)


def _within(places: Ticks, first: int, stop: int) -> Ticks:
    """Those of a part, counted from its first row."""
    begin, end = np.searchsorted(places, [first, stop])
    return places[begin:end] - first


def _limits(seen: Array) -> tuple[float, float]:
    """Between what most of some numbers lie."""
    if seen.dtype.kind == "f":
        seen = seen[~np.isnan(seen)]
    if not len(seen):
        return -np.inf, np.inf
    ends = int(_FAR_OUT * (len(seen) - 1)), int(np.ceil((1 - _FAR_OUT) * (len(seen) - 1)))
    low, high = np.partition(seen, ends)[[*ends]].tolist()
    return low, high


def _inputs(division: Division, rows: int) -> list[Expr]:
    """What aggregates read, of which it is looked how far out it lies; of many rows only columns as they are."""
    op = division.plan.op
    assert isinstance(op, GroupAggregate)
    exprs = [aggregate.expr for _, aggregate in op.measures if aggregate.expr is not None]
    found = {expr.show(): expr for expr in exprs if isinstance(expr, Col) or (columns_of(expr) and rows <= _COMPUTED)}
    return list(found.values())


def _numbers(expr: Expr, batch: Batch) -> Array | None:
    """What it is of all rows, NaN for null; None where it is no number, or cannot be computed of all of them."""
    try:
        column = evaluate(expr, batch)
    except WhimbrelError:  # of rows, perhaps, that the query leaves out
        return None
    if not column.fixed or column.values.dtype.kind not in "iuf":
        return None
    values = np.asarray(column.values)
    return values if column.valid is None else np.where(column.valid, values, np.nan)
