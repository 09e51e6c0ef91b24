"""Contributions of the blocks of a pilot sample to values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column
from whimbrel.errors import KernelError
from whimbrel.plan import Blocks
from whimbrel.progressive.estimation.block_sample import BlockSample
from whimbrel.progressive.estimation.block_totals import Totals
from whimbrel.progressive.intervals.value_state import parts_of
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.block_scan import Scan
from whimbrel.progressive.sampling.block_values import BlockNumbers
from whimbrel.progressive.sampling.pilot_sample import EVEN, FAR, ODD, PilotSample

Array = np.ndarray[Any, Any]

_LARGEST = 2.0**62


class Parts(NamedTuple):
    """What blocks add to result rows: the row and block of each part, and its fields, by field."""

    rows: Array
    blocks: Array
    fields: Array


class Contributions(NamedTuple):
    """What the blocks of a pilot sample add.

    Attributes
    ----------
    totals : Totals
        Of the rows of the pilot sample, by weight.
    sample : BlockSample
        Of the totals.
    parts : Parts
    numbers : BlockNumbers
        What blocks add to values, to first order, scaled to blocks of one size.
    of : numpy.ndarray of int64
        The value of each of these numbers.
    """

    totals: Totals
    sample: BlockSample
    parts: Parts
    numbers: BlockNumbers
    of: Array

    def largest(self, tails: Array) -> Array:
        """The heaviest tails of each value, from those of its numbers; infinite without numbers."""
        found = np.zeros((len(self.sample.split.values.names), tails.shape[1]))
        np.maximum.at(found, self.of, tails)
        found[np.setdiff1d(np.arange(len(found)), self.of)] = np.inf
        return found


def contributions(split: SplitQuery, found: PilotSample, blocks: Blocks) -> Contributions | None:
    """The contributions of these blocks; None if a scaled value exceeds its type."""
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
        parts = Parts(ids, found.blocks[which], fields[:, which])
        adds, of = _adds(sample, parts, batch, found.weights)
        return Contributions(totals, sample, parts, _numbers(adds, parts, found, found.kinds[which]), of)
    except KernelError:
        return None


def _numbers(adds: Array, parts: Parts, found: PilotSample, kinds: Array) -> BlockNumbers:
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


def _adds(sample: BlockSample, parts: Parts, batch: Batch, weights: Array) -> tuple[Array, Array]:
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
