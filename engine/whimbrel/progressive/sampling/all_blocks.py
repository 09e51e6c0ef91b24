"""Evaluate all blocks of a small source once.

This takes the place of a pilot sample where rows cannot be drawn: row groups of files, time ranges of joins and nested
aggregates. The result has the form of a pilot sample of all rows. What each block adds is then known exactly, for any
order of blocks.
"""

from __future__ import annotations

import numpy as np

from whimbrel.batch import Batch
from whimbrel.plan import Blocks
from whimbrel.progressive.sampling.block_states import BlockStates
from whimbrel.progressive.sampling.pilot_sample import FAR, PilotSample

_FEW_VALUES = 1 << 23
"""The largest number of values of a source that is evaluated once more."""


def is_small(states: BlockStates) -> bool:
    """Whether all blocks of the source may be evaluated once more than the query needs."""
    source = states.source
    return not source.remote and (source.rows or 0) * max(1, len(states.columns)) <= _FEW_VALUES


def evaluate_all(states: BlockStates, blocks: Blocks) -> PilotSample | None:
    """The states of all blocks; None if the source is large, or its blocks are fetched from elsewhere."""
    if not is_small(states):
        return None
    copy, made = states.of_same_rows(), []
    for block in zip(blocks.first.tolist(), blocks.stop.tolist(), strict=True):
        copy.read(block, ())
        made.append(copy.take())
    which = np.repeat(np.arange(len(blocks)), [len(each) for each in made])
    ones, rows = np.ones(len(which), np.int64), blocks.rows
    return PilotSample(Batch.concat(made), which, ones * FAR, ones, 1, rows, rows)
