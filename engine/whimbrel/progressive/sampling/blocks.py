"""Cut a source into blocks, and choose those to read first."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.clock import INF, MIN_TIME
from whimbrel.plan import Blocks, Node
from whimbrel.progressive.plan.query_split import SplitQuery, split_query
from whimbrel.progressive.sample_thresholds import MIN_BLOCKS_TO_SAMPLE
from whimbrel.progressive.sampling.all_blocks import is_small
from whimbrel.progressive.sampling.block_states import BlockStates
from whimbrel.progressive.sampling.time_range_blocks import in_ranges

Array = np.ndarray[Any, Any]

_BLOCKS = 200
"""Blocks of a table: two for each update at every hundredth of the rows."""
_IN_A_WINDOW, _MAX_BLOCKS = 32, 1024
"""Blocks of a window, so that its values have intervals early; and the largest number of blocks."""
_MIN_ROWS, _MAX_ROWS = 64, 1 << 20
_FIRST_ROWS, _WORTH_CUTTING = 1 << 14, 4
"""Rows of a first estimate; a block of this many times more rows is cut."""
_APART = 20
"""At most one of this many blocks is read before the sample is drawn."""
_MAX_HELD = 1 << 24
"""The largest number of values of a source with few blocks to read into memory, to sample it."""


def read_in_blocks(plan: Node, block_rows: int | None) -> tuple[
        SplitQuery, BlockStates, Blocks, Array | None, str] | str:
    """How a query runs block by block: its split, states and blocks, those to read first, and why it has no intervals.

    Or the reason why it cannot run block by block.
    """
    split, vague = split_query(plan), ""
    if isinstance(split, str) or not split.tail_keeps_rows:
        ranged = in_ranges(plan)
        said = f", and {ranged}" if isinstance(ranged, str) and ranged else ""
        found = split_query(ranged) if isinstance(ranged, Node) else split
        if isinstance(found, str):
            split = found + said
        else:
            split = found if isinstance(split, str) or found.tail_keeps_rows else split
            vague = "" if split.tail_keeps_rows else (
                f"a step after the windows combines several rows{said}")
    if isinstance(split, str):
        return split
    states, known = BlockStates(split.plan), split.known_blocks.get(block_rows)
    if known is not None:
        return split, states, *known, vague
    rows = states.source.rows
    if rows == 0:
        return "its source has no rows"
    if rows is None or states.source.live or states.source.edges:
        return "its source is unbounded or has no blocks"
    size = min(max(_MIN_ROWS, -(-rows // _BLOCKS)), _MAX_ROWS)
    blocks = states.blocks(block_rows or size, split.cuts)
    held = (split.one_each and blocks is not None and rows * len(states.columns) <= _MAX_HELD
            and len(blocks) < MIN_BLOCKS_TO_SAMPLE <= rows // (block_rows or size))
    if held:
        states.hold()
        blocks = states.blocks(block_rows or size, split.cuts)
    if blocks is None:
        return "its source cannot be read block by block: rows may be late, or the times of its blocks are unknown"
    windows = _span(blocks) // split.window.size + 1
    if windows > 1 and rows * len(split.kept) > _MAX_HELD:
        return f"all {windows:,} windows would keep their values at once"
    if block_rows is None and _BLOCKS < windows * _IN_A_WINDOW <= _MAX_BLOCKS and split.cuts is not None:
        finer = states.blocks(max(_MIN_ROWS, rows // (windows * _IN_A_WINDOW)), split.cuts)
        blocks = blocks if finer is None else finer
    blocks, begin = _beginning(blocks, windows if split.keeps_time else 1, states)
    if not held:  # rows in memory are not shared with other runs
        split.known_blocks[block_rows] = blocks, begin
    return split, states, blocks, begin, vague


def _span(blocks: Blocks) -> int:
    """The time span of all rows; the begin of the first block and the end of the last may be unknown."""
    early, late = int(blocks.earliest.min()), int(blocks.latest.max())
    if len(blocks) > 1:
        early = int(blocks.latest[0]) if early == MIN_TIME else early
        late = int(blocks.earliest[-1]) if late >= INF - 1 else late
    return max(0, late - early)


def _beginning(blocks: Blocks, windows: int, states: BlockStates) -> tuple[Blocks, Array | None]:
    """The blocks that are read before a sample of the others is drawn, in this order; they do not depend on the data.

    They are spread over time, so many windows get rows soon. The first one is small, and cut from a larger one if
    necessary, so the first estimate comes soon.
    """
    count, source = len(blocks), states.source
    if count < MIN_BLOCKS_TO_SAMPLE:
        return blocks, None
    strata = max(1, min(windows, count // _APART)) if blocks.in_order else 1
    begin = (2 * np.arange(strata) + 1) * count // (2 * strata)
    place = int(begin[strata // 2])
    first, stop = int(blocks.first[place]), int(blocks.stop[place])
    parts = source.excerpt(first, stop).blocks(_FIRST_ROWS) if stop - first >= _WORTH_CUTTING * _FIRST_ROWS else None
    if parts is not None and len(parts) > 1:
        blocks = blocks.cut(place, parts)
        begin[begin > place] += 1
    elif strata == 1 and not (source.in_memory or is_small(states)):
        return blocks, np.empty(0, np.int64)
    others = np.random.default_rng(0).permutation(begin[begin != place])
    return blocks, np.append(place, others)
