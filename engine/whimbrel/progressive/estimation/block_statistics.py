"""Statistics of all blocks from a pilot sample.

They exist before the sample is drawn. They decide whether a value has an interval; the blocks that happened to be drawn
do not. Otherwise, samples with an outlier would lose their interval, and samples without it would keep a false one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Column, Mask, Ticks
from whimbrel.kernels.primitives.sampling.window_blocks import BEFORE, DRAWN
from whimbrel.plan import Blocks
from whimbrel.progressive.estimation.block_contributions import Contributions, contributions
from whimbrel.progressive.estimation.block_sample import BlockSample
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.all_blocks import evaluate_all
from whimbrel.progressive.sampling.block_states import BlockStates
from whimbrel.progressive.sampling.block_values import BlockNumbers
from whimbrel.progressive.sampling.evidence import Evidence, Statistics
from whimbrel.progressive.sampling.pilot_sample import draw_pilot
from whimbrel.progressive.sampling.take_all_blocks import certain_blocks

Array = np.ndarray[Any, Any]

_LIGHT = 4.0
"""The largest kurtosis that leaves enough degrees of freedom once half of the blocks are drawn, and mostly before."""
_MAX_COMPARED = 1 << 19
"""The largest number of combinations of value, group and block that are checked for outliers."""
_MAX_KEPT = 1 << 23
"""The largest number of state numbers to keep; they give the remaining rows before a sample is drawn."""
_IN_FEW = 20
"""Groups in less than one of this many blocks are not checked for outliers."""


class BlockStatistics(Statistics):
    """Statistics of the blocks of a query's source, from a pilot sample.

    Parameters
    ----------
    found : Contributions
    begun : numpy.ndarray of int64
        Blocks that are read first in any case.

    Attributes
    ----------
    tails, present : numpy.ndarray of float64
        Of the other blocks: the kurtosis of what they add, by value and row; the fraction with rows of it, by row.
    """

    basis = "a pilot sample of all blocks shows how much unread blocks may differ"

    def __init__(self, found: Contributions, begun: Ticks) -> None:
        sample, parts, numbers = found.sample, found.parts, found.numbers
        self._totals, self._rows, self._lock = found.totals, len(sample), threading.Lock()
        self._parts = parts if parts.fields.size <= _MAX_KEPT else None
        known = np.isin(np.arange(len(sample.state.scan.blocks)), begun)
        sums = int(sample.split.values.adds_up.sum())  # without quantiles, whose interval ends may be anywhere
        self.certain = _certain(numbers.first(sums), known, sample)
        known[self.certain] = True
        read = sample.state.read_of(np.where(known, BEFORE, DRAWN))
        drawn = np.maximum(read.drawn.blocks[read.window], 1.0)
        rest = numbers.only(~known[numbers.blocks])
        self.tails = found.largest(rest.tails(drawn, sample.state.scan.uneven))
        self.present = np.bincount(rest.rows, minlength=len(sample)) / drawn

    @staticmethod
    def of(split: SplitQuery, states: BlockStates, blocks: Blocks, begun: Ticks) -> BlockStatistics | None:
        """Draw a pilot sample from all blocks, or evaluate all of a small source; None if neither is possible."""
        pilot = draw_pilot(split, states, blocks) or evaluate_all(states, blocks)
        found = None if pilot is None else contributions(split, pilot, blocks)
        return None if found is None else BlockStatistics(found, begun)

    def evidence(self, keys: Sequence[Column], drawn: Array) -> Evidence:
        ids = self._ids(keys, len(drawn))
        there = ids < self._rows
        ids = np.where(there, ids, 0)
        degrees = np.where(there, 2 * drawn / self.tails[:, ids], 0.0)
        return Evidence(degrees, np.where(there, np.floor(self.present[ids] * drawn), 0).astype(np.int64))

    def left(self, keys: Sequence[Column], unread: Array) -> Array | None:
        parts = self._parts
        if parts is None:
            return None
        left = unread[parts.blocks]
        found = np.zeros((len(parts.fields), self._rows + 1))
        for field, numbers in enumerate(parts.fields):
            found[field, :-1] = np.bincount(parts.rows[left], numbers[left], self._rows)
        return found[:, np.minimum(self._ids(keys, len(keys[0])), self._rows)]

    def _ids(self, keys: Sequence[Column], rows: int) -> Array:
        """The indexes of rows with these starts and keys; unseen rows have indexes after the last one."""
        with self._lock:
            return np.asarray(self._totals.keys.ids(list(keys), rows))


def _certain(numbers: BlockNumbers, known: Mask, sample: BlockSample) -> Ticks:
    """The blocks with outliers, for groups that are in most blocks."""
    count, blocks, values = len(known), sample.state.scan.blocks, len(numbers.body)
    there = np.bincount(numbers.rows, minlength=len(sample))
    rows = np.argsort(-there, kind="stable")[: max(1, _MAX_COMPARED // max(1, values * count))]
    rows = rows[there[rows] >= count // _IN_FEW]
    if not len(rows) or not values:
        return np.empty(0, np.int64)
    place = np.full(len(sample), -1)
    place[rows] = np.arange(len(rows))
    mine = numbers.only(place[numbers.rows] >= 0)
    first, last = sample.split.window_times(sample.state.starts[rows])
    within = (blocks.earliest <= last[:, None]) & (blocks.latest >= first[:, None]) & ~known
    compared = np.zeros((2, values, len(rows), count))
    compared[:, :, place[mine.rows], mine.blocks] = mine.body + mine.far, mine.far
    compared = np.nan_to_num(compared, posinf=0.0, neginf=0.0)
    rest = numbers.only(~known[numbers.blocks])
    own = rest.own_variance(np.maximum(np.bincount(rest.rows, minlength=len(sample)), 1.0))[:, rows]
    other = np.nan_to_num(np.array([0 * own, own]))
    return certain_blocks(compared.reshape(-1, count), np.tile(within, (2 * values, 1)), other.reshape(-1),
                          sample.state.scan.uneven, _LIGHT)
