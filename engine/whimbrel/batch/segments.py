"""Windows of samples as values: integers over shared blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whimbrel.batch.sample_blocks import SampleBlocks
from whimbrel.batch.segment_type import SegmentType, sample_dtype

Array = np.ndarray[Any, Any]
Integers = np.ndarray[Any, np.dtype[np.int64]]

_MANY_BLOCKS = 16
"""So many blocks are worth a look at which of them are still used."""


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """A column of segments: a few integers a row over blocks that rows and columns share.

    Immutable. Selecting rows, parts of rows and appending rows moves integers, not samples.

        block      0  1  2  3  4  5  6  7
        row 0      └─────────┘              (index 0, size 4)
        row 1            └─────────┘        (index 2, size 4: the windows overlap, the samples are there once)

    Parameters
    ----------
    type : SegmentType
    blocks : SampleBlocks
        The samples, one block after the other.
    index : array of int64
        Number of the first sample of each row on its timebase.
    size : array of int64
        How many samples each row has, with those that are missing.
    position : array of int64
        Where the samples of each row begin in the blocks.
    valid : array of bool, optional
        False where the row is null; None when no row is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from fractions import Fraction
    >>> type_ = SegmentType(pa.int16(), Fraction(5))
    >>> windows = Segments.over(type_, np.arange(8, dtype=np.int16), first=0, index=np.array([0, 2, 4]), size=4)
    >>> windows.matrix().tolist()
    [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]
    >>> windows.part(np.full(3, 1), np.full(3, 2)).matrix().tolist()
    [[1, 2], [3, 4], [5, 6]]
    >>> np.shares_memory(windows.matrix(), windows.blocks.arrays[0])
    True
    """

    type: SegmentType
    blocks: SampleBlocks
    index: Integers
    size: Integers
    position: Integers
    valid: Array | None = None
    memo: dict[str, Array] = field(default_factory=dict, init=False, repr=False)
    """What functions have computed of these rows: one number a row, which other rows keep, or one a sample."""

    @staticmethod
    def over(type_: SegmentType, samples: Array, first: int, index: Integers, size: Integers | int) -> Segments:
        """Rows of one block, whose first sample has the number `first`."""
        index = np.asarray(index, np.int64)
        return Segments(type_, SampleBlocks.of(samples), index, np.broadcast_to(np.int64(size), index.shape),
                        index - first)

    @staticmethod
    def nulls(type_: SegmentType, rows: int) -> Segments:
        none = np.zeros(rows, np.int64)
        dtype = sample_dtype(type_.samples) or np.dtype(np.float64)
        return Segments(type_, SampleBlocks.of(np.empty(0, dtype)), none, none, none,
                        np.zeros(rows, np.bool_) if rows else None)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the samples."""
        return self.blocks.dtype

    @property
    def stop(self) -> Integers:
        """Where the samples of each row end in the blocks."""
        return self.position + self.size

    @property
    def nbytes(self) -> int:
        """Bytes of the blocks, and of the integers of the rows."""
        return self.blocks.nbytes + self.index.nbytes + self.size.nbytes + self.position.nbytes

    def validity(self) -> Array:
        """Bool array, False where a row is null."""
        return np.ones(len(self), np.bool_) if self.valid is None else self.valid

    def slice(self, start: int, stop: int) -> Segments:
        """Rows [start, stop)."""
        return self.with_rows(slice(start, stop))

    def take(self, rows: Integers) -> Segments:
        """The rows at these positions, in this order."""
        return self.with_rows(rows).without_unused()

    def take_or_null(self, rows: Integers, there: Array) -> Segments:
        """The rows at these positions, in this order; null where they are not there."""
        if not len(self):
            return Segments.nulls(self.type, len(rows))
        valid = there & self.validity()[rows]
        return replace(self, index=np.where(valid, self.index[rows], 0), size=np.where(valid, self.size[rows], 0),
                       position=np.where(valid, self.position[rows], 0), valid=valid)

    def with_rows(self, rows: Any) -> Segments:
        """Other rows of the same blocks: those at these positions, or of a slice; with what is known of them."""
        found = Segments(self.type, self.blocks, self.index[rows], self.size[rows], self.position[rows],
                         None if self.valid is None else self.valid[rows])
        found.memo.update((name, values[rows]) for name, values in self.memo.items() if values.ndim == 1)
        return found

    def part(self, start: Integers, size: Integers) -> Segments:
        """Of each row the samples from a number within it, so many; cut to what the row has."""
        start = np.minimum(np.maximum(start, 0), self.size)
        return replace(self, index=self.index + start, position=self.position + start,
                       size=np.minimum(np.maximum(size, 0), self.size - start))

    def append(self, other: Segments) -> Segments:
        """Each row, continued by the same row of another column; no sample is copied."""
        both = Segments.concat([self, other])
        rows = np.arange(2 * len(self)).reshape(2, -1).T.reshape(-1)
        return both.with_rows(rows).fused(np.arange(0, 2 * len(self), 2))

    def fused(self, first: Integers) -> Segments:
        """One row of several that continue each other, from each of these rows to before the next of them.

        Samples that are missing between two of them are missing in the row. The first must start before the others.
        """
        if not len(first):
            return self.slice(0, 0)
        last = np.append(first[1:], len(self)) - 1
        index, size = self.index[first], self.index[last] + self.size[last] - self.index[first]
        begins = np.zeros(len(self), np.bool_)
        begins[first] = True
        follows = self.position[1:] == self.stop[:-1]
        if (follows | begins[1:]).all() and (self.index[1:] == self.index[:-1] + self.size[:-1])[~begins[1:]].all():
            return Segments(self.type, self.blocks, index, size, self.position[first])
        blocks, position = self.blocks.arranged(self.position, self.size, self.index, begins)
        return Segments(self.type, blocks, index, size, position)

    @staticmethod
    def concat(columns: Sequence[Segments]) -> Segments:
        """Rows of several columns, one after the other; blocks that they share are there once."""
        blocks, moved = SampleBlocks.concat([column.blocks for column in columns])
        valid = None if all(column.valid is None for column in columns) else np.concatenate(
            [column.validity() for column in columns])
        return Segments(columns[0].type, blocks, np.concatenate([column.index for column in columns]),
                        np.concatenate([column.size for column in columns]),
                        np.concatenate([column.position + by for column, by in zip(columns, moved, strict=True)]),
                        valid)

    def without_unused(self) -> Segments:
        """Without the blocks that no row reads, where there are many."""
        if len(self.blocks.arrays) < _MANY_BLOCKS:
            return self
        blocks, position = self.blocks.used(self.position, self.size)
        if blocks is self.blocks:
            return self
        found = replace(self, blocks=blocks, position=position)
        found.memo.update(self.memo)
        return found

    def missing(self) -> Integers:
        """How many samples of each row are missing."""
        return self.blocks.missing_between(self.position, self.stop)

    def pieces(self, row: int) -> Iterator[tuple[int, Array]]:
        """The samples of a row as they lie in the blocks, with their numbers; missing samples are left out."""
        first = int(self.index[row]) - int(self.position[row])
        for position, samples in self.blocks.pieces(int(self.position[row]), int(self.stop[row])):
            yield first + position, samples

    def in_arrays(self, rows: Integers) -> Iterator[tuple[Integers, Array, Integers]]:
        """Some rows by the array that has all their samples: which rows, the array, and where in it each begins.

        Rows that lie in several blocks are copied into one array.
        """
        position, size = self.position[rows], self.size[rows]
        if len(self.blocks.arrays) == 1:
            yield rows, self.blocks.arrays[0], position
            return
        block = self.blocks.block_of(position, size)
        for number in np.unique(block).tolist():
            mine = np.flatnonzero(block == number)
            if number >= 0:
                yield rows[mine], self.blocks.arrays[number], position[mine] - self.blocks.bounds[number]
            else:
                yield rows[mine], self.blocks.values(position[mine], size[mine]), np.cumsum(size[mine]) - size[mine]

    def samples(self, row: int) -> Array:
        """The samples of a row: a view where they lie in one block. Missing ones are NaN, and integers then floats."""
        return self.slice(row, row + 1).matrix()[0]

    def matrix(self) -> Array:
        """All rows, which must have one size, as an array (rows, size).

        It is a view where the rows lie evenly in one block. Missing samples are NaN; integers are float64 then.
        """
        size = int(self.size[0]) if len(self) else 0
        return self.blocks.matrix(self.position, size)
