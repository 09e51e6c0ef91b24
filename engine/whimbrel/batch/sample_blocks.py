"""Blocks of samples, one after the other, that segments share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

Array = np.ndarray[Any, Any]
Integers = np.ndarray[Any, np.dtype[np.int64]]

_LONG_ROW = 128
"""From so many samples a row on, copying row by row costs less than one position a sample."""
_PINNED_SHARE = 4
"""Rows that cover less than one part of so many of their blocks are copied when they leave."""

NONE_MISSING = np.empty((0, 2), np.int64)
NONE_MISSING.flags.writeable = False


@dataclass(frozen=True, slots=True, eq=False)
class SampleBlocks:
    """Arrays of samples that are read as one, at positions from 0 on.

    Parameters
    ----------
    arrays : tuple of array
        One-dimensional, of one type. Where samples are missing, an array may repeat one number without memory.
    bounds : array of int64
        Where each array begins, and where the last one ends.
    missing : array of int64, (runs, 2)
        Positions [from, to) of missing samples, in order.
    """

    arrays: tuple[Array, ...]
    bounds: Integers
    missing: Integers

    @staticmethod
    def of(*arrays: Array, missing: Integers = NONE_MISSING) -> SampleBlocks:
        bounds = np.array([0, len(arrays[0])]) if len(arrays) == 1 else np.cumsum([0, *map(len, arrays)])
        return SampleBlocks(arrays, bounds, missing)

    @staticmethod
    def absent(dtype: np.dtype[Any], size: int) -> SampleBlocks:
        """So many missing samples, without memory."""
        return SampleBlocks.of(np.broadcast_to(np.zeros((), dtype), (size,)),
                               missing=np.array([[0, size]], np.int64) if size else NONE_MISSING)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.arrays[0].dtype

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays if array.strides[0])

    @property
    def longest(self) -> int:
        """Samples of the longest array that takes memory."""
        return max((len(array) for array in self.arrays if array.strides[0]), default=0)

    @staticmethod
    def concat(parts: Sequence[SampleBlocks]) -> tuple[SampleBlocks, list[int]]:
        """All blocks, and how far positions of each part move. Arrays that end one and begin the next are shared."""
        arrays, bounds, moved = list(parts[0].arrays), list(parts[0].bounds.tolist()), [0]
        missing = [parts[0].missing]
        for part in parts[1:]:
            shared = _shared(arrays, part.arrays)
            start = bounds[len(arrays) - shared]
            for array in part.arrays[shared:]:
                arrays.append(array)
                bounds.append(bounds[-1] + len(array))
            moved.append(start)
            new = np.maximum(part.missing, part.bounds[shared])
            missing.append(new[new[:, 0] < new[:, 1]] + start)
        return SampleBlocks(tuple(arrays), np.array(bounds, np.int64), np.concatenate(missing)), moved

    @staticmethod
    def joined(parts: Sequence[SampleBlocks]) -> SampleBlocks:
        """Blocks one after the other, also where arrays are the same."""
        moved = np.cumsum([0, *(int(part.bounds[-1]) for part in parts)])
        arrays = tuple(array for part in parts for array in part.arrays)
        missing = np.concatenate([part.missing + by for part, by in zip(parts, moved.tolist(), strict=False)])
        return SampleBlocks(arrays, np.cumsum([0, *map(len, arrays)]), missing)

    def used(self, position: Integers, size: Integers) -> tuple[SampleBlocks, Integers]:
        """The blocks that some rows read, and where these rows begin in them."""
        first = np.searchsorted(self.bounds, position, "right") - 1
        last = np.searchsorted(self.bounds, position + size, "left")
        there = size > 0
        count = np.zeros(len(self.bounds) + 1, np.int64)
        np.add.at(count, first[there], 1)
        np.add.at(count, last[there], -1)
        kept = np.flatnonzero(np.cumsum(count)[:len(self.arrays)] > 0)
        if len(kept) == len(self.arrays):
            return self, position
        if not len(kept):
            return SampleBlocks.of(np.empty(0, self.dtype)), np.zeros(len(position), np.int64)
        lengths = np.diff(self.bounds)
        dropped = lengths.copy()
        dropped[kept] = 0
        before = np.append(0, np.cumsum(dropped))
        runs = np.searchsorted(self.bounds, self.missing[:, 0], "right") - 1
        held = np.isin(runs, kept)
        missing = self.missing[held] - before[runs[held]][:, None]
        arrays = tuple(self.arrays[block] for block in kept.tolist())
        moved = np.where(there, position - before[np.minimum(first, len(self.arrays))], 0)
        return SampleBlocks(arrays, np.cumsum([0, *map(len, arrays)]), missing), moved

    def arranged(self, position: Integers, size: Integers, index: Integers,
                 begins: Array) -> tuple[SampleBlocks, Integers]:
        """Views of the blocks so that rows follow each other, and where those that begin a new row are then.

        Samples whose numbers lie between two rows that follow each other are missing.
        """
        stop = position + size
        lost = np.append(0, np.where(begins[1:], 0, index[1:] - index[:-1] - size[:-1]))
        first = np.flatnonzero(np.append(True, position[1:] != stop[:-1]) | (lost != 0))
        last = np.append(first[1:], len(position)) - 1
        parts = list[SampleBlocks]()
        for before, one, other in zip(lost[first].tolist(), position[first].tolist(), stop[last].tolist(), strict=True):
            if before:
                parts.append(SampleBlocks.absent(self.dtype, before))
            parts.append(self.between(one, other))
        place = np.cumsum(lost[first] + stop[last] - position[first]) - (stop[last] - position[first])
        group = np.searchsorted(first, np.flatnonzero(begins), "right") - 1
        return SampleBlocks.joined(parts), place[group] + position[begins] - position[first[group]]

    def between(self, start: int, stop: int) -> SampleBlocks:
        """The blocks from one position to another, without a copy."""
        low = min(max(0, int(np.searchsorted(self.bounds, start, "right")) - 1), len(self.arrays) - 1)
        high = max(low + 1, int(np.searchsorted(self.bounds, stop, "left")))
        arrays = tuple(array if start <= first and first + len(array) <= stop
                       else array[max(0, start - first):max(0, stop - first)] for array, first in
                       zip(self.arrays[low:high], self.bounds[low:].tolist(), strict=False))
        missing = self.missing
        if len(missing):
            missing = np.clip(missing, start, stop)
            missing = missing[missing[:, 0] < missing[:, 1]] - start
        return SampleBlocks(arrays, np.cumsum([0, *map(len, arrays)]), missing)

    def around(self, start: int, stop: int) -> tuple[SampleBlocks, int]:
        """The blocks that have samples from one position to another, whole, and where these begin in them."""
        if start >= stop:
            return SampleBlocks.of(np.empty(0, self.dtype)), 0
        low, high = int(self.bounds.searchsorted(start, "right")) - 1, int(self.bounds.searchsorted(stop, "left"))
        if high - low == len(self.arrays):
            return self, start
        first, missing = int(self.bounds[low]), self.missing
        if len(missing):
            missing = np.clip(missing, first, self.bounds[high]) - first
            missing = missing[missing[:, 0] < missing[:, 1]]
        return SampleBlocks(self.arrays[low:high], self.bounds[low:high + 1] - first, missing), start - first

    def filled(self, value: Any) -> SampleBlocks:
        """The same blocks with a number in place of missing samples; only blocks with such samples are copied."""
        arrays = []
        for held, first in zip(self.arrays, self.bounds.tolist(), strict=False):
            array, lost = held, np.clip(self.missing, first, first + len(held)) - first
            lost = lost[lost[:, 0] < lost[:, 1]]
            if len(lost) == 1 and lost[0, 1] - lost[0, 0] == len(held):
                array = np.broadcast_to(np.array(value, self.dtype), held.shape)
            elif len(lost):
                array = held.copy()
                for start, stop in lost.tolist():
                    array[start:stop] = value
            arrays.append(array)
        return SampleBlocks.of(*arrays)

    def missing_between(self, start: Integers, stop: Integers) -> Integers:
        """How many samples are missing from each position to another."""
        if not len(self.missing):
            return np.zeros(len(start), np.int64)
        lengths = np.append(0, np.cumsum(self.missing[:, 1] - self.missing[:, 0]))

        def before(positions: Integers) -> Integers:
            run = np.searchsorted(self.missing[:, 0], positions, "right")
            over = np.where(run > 0, np.maximum(0, self.missing[np.maximum(run - 1, 0), 1] - positions), 0)
            return np.asarray(lengths[run] - over)

        return before(stop) - before(start)

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, Array]]:
        """The samples from one position to another as they lie in memory; missing ones are left out."""
        part = self.between(start, stop)
        cuts = np.unique(np.concatenate([part.bounds, part.missing.reshape(-1)]))
        inside = part.missing[:, 0].tolist()
        for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            run = int(np.searchsorted(inside, low, "right")) - 1
            if high > low and (run < 0 or part.missing[run, 1] <= low):
                block = int(np.searchsorted(part.bounds, low, "right")) - 1
                yield start + low, part.arrays[block][low - part.bounds[block]:high - part.bounds[block]]

    def block_of(self, position: Integers, size: Integers) -> Integers:
        """The block that each row lies in; -1 for rows that lie in several."""
        first = np.minimum(np.searchsorted(self.bounds, position, "right") - 1, len(self.arrays) - 1)
        return np.where(position + size <= self.bounds[first + 1], first, -1)

    def values(self, position: Integers, size: Integers, *, compact: bool = False) -> Array:
        """The samples of rows, one row after the other: a view where they lie so. Missing ones are arbitrary.

        With `compact`, a view of less than a quarter of a block is copied: a few samples must not keep many.
        """
        whole = int(size.sum())
        if not whole:
            return np.empty(0, self.dtype)
        continued = (position[1:] == position[:-1] + size[:-1]).all()
        if continued or whole >= _LONG_ROW * len(position):
            parts = self.slices(position, size)
            if len(parts) == 1 and compact and whole * _PINNED_SHARE < self.longest:
                return parts[0].copy()
            return joined(parts)
        offsets = np.cumsum(size) - size
        positions = np.repeat(position - offsets, size) + np.arange(whole)
        low, high = int(position.min()), int((position + size).max())
        near = self.between(low, high)
        everything = near.arrays[0] if len(near.arrays) == 1 else np.concatenate(near.arrays)
        return np.asarray(everything[positions - low])

    def slices(self, position: Integers, size: Integers) -> list[Array]:
        """The samples of rows, one row after the other, as they lie in the arrays."""
        begins = np.append(True, position[1:] != position[:-1] + size[:-1]).nonzero()[0]  # of rows that continue none
        starts, lengths = position[begins], np.add.reduceat(size, begins)
        blocks, bounds, found = self.bounds.searchsorted(starts, "right") - 1, self.bounds.tolist(), list[Array]()
        for start, length, first in zip(starts.tolist(), lengths.tolist(), blocks.tolist(), strict=True):
            block, stop = first, start + length
            while length and bounds[block] < stop:
                found.append(self.arrays[block][max(0, start - bounds[block]):stop - bounds[block]])
                block += 1
        return [part for part in found if len(part)]

    def matrix(self, position: Integers, size: int) -> Array:
        """Rows of one size as an array (rows, size): a view where they lie evenly in one block."""
        rows = len(position)
        lost = self.missing_between(position, position + size) if len(self.missing) else None
        if lost is not None and lost.any():
            return self._with_nan(position, size, lost)
        if not rows or not size:
            return np.empty((rows, size), self.dtype)
        low, high = int(position.min()), int(position.max())
        block = int(self.bounds.searchsorted(low, "right")) - 1
        if block < len(self.arrays) and high + size <= self.bounds[block + 1]:
            array, first = self.arrays[block], int(self.bounds[block])
            steps = position[1:] - position[:-1]
            hop = int(steps[0]) if rows > 1 else size
            if hop >= 0 and (steps == hop).all():
                stride = array.strides[0]
                return as_strided(array[low - first:], (rows, size), (hop * stride, stride), writeable=False)
            return _read_only(sliding_window_view(array, size)[position - first])
        return _read_only(self.values(position, np.full(rows, size)).reshape(rows, size))

    def _with_nan(self, position: Integers, size: int, lost: Integers) -> Array:
        dtype = self.dtype if self.dtype.kind in "fc" else np.dtype(np.float64)
        out = self.values(position, np.full(len(position), size)).reshape(len(position), size).astype(dtype)
        for row in np.flatnonzero(lost).tolist():
            start = int(position[row])
            for first, stop in self.between(start, start + size).missing.tolist():
                out[row, first:stop] = np.nan
        return _read_only(out)


def joined(parts: Sequence[Array]) -> Array:
    """Arrays end to end: the array itself, if there is one only."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _shared(before: Sequence[Array], after: Sequence[Array]) -> int:
    """How many arrays end the one and begin the other."""
    for count in range(min(len(before), len(after)), 0, -1):
        if all(one is other for one, other in zip(before[-count:], after[:count], strict=True)):
            return count
    return 0


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array
