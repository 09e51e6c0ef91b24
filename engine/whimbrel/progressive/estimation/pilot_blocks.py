"""Statistics of a pilot sample of whole blocks, for large sources.

The blocks are the same in each run of a query. What they show of the tails decides what has an interval, and the blocks
that happen to be drawn do not. A group is compared over all of its windows, because a window has few of the blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Column, Ticks
from whimbrel.kernels import KeyTable
from whimbrel.kernels.primitives.sampling.confidence_intervals import HEAVIER_ERRORS, LIGHT_OF_ALL
from whimbrel.plan import Blocks
from whimbrel.progressive.estimation.block_contributions import Contributions, contributions
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.all_blocks import evaluated
from whimbrel.progressive.sampling.block_states import BlockStates
from whimbrel.progressive.sampling.evidence import Evidence, Statistics

Array = np.ndarray[Any, Any]

_ONE_OF, _MIN_BLOCKS, _MAX_BLOCKS = 8, 12, 128
"""One of so many blocks is in the pilot sample, but at least and at most these numbers of blocks."""
_MIN_OF_ALL = 5
"""Groups in fewer blocks of the pilot sample do not count for the tails of all groups."""


class PilotBlocks(Statistics):
    """Statistics of blocks from some of them.

    Parameters
    ----------
    found : Contributions
        Of these blocks alone.
    certain : numpy.ndarray of int64
        Blocks of the source to read first; none of the pilot sample.
    all_blocks : int
        The number of blocks of the source.

    Attributes
    ----------
    tails, present : numpy.ndarray of float64
        The kurtosis of what blocks add, by value and group; by group, the fraction of blocks with rows of it.
    of_all : numpy.ndarray of float64
        By value, the blocks for each degree of freedom of all groups together.
    """

    def __init__(self, found: Contributions, certain: Ticks, all_blocks: int) -> None:
        sample = found.sample
        state, values = sample.state, sample.split.values
        self.certain, self._lock = certain, threading.Lock()
        self.basis = (f"a pilot sample of {len(state.scan.blocks):,} of {all_blocks:,} blocks shows how much unread "
                      "blocks may differ; a block unlike all of them may exist")
        self._keys = KeyTable([field.type for field in sample.split.key_fields])
        groups = self._ids(state.keys, len(sample))
        self._groups = int(groups.max(initial=-1)) + 1
        read = state.read
        drawn = np.maximum(read.before.blocks[read.window], 1.0)
        self.tails = found.largest(found.numbers.pooled_tails(drawn, groups, self._groups, state.scan.uneven))
        parts = np.bincount(groups[found.numbers.rows], minlength=self._groups)
        self.present = parts / np.bincount(groups, drawn, self._groups)
        self.of_all = _tails_of_all(self.tails * self.present / 2, np.where(parts < _MIN_OF_ALL, 0, parts))
        self._enough_of_all = np.where(values.adds_up, values.of_all, 0.0)

    @staticmethod
    def of(split: SplitQuery, states: BlockStates, blocks: Blocks, begun: Ticks, certain: Ticks) -> PilotBlocks | None:
        """Evaluate some blocks once, none of those to read first; None if a value exceeds its type."""
        some = _chosen(np.setdiff1d(np.arange(len(blocks)), np.append(begun, certain)))
        if not len(some):
            return None
        pilot = Blocks(blocks.first[some], blocks.stop[some], blocks.earliest[some], blocks.latest[some])
        found = contributions(split, evaluated(states, pilot), pilot)
        return None if found is None else PilotBlocks(found, certain, len(blocks))

    def evidence(self, keys: Sequence[Column], drawn: Array) -> Evidence:
        groups = self._ids(keys, len(drawn))
        there = groups < self._groups
        groups = np.where(there, groups, 0)
        degrees, blocks = 2 * drawn / self.tails[:, groups], self.present[groups] * drawn
        enough = np.minimum(self._enough_of_all[:, None], LIGHT_OF_ALL * drawn) * self.of_all[:, None]
        degrees = np.where(there & (blocks >= enough), degrees, 0.0)
        return Evidence(degrees, np.where(there, np.floor(blocks), 0).astype(np.int64), of_some=True)

    def left(self, keys: Sequence[Column], unread: Array) -> Array | None:
        return None

    def _ids(self, keys: Sequence[Column], rows: int) -> Array:
        """The indexes of the groups of rows with these starts and keys; unseen groups have indexes after the last."""
        if len(keys) == 1:
            return np.zeros(rows, np.int64)
        with self._lock:
            return np.asarray(self._keys.ids(list(keys[1:]), rows))


def _chosen(others: Ticks) -> Ticks:
    """The blocks of the pilot sample: one from each part of the source, always the same."""
    count = min(max(len(others) // _ONE_OF, _MIN_BLOCKS), _MAX_BLOCKS, len(others))
    edges = np.arange(count + 1) * len(others) // max(count, 1)
    return others[np.random.default_rng(0).integers(edges[:-1], edges[1:])]


def _tails_of_all(blocks: Array, weights: Array) -> Array:
    """By value, the blocks for each degree of freedom of all groups together; 0 without groups.

    It is the mean, and some standard errors more, because few groups show little.
    """
    found = np.zeros(len(blocks))
    for value, each in enumerate(blocks):
        known = np.isfinite(each) & (weights > 0)
        if known.any():
            mean = np.average(each[known], weights=weights[known])
            errors = np.sqrt(((each[known] - mean) ** 2 * weights[known].astype(np.float64) ** 2).sum())
            found[value] = mean + HEAVIER_ERRORS * errors / weights[known].sum()
    return found
