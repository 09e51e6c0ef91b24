"""Distinct counts from a sample of blocks (Chao and Lin), with bounds.

An unseen value lies in unread blocks, and in none of the blocks drawn first. The blocks drawn first are a *reference*.
Each other block has a fixed number of values that are in no block of the reference. The blocks drawn later are a sample
of these numbers. A confidence sequence bounds the sum of the numbers of all unread blocks, as it does any sum. That sum
is at least the number of unseen values, because it counts a value once for each block that has it. Several references
share alpha, and the smallest bound counts: early references have a larger sample, late ones have fewer values left to
count twice.

The estimate is that of Chao and Lin ("Nonparametric lower bounds for species richness and shared species richness under
sampling without replacement", Biometrics 2012), from the values that were seen in one block and in two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, frozen
from whimbrel.kernels import Compiled, IntegerKeys, restored
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.keys import ColumnKeys
from whimbrel.kernels.primitives.sampling.occurrence_counts import OFTEN, see
from whimbrel.kernels.primitives.sampling.window_blocks import BEFORE
from whimbrel.progressive.intervals.block_sums import BlockSums
from whimbrel.progressive.intervals.value_state import Drawn, ValueSnapshot, ValueState, parts_of
from whimbrel.progressive.sampling.block_scan import ScanPosition
from whimbrel.progressive.sampling.sample_state import SampleState

Array = np.ndarray[Any, Any]

REFERENCES = np.array([8 * 2**number for number in range(16)])
"""Sizes of the references, in blocks drawn first."""

_see = Compiled(see)


class DistinctCounts(ValueState):
    """The distinct values, and the number of blocks with each of them.

    Parameters
    ----------
    name : str
    type_ : pyarrow.DataType
        Of the values.
    usual : float
        The average number of rows of a block.
    """

    def __init__(self, name: str, type_: pa.DataType, usual: float) -> None:
        self.name, self.usual = name, usual
        self.values, self.pairs = ColumnKeys(type_), IntegerKeys()
        self.first, self.times = np.zeros(0, np.int32), np.zeros(0, np.int8)
        self.seen, self.once, self.twice = (np.zeros(0, np.int64) for _ in range(3))
        self.sums: list[BlockSums] = []

    def add(self, ids: Array, lists: pa.ListArray, groups: int, drawn: Drawn | None) -> None:
        ends, values = parts_of(lists)
        numbers = self._numbers(ids, ends, values, groups)
        self._grow(groups)
        before = np.zeros(len(ids), np.int64) if drawn is None else drawn.before
        references = REFERENCES[before.max(initial=0) >= REFERENCES]
        fresh = np.zeros((len(references), len(ids)))
        _see(ids, ends, numbers, before, self.first, self.times, self.seen, self.once, self.twice, references,
             fresh.reshape(-1))
        if drawn is None:
            return
        self.sums += [BlockSums(self.usual) for _ in range(len(references) - len(self.sums))]
        for reference, sums, new in zip(references.tolist(), self.sums, fresh, strict=False):
            later = before >= reference
            sums.grow(len(self.seen))
            sums.add(ids[later], new[later], drawn.rows[later].astype(np.float64))

    def begin_phase(self) -> None:
        self.first[:], self.times[: self._known] = -1, OFTEN
        self.once[:], self.twice[:] = 0, 0
        self.sums = []

    def snapshot(self, groups: int, position: ScanPosition) -> DistinctSnapshot:
        counts = tuple(array[:groups].copy() for array in (self.seen, self.once, self.twice))
        fresh = []
        for reference, sums in zip(REFERENCES.tolist(), self.sums, strict=False):
            kinds = position.kinds
            kinds[position.phase[:reference]] = BEFORE
            sums.grow(groups)
            fresh.append((kinds, sums.first(groups)))
        return DistinctSnapshot(self.name, counts, fresh, int((len(position.phase) > REFERENCES).sum()))

    def state_parts(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("name", "usual")}

    def restore_state(self, parts: dict[str, Any]) -> None:
        """Restore the state of an equal one."""
        self.sums = [BlockSums(self.usual) for _ in parts["sums"]]
        for name, part in parts.items():
            setattr(self, name, restored(getattr(self, name), part))

    def _numbers(self, ids: Array, ends: Array, values: Column, groups: int) -> Array:
        """The index of each pair of group and value; with one group, that of the value."""
        before = len(self.values)
        numbers = self.values.ids(values, None)
        if groups == 1:
            return numbers
        if len(self.pairs) < before:  # until now there was one group
            self.pairs.ids(frozen(np.arange(len(self.pairs), before)))
        whose = np.repeat(ids, np.diff(ends, prepend=0)).astype(np.int64)
        return self.pairs.ids(frozen(whose << 32 | numbers))

    @property
    def _known(self) -> int:
        """The number of indexes."""
        return max(len(self.pairs), len(self.values))

    def _grow(self, groups: int) -> None:
        if self._known > len(self.first):
            self.first, self.times = (extend(array, 2 * self._known, 0) for array in (self.first, self.times))
        if groups > len(self.seen):
            self.seen, self.once, self.twice = (
                extend(array, 2 * groups, 0) for array in (self.seen, self.once, self.twice))


class DistinctSnapshot(ValueSnapshot):
    """Distinct counts at one update.

    Parameters
    ----------
    name : str
    counts : tuple of numpy.ndarray of int64
        By group, the number of values, and of those seen in one block of this phase, and in two.
    fresh : sequence of (numpy.ndarray, BlockSums)
        For each reference so far, the kinds of blocks since then, and the sums of their values outside the reference.
    references : int
        The number of references at the end.
    """

    def __init__(self, name: str, counts: tuple[Array, ...], fresh: Sequence[tuple[Array, BlockSums]],
                 references: int) -> None:
        self.name = name
        self.seen, self.once, self.twice = counts
        self.fresh, self.references = fresh, references

    def column(self, state: SampleState) -> Column:
        read, window = state.read, state.read.window
        drawn = read.drawn.blocks[window]
        left = (read.left.blocks + read.later.blocks)[window]
        with np.errstate(divide="ignore", invalid="ignore"):
            unseen = self.once**2 / (2 * self.twice * drawn / np.maximum(drawn - 1, 1) + self.once * drawn / left)
        unseen = np.where((self.once > 0) & (left > 0), unseen, 0.0)
        maximum = state.max_left[window]
        return Column(pa.int64(), self.seen + np.rint(np.minimum(unseen, maximum)).astype(np.int64))

    def ends(self, state: SampleState, alpha: float) -> tuple[Array, Array]:
        low = self.seen.astype(np.float64)
        maximum = np.full(len(low), np.inf)
        for kinds, fresh in self.fresh:
            read = state.read_of(kinds)
            more, _ = read.growth
            widths = fresh.widths(state, read, alpha / self.references, self.name)
            maximum = np.minimum(maximum, fresh.sums * more[read.window] + widths)
        return low, low + maximum

    def adds(self, state: SampleState, ids: Array, ends: Array, values: Column) -> list[Array]:
        counts = np.diff(ends, prepend=0)
        which = np.repeat(np.arange(len(ids)), counts)
        numbers = ids[which].astype(np.int64) << 32 | ColumnKeys(values.type).ids(values, None)
        _, place, often = np.unique(numbers, return_inverse=True, return_counts=True)
        alone = np.bincount(which, often[place.reshape(-1)] == 1, len(ids))
        return [counts.astype(np.float64), alone]

    def certain(self, state: SampleState) -> tuple[Array, Array]:
        return self.seen, self.seen + state.max_left[state.read.window]
