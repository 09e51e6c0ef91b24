"""What is known of all blocks before a sample of them is drawn: which can move the answer, and how heavy tails are.

Whether a value has an interval is decided by that, and not by the blocks that happened to be read: those that have met
an incident would lose theirs, and those that have not would keep one that is false.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Ticks
from whimbrel.errors import KernelError
from whimbrel.kernels.primitives.blocks_of_windows import BEFORE, DRAWN, LATER, LEFT
from whimbrel.plan import Blocks
from whimbrel.progress.certainty import certain_blocks
from whimbrel.progress.division import Division
from whimbrel.progress.kept import parts_of
from whimbrel.progress.sample import Array, Read, Sample, times_behind
from whimbrel.progress.scan import Scan
from whimbrel.progress.states import BlockStates
from whimbrel.progress.thinned import thinned
from whimbrel.progress.totals import Totals

_LIGHT = 4.0
"""Tails of what blocks add that leave enough degrees of freedom from half of the blocks on, and mostly before."""
_MOST_COMPARED = 1 << 21
"""Numbers, by value, group and block, of which it is asked which blocks can move them."""
_MOST_KEPT = 1 << 23
"""Numbers of states that are kept, to say what is left before a sample is drawn."""
_LARGEST = 2.0**62


class Evidence(NamedTuple):
    """What blocks tell of rows of an answer, whichever of them were drawn.

    Attributes
    ----------
    degrees : numpy.ndarray of float64
        Degrees of freedom of the variance between as many blocks as were drawn, by value and row.
    blocks : numpy.ndarray of int64
        By row, how many of these have rows of the group, as far as is known.
    """

    degrees: Array
    blocks: Array


class _Parts(NamedTuple):
    """What blocks add to rows: the row and block of each part, and what it adds to fields, by field."""

    rows: Array
    blocks: Array
    fields: Array


class BlockStatistics:
    """Of a query and the blocks of its source.

    Parameters
    ----------
    totals : Totals
        Of the rows that were looked at, each as many as it stands for.
    parts : _Parts
    adds : numpy.ndarray of float64
        What parts add to values, to first order, by value and part; NaN where that is not known.
    blocks : Blocks
    begun : numpy.ndarray of int64
        Blocks that are read before others anyway.
    sample : Sample
        Of the totals.

    Attributes
    ----------
    certain : numpy.ndarray of int64
        Blocks that are to be read first.
    """

    def __init__(self, totals: Totals, parts: _Parts, adds: Array, blocks: Blocks, begun: Ticks,
                 sample: Sample) -> None:
        self._totals, self._rows, self._lock = totals, len(sample), threading.Lock()
        self._parts = parts if parts.fields.size <= _MOST_KEPT else None
        count, scan = len(blocks), sample.scan
        which, place = np.unique(parts.rows.astype(np.int64) * count + parts.blocks, return_inverse=True)
        self.of, at = which // count, which % count
        usual = float(blocks.rows.mean())
        even = np.array([np.bincount(place.reshape(-1), each, len(which)) for each in adds]).reshape(len(adds), -1)
        even *= usual / blocks.rows[at]
        known = np.isin(np.arange(count), begun)
        self.certain = self._chosen(even, at, known, sample)
        known[self.certain] = True
        read = sample.read_of(np.where(known, BEFORE, DRAWN))
        drawn = np.maximum(read.drawn.blocks[read.window], 1.0)
        rest = ~known[at]
        self.tails = np.array([_tails(self.of[rest], each[rest], drawn, scan.uneven) for each in even]).reshape(
            len(adds), len(sample))
        self.present = np.bincount(self.of[rest], minlength=len(sample)) / drawn

    @staticmethod
    def of(division: Division, states: BlockStates, blocks: Blocks, begun: Ticks) -> BlockStatistics | None:
        """Look at rows of all blocks; None where that cannot be done at once."""
        found = thinned(division, states, blocks)
        if found is None:
            return None
        totals = Totals(division, compares=False)
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
        window = division.window
        shifts = None if window.size == window.hop else np.arange(window.size // window.hop) * window.hop
        batch = found.states.having(columns=tuple(columns))
        try:
            totals.add(batch, None, shifts=shifts)
            sample = _all_read(division, totals, blocks)
            ids, which = _rows_of(totals, batch, shifts)
            parts = _Parts(ids, found.blocks[which], fields[:, which])
            return BlockStatistics(totals, parts, _adds(sample, parts, batch, found.weights), blocks, begun, sample)
        except KernelError:  # some value leaves its type on the way to the whole
            return None

    def evidence(self, sample: Sample, read: Read) -> Evidence:
        """Of the rows of a sample, of which so much was read."""
        ids = self._ids(sample)
        there = ids < self._rows
        ids = np.where(there, ids, 0)
        drawn = read.drawn.blocks[read.window]
        degrees = np.where(there, 2 * drawn / self.tails[:, ids], 0.0)
        return Evidence(degrees, np.where(there, np.floor(self.present[ids] * drawn), 0).astype(np.int64))

    def left(self, sample: Sample, kinds: Array) -> Array | None:
        """What blocks that were not read add to fields, by field and row; None where that is too much to be kept."""
        parts = self._parts
        if parts is None:
            return None
        unread = ((kinds == LEFT) | (kinds == LATER))[parts.blocks]
        ids = self._ids(sample)
        found = np.zeros((len(parts.fields), self._rows + 1))
        for field, numbers in enumerate(parts.fields):
            found[field, :-1] = np.bincount(parts.rows[unread], numbers[unread], self._rows)
        return found[:, np.minimum(ids, self._rows)]

    def _ids(self, sample: Sample) -> Array:
        """Rows of a sample as they are numbered here; those that were not seen have numbers beyond."""
        with self._lock:
            return np.asarray(self._totals.keys.ids(list(sample.keys), len(sample)))

    def _chosen(self, even: Array, at: Array, known: Array, sample: Sample) -> Ticks:
        """The blocks that can move values of the groups that are in most of them."""
        count, blocks = len(known), sample.scan.blocks
        there = np.bincount(self.of, minlength=len(sample))
        rows = np.argsort(-there, kind="stable")[: max(1, _MOST_COMPARED // (len(even) * count))]
        rows = rows[there[rows] >= count // 20]
        place = np.full(len(sample), -1)
        place[rows] = np.arange(len(rows))
        mine = place[self.of] >= 0
        first, last = times_behind(sample.division, sample.starts[rows])
        within = (blocks.earliest <= last[:, None]) & (blocks.latest >= first[:, None]) & ~known
        chosen = np.zeros(count, np.bool_)
        numbers = np.zeros((len(even), len(rows), count))
        for value, each in enumerate(even):
            numbers[value, place[self.of[mine]], at[mine]] = each[mine]
        numbers = np.nan_to_num(numbers, posinf=0.0, neginf=0.0).reshape(-1, count)
        if len(numbers):
            chosen[certain_blocks(numbers, np.tile(within, (len(even), 1)), sample.scan.uneven, _LIGHT)] = True
        return np.flatnonzero(chosen)


def _all_read(division: Division, totals: Totals, blocks: Blocks) -> Sample:
    """What would be known if the totals were those of all blocks."""
    scan = Scan(blocks)
    scan.took_all()
    return Sample(division, totals, scan.stand, None)


def _rows_of(totals: Totals, batch: Batch, shifts: Array | None) -> tuple[Array, Array]:
    """Of each state, in each window it is in, the row; and which state it is."""
    names = [field.name for field in totals.key_fields]
    which = np.arange(len(batch)) if shifts is None else np.repeat(np.arange(len(batch)), len(shifts))
    starts = batch.sync if shifts is None else (batch.sync[:, None] + shifts).reshape(-1)
    keys = [batch.column(name).take(which) for name in names]
    return np.asarray(totals.keys.ids([Column(pa.int64(), starts), *keys], len(starts))), which


def _adds(sample: Sample, parts: _Parts, batch: Batch, weights: Array) -> Array:
    """What each part adds to each value, to first order."""
    values = sample.division.values
    adds = np.full((len(values.names), len(parts.rows)), np.nan)
    for value in np.flatnonzero(values.adds_up).tolist():
        adds[value] = 0.0
        for field in np.flatnonzero(values.needed[value] & values.additive).tolist():
            slope = sample.slopes[value, field][parts.rows]
            adds[value] += np.where(slope != 0, slope * parts.fields[field], 0.0)
    for value, name in values.kept.items():
        ends, lists = parts_of(batch.column(name).to_arrow())
        found = sample.kept[name].adds(sample, parts.rows, ends, lists)
        if found is not None:
            adds[value] = found * weights
    return adds


def _tails(rows: Array, numbers: Array, drawn: Array, uneven: float) -> Array:
    """By row, how heavy the tails are of what blocks add: 2 for normal values; infinite where nobody knows."""
    with np.errstate(all="ignore"):
        first, second, third, fourth = (np.bincount(rows, numbers**power, len(drawn)) / drawn for power in (1, 2, 3, 4))
        square = first * first
        variance = second - square
        kurtosis = (fourth - 4 * first * third + (6 * second - 3 * square) * square) / variance**2
        kurtosis = np.where(variance > 1e-6 * second, kurtosis, np.where(second > 0, 3.0, np.inf))
        tails = np.maximum(kurtosis * uneven - 1, 1e-3)
    return np.where(np.isnan(tails), np.inf, tails)
