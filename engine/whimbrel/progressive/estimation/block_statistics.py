"""Statistics of all blocks from a pilot sample.

They exist before the sample is drawn. They decide whether a value has an interval; the blocks that happened to be drawn
do not. Otherwise, samples with an outlier would lose their interval, and samples without it would keep a false one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, Ticks
from whimbrel.errors import KernelError
from whimbrel.kernels.primitives.sampling.window_blocks import BEFORE, DRAWN
from whimbrel.plan import Blocks
from whimbrel.progressive.estimation.block_sample import BlockSample
from whimbrel.progressive.estimation.block_totals import Totals
from whimbrel.progressive.intervals.value_state import parts_of
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.all_blocks import evaluate_all
from whimbrel.progressive.sampling.block_scan import Scan
from whimbrel.progressive.sampling.block_states import BlockStates
from whimbrel.progressive.sampling.block_values import BlockNumbers
from whimbrel.progressive.sampling.evidence import Evidence, Statistics
from whimbrel.progressive.sampling.in_memory_source import InMemorySource
from whimbrel.progressive.sampling.pilot_sample import EVEN, FAR, ODD, PilotSample, draw_pilot
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
_LARGEST = 2.0**62


class _Parts(NamedTuple):
    """What blocks add to result rows: the row and block of each part, and its fields, by field."""

    rows: Array
    blocks: Array
    fields: Array


class BlockStatistics(Statistics):
    """Statistics of the blocks of a query's source, from a pilot sample.

    Parameters
    ----------
    totals : Totals
        Of the rows of the pilot sample, by weight.
    sample : BlockSample
        Of the totals.
    parts : _Parts
    numbers : BlockNumbers
        What blocks add to values, to first order, scaled to blocks of one size.
    of : numpy.ndarray of int64
        The value of each of these numbers.
    begun : numpy.ndarray of int64
        Blocks that are read first in any case.

    Attributes
    ----------
    tails, present : numpy.ndarray of float64
        Of the other blocks: the kurtosis of what they add, by value and row; the fraction with rows of it, by row.
    """

    def __init__(self, totals: Totals, sample: BlockSample, parts: _Parts, numbers: BlockNumbers, of: Array,
                 begun: Ticks) -> None:
        self._totals, self._rows, self._lock = totals, len(sample), threading.Lock()
        self._parts = parts if parts.fields.size <= _MAX_KEPT else None
        known = np.isin(np.arange(len(sample.state.scan.blocks)), begun)
        sums = int(sample.split.values.adds_up.sum())  # without quantiles, whose interval ends may be anywhere
        self.certain = _certain(numbers.first(sums), known, sample)
        known[self.certain] = True
        read = sample.state.read_of(np.where(known, BEFORE, DRAWN))
        drawn = np.maximum(read.drawn.blocks[read.window], 1.0)
        rest = numbers.only(~known[numbers.blocks])
        tails = rest.tails(drawn, sample.state.scan.uneven)
        self.tails = np.zeros((len(sample.split.values.names), len(sample)))
        np.maximum.at(self.tails, of, tails)
        self.tails[np.setdiff1d(np.arange(len(self.tails)), of)] = np.inf
        self.present = np.bincount(rest.rows, minlength=len(sample)) / drawn

    @staticmethod
    def of(split: SplitQuery, states: BlockStates, blocks: Blocks, begun: Ticks) -> BlockStatistics | None:
        """Draw a pilot sample from all blocks, or evaluate all of a small source; None if neither is possible."""
        if not split.values.two_ended.any():
            return None
        found = draw_pilot(split, states, blocks) or evaluate_all(states, blocks)
        if found is None:
            return None
        totals = Totals(split, compares=False)
        fields = np.zeros((totals.width, len(found.states)))
        columns = list(found.states.columns)
        for place, (name, additive) in enumerate(zip(totals.names, totals.additive.tolist(), strict=True)):
            if additive:
                at = found.states.schema.index(name)
                values = np.asarray(columns[at].values)
                fields[place] = values * found.weights.astype(np.float64)
                if values.dtype.kind != "f" and np.abs(fields[place]).sum() > _LARGEST:
                    return None
                columns[at] = Column(columns[at].type, (values * found.weights).astype(values.dtype), columns[at].valid)
        window = split.window
        shifts = None if window.size == window.hop else np.arange(window.size // window.hop) * window.hop
        batch = found.states.having(columns=tuple(columns))
        try:
            totals.add(batch, None, shifts=shifts)
            sample = _all_read(totals, blocks)
            ids, which = _rows_of(totals, batch, shifts)
            parts = _Parts(ids, found.blocks[which], fields[:, which])
            adds, of = _adds(sample, parts, batch, found.weights)
            numbers = _numbers(adds, parts, found, found.kinds[which])
            return BlockStatistics(totals, sample, parts, numbers, of, begun)
        except KernelError:  # a scaled value exceeds its type
            return None

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


def statistics_of(split: SplitQuery, states: BlockStates, blocks: Blocks, begun: Ticks,
                  block_rows: int | None) -> Statistics | None:
    """The statistics of a query, computed once; again for each run if its rows were read into memory."""
    known = split.known_statistics
    if block_rows in known:
        return known[block_rows]
    found = BlockStatistics.of(split, states, blocks, begun)
    if not isinstance(states.source, InMemorySource):
        known[block_rows] = found
    return found


def _numbers(adds: Array, parts: _Parts, found: PilotSample, kinds: Array) -> BlockNumbers:
    """What blocks add to rows, by value."""
    count = len(found.rows)
    which, place = np.unique(parts.rows.astype(np.int64) * count + parts.blocks, return_inverse=True)
    size = found.rows.mean() / np.maximum(found.rows[which % count], 1)

    def of_blocks(weights: Array) -> Array:
        numbers = np.array([np.bincount(place.reshape(-1), each * weights, len(which)) for each in adds])
        return numbers.reshape(len(adds), len(which)) * size

    rows, blocks = which // count, which % count
    body, far = of_blocks(1.0 * (kinds != FAR)), of_blocks(1.0 * (kinds == FAR))
    # What as many rows add anywhere is ordinary: if a column grows with time, all rows of a block are outliers.
    usual = np.array([np.bincount(rows, each) for each in body + far]).reshape(len(adds), -1) / found.rows.sum()
    usual = usual[:, rows] * found.far[blocks] * size
    return BlockNumbers(body + usual, far - usual, of_blocks(1.0 * (kinds == EVEN) - (kinds == ODD)), rows, blocks,
                        found.every)


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


def _all_read(totals: Totals, blocks: Blocks) -> BlockSample:
    """A sample as if the totals were those of all blocks."""
    scan = Scan(blocks)
    scan.mark_all_read()
    return BlockSample(totals, scan.position)


def _rows_of(totals: Totals, batch: Batch, shifts: Array | None) -> tuple[Array, Array]:
    """The row of each state in each of its windows, and the index of the state."""
    names = [field.name for field in totals.key_fields]
    which = np.arange(len(batch)) if shifts is None else np.repeat(np.arange(len(batch)), len(shifts))
    starts = batch.sync if shifts is None else (batch.sync[:, None] + shifts).reshape(-1)
    keys = [batch.column(name).take(which) for name in names]
    return np.asarray(totals.keys.ids([Column(pa.int64(), starts), *keys], len(starts))), which


def _adds(sample: BlockSample, parts: _Parts, batch: Batch, weights: Array) -> tuple[Array, Array]:
    """What each part adds to values, to first order, and the index of the value."""
    values, found, of = sample.split.values, [], []
    for value in np.flatnonzero(values.adds_up).tolist():
        adds = np.zeros(len(parts.rows))
        for field in np.flatnonzero(values.needed[value] & values.additive).tolist():
            slope = sample.values.slopes[value, field][parts.rows]
            with np.errstate(invalid="ignore"):  # 0 * inf
                adds += np.where(slope != 0, slope * parts.fields[field], 0.0)
        found.append(adds)
        of.append(value)
    for value, name in values.kept.items():
        ends, lists = parts_of(batch.column(name).to_arrow())
        kept = sample.values.kept[name].adds(sample.state, parts.rows, ends, lists)
        found += [each * weights for each in kept]
        of += [value] * len(kept)
    return np.array(found).reshape(len(found), len(parts.rows)), np.array(of, np.int64)
