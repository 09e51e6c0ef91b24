"""Statistics of the blocks of a query, computed once."""

from __future__ import annotations

import numpy as np

from whimbrel.batch import Ticks
from whimbrel.plan import Blocks
from whimbrel.progressive.estimation.block_statistics import BlockStatistics
from whimbrel.progressive.estimation.pilot_blocks import PilotBlocks
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.block_bounds import wide_blocks
from whimbrel.progressive.sampling.block_states import BlockStates
from whimbrel.progressive.sampling.evidence import Statistics
from whimbrel.progressive.sampling.in_memory_source import InMemorySource


def statistics_of(split: SplitQuery, states: BlockStates, blocks: Blocks, begun: Ticks,
                  block_rows: int | None) -> Statistics | None:
    """The statistics of a query; again for each run if its rows were read into memory.

    None if no value has an interval, or a value exceeds its type.
    """
    known = split.known_statistics
    if block_rows in known:
        return known[block_rows]
    found: Statistics | None = None
    if split.values.two_ended.any():
        found = BlockStatistics.of(split, states, blocks, begun)
        if found is None:
            wide = wide_blocks(split, states.source, blocks, states.columns)
            found = PilotBlocks.of(split, states, blocks, begun, np.setdiff1d(wide, begun, assume_unique=True))
    if not isinstance(states.source, InMemorySource):
        known[block_rows] = found
    return found
