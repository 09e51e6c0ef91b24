"""Sorted runs of an Impatience sort, in one memory pool."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from whimbrel.kernels import Compiled, shuffled_order, time_order
from whimbrel.kernels.primitives.sorting import impatience as primitive

Array = np.ndarray[Any, Any]
Piece = tuple[Array, Array]
"""Times and numbers of rows in order."""

_insert = Compiled(primitive.insert)
_cut = Compiled(primitive.cut)
_merge_two = Compiled(primitive.merge_two)
_merge_pieces = Compiled(primitive.merge_pieces)

_CHUNKS_AT_FIRST = 16
_RUNS_AT_FIRST = 16
_LOOSE = 4
_MANY_ROWS, _LARGE_BLOCK = 1_024, 16_384
_SHORT_RUN, _SHUFFLED = 16, 4
"""Rows of a run on average, below which a block is sorted, and below which its rows are not tried to be moved."""
_MANY_BLOCKS = 16
_NONE = np.empty(0, np.int64)


class SortedRuns:
    """Times and numbers of waiting rows, in sorted runs with descending tails (Impatience, ICDE 2018, section III).

    Chunks that were cut off are used again; memory doubles when all are taken and is given back when no row waits.
    Large blocks, and rows that came in short runs, are sorted as a block. What waits of a block stays a run of its own.
    """

    def __init__(self) -> None:
        rows = _CHUNKS_AT_FIRST * primitive.CHUNK
        self.times, self.numbers = np.empty(rows, np.int64), np.empty(rows, np.int64)
        self.after, self.free = np.zeros(_CHUNKS_AT_FIRST, np.int64), np.arange(_CHUNKS_AT_FIRST)
        self.runs = np.zeros(primitive.COLUMNS * _RUNS_AT_FIRST, np.int64)
        self.tails = np.zeros(_RUNS_AT_FIRST, np.int64)
        self.scalars = np.zeros(primitive.SCALARS, np.int64)
        self.scalars[primitive.FREE] = _CHUNKS_AT_FIRST
        self.blocks: list[Piece] = []
        """Times and numbers of sorted blocks, without the rows that left."""

    def __len__(self) -> int:
        """How many runs."""
        return int(self.scalars[primitive.RUNS]) + len(self.blocks)

    @property
    def rows(self) -> int:
        return int(self.scalars[primitive.ROWS]) + sum(len(times) for times, _ in self.blocks)

    @property
    def loose(self) -> bool:
        """Whether most of the memory lies free: then the rows are better put into less."""
        chunks = len(self.after)
        return chunks > _CHUNKS_AT_FIRST and _LOOSE * (chunks - int(self.scalars[primitive.FREE])) < chunks

    @property
    def nbytes(self) -> int:
        return int(self.times.nbytes + self.numbers.nbytes) + sum(_held(part).nbytes
                                                                  for block in self.blocks for part in block)

    def ready(self) -> bool:
        """Whether the compiled kernels can be used now; if not, ask for them."""
        state = self._state()
        return all([_insert.ready(0, _NONE, _NONE, *state), _cut.ready(0, *state, _NONE, _NONE, _NONE),
                    _merge_pieces.ready(0, *[_NONE] * 8),
                    _merge_two.ready(_NONE, _NONE, 0, 0, _NONE, _NONE, 0, 0, _NONE, _NONE, 0)])

    def insert(self, times: Array, numbers: Array) -> None:
        """Take in rows in the order of arrival."""
        row = 0
        while (row := int(_insert(row, times, numbers, *self._state()))) < len(times):
            self._grow()

    def release(self, time: int, times: Array, numbers: Array) -> Array:
        """Take in rows in the order of arrival; the numbers of all rows up to a time, in order, which leave.

        Large blocks, and rows that come in short runs, are sorted together first. Dealing each to its run would cost
        more, since the processor cannot foresee which one it is. Those that leave at once then never see a run.
        """
        falls = np.count_nonzero(times[1:] < times[:-1])
        if len(times) < _MANY_ROWS or (len(times) < _LARGE_BLOCK and _SHORT_RUN * falls < len(times)):
            self.insert(times, numbers)
            return self.cut(time)
        order = shuffled_order(times) if _SHUFFLED * falls > len(times) else time_order(times)
        if order is not None:
            times, numbers = times[order], numbers[order]
        leave = int(times.searchsorted(time, "right"))
        out = _merged([(times[:leave], numbers[:leave]), *self._cut_blocks(time), self._cut_runs(time)])
        if leave < len(times) and len(self.blocks) < _MANY_BLOCKS:
            self.blocks.append((times[leave:].copy(), numbers[leave:].copy()))  # a view would keep what left
        else:
            self.insert(times[leave:], numbers[leave:])
        return out

    def cut(self, time: int) -> Array:
        """The numbers of all rows up to a time, in order; they leave."""
        return _merged([*self._cut_blocks(time), self._cut_runs(time)])

    def _cut_runs(self, time: int) -> Piece:
        """The rows of runs up to a time, in order; they leave."""
        rows, runs = int(self.scalars[primitive.ROWS]), int(self.scalars[primitive.RUNS])
        if not rows:
            return _NONE, _NONE
        times, numbers, bounds = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(runs, np.int64)
        pieces = int(_cut(time, *self._state(), times, numbers, bounds))
        rows = int(bounds[pieces - 1]) if pieces else 0
        if pieces < 2:
            return times[:rows], numbers[:rows]
        merged = [np.empty(3 * rows, np.int64) for _ in range(2)]
        begin = int(_merge_pieces(pieces, bounds, times, numbers, *merged,
                                  *[np.empty(2 * pieces, np.int64) for _ in range(3)]))
        return merged[0][begin : begin + rows], merged[1][begin : begin + rows]

    def _cut_blocks(self, time: int) -> list[Piece]:
        """The rows of blocks up to a time, sorted in each; they leave."""
        cut = [int(times.searchsorted(time, "right")) for times, _ in self.blocks]
        out = [(times[:end], numbers[:end]) for (times, numbers), end in zip(self.blocks, cut, strict=True)]
        self.blocks = [(_without(times, end), _without(numbers, end))
                       for (times, numbers), end in zip(self.blocks, cut, strict=True) if end < len(times)]
        return out

    def renumber(self, old: Array, new: Array) -> None:
        """Give all rows other numbers, in the same order; both ascend."""
        self.numbers = new[np.minimum(np.searchsorted(old, self.numbers), len(old) - 1)]
        self.blocks = [(times, new[np.searchsorted(old, numbers)]) for times, numbers in self.blocks]

    def fork(self) -> SortedRuns:
        clone = copy.copy(self)
        vars(clone).update({name: array.copy() for name, array in vars(self).items()})
        return clone

    def _state(self) -> tuple[Array, ...]:
        return self.times, self.numbers, self.after, self.free, self.runs, self.tails, self.scalars

    def _grow(self) -> None:
        if int(self.scalars[primitive.RUNS]) == len(self.tails):
            self.runs = np.concatenate([self.runs, np.zeros_like(self.runs)])
            self.tails = np.concatenate([self.tails, np.zeros_like(self.tails)])
            return
        chunks, free = len(self.after), int(self.scalars[primitive.FREE])
        self.times = np.concatenate([self.times, np.empty_like(self.times)])
        self.numbers = np.concatenate([self.numbers, np.empty_like(self.numbers)])
        self.after = np.concatenate([self.after, np.zeros_like(self.after)])
        self.free = np.concatenate([self.free[:free], np.arange(chunks, 2 * chunks), np.zeros(chunks - free, np.int64)])
        self.scalars[primitive.FREE] += chunks


def _held(part: Array) -> Array:
    """The memory that a part of an array keeps."""
    return part if part.base is None else part.base


def _without(part: Array, rows: int) -> Array:
    """What follows the first rows; their memory is given back where they were most of it."""
    rest = part[rows:]
    return rest.copy() if 2 * len(rest) < len(_held(part)) else rest


def _merged(pieces: list[Piece]) -> Array:
    """The numbers of all rows, in order: the two smallest pieces are merged first."""
    pieces = [piece for piece in pieces if len(piece[0])]
    while len(pieces) > 1:
        pieces.sort(key=lambda piece: len(piece[0]), reverse=True)
        left, right = pieces.pop(), pieces.pop()
        rows = len(left[0]) + len(right[0])
        merged = np.empty(rows, np.int64), np.empty(rows, np.int64)
        _merge_two(*left, 0, len(left[0]), *right, 0, len(right[0]), *merged, 0)
        pieces.append(merged)
    return pieces[0][1] if pieces else _NONE
