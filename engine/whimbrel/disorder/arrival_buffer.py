"""Buffer rows by arrival number."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Mask, Schema
from whimbrel.kernels import PrefetchingStorage

Array = np.ndarray[Any, Any]

_BATCH_ROWS = 65_536
_SPARSE = 4
_SORTED = PrefetchingStorage()
_NO_COLUMNS = Schema(())
_NONE_REMOVED: Mask = np.empty(0, np.bool_)


class Arrivals:
    """Batches as they came, kept until their last row has left; rows are copied once, when they leave.

    Attributes
    ----------
    batches : list of Batch
    lengths : list of int
        How many rows each batch has.
    first : list of int
        The number of each batch's first row.
    left : list of int
        How many rows of each batch wait.
    removed : list of array of bool
        Which rows of each batch have left; empty where none has.
    following : int
        The number that the next row gets.
    rows : int
        Rows that wait.
    held_rows : int
        Rows in memory: also those that left, while others of their batch wait.
    nbytes : int
        The bytes of these. All three are counted as rows come and leave, since they are asked for after each batch.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.lengths: list[int] = []
        self.first: list[int] = []
        self.left: list[int] = []
        self.removed: list[Mask] = []
        self.following = self.rows = self.held_rows = self.nbytes = 0

    def add(self, batch: Batch) -> int:
        """Take in rows; answers with the number of the first."""
        rows = len(batch)
        self.batches.append(batch)
        self.lengths.append(rows)
        self.first.append(self.following)
        self.left.append(rows)
        self.removed.append(_NONE_REMOVED)
        self.following += rows
        self.rows += rows
        self.held_rows += rows
        self.nbytes += batch.nbytes
        return self.first[-1]

    def times(self) -> Array:
        """Times of the rows that wait, as they arrived."""
        return np.concatenate([batch.sync[~removed] if len(removed) else batch.sync
                               for batch, removed in zip(self.batches, self.removed, strict=True)])

    def numbers(self) -> Array:
        """Numbers of the rows that wait, as they arrived."""
        return np.concatenate([first + (np.flatnonzero(~removed) if len(removed) else np.arange(len(batch)))
                               for batch, first, removed in zip(self.batches, self.first, self.removed, strict=True)])

    def take_all(self, order: Array | None) -> list[Batch]:
        """All rows that wait, in this order of their arrival (None: as they came); they leave."""
        batches = [batch.take(np.flatnonzero(~removed)) if len(removed) else batch
                   for batch, removed in zip(self.batches, self.removed, strict=True)]
        self._keep([])
        self.rows = 0
        if order is None:
            return batches
        ends = np.cumsum([len(batch) for batch in batches])
        return _picked(batches, ends, order)

    def take_first(self, rows: int) -> list[Batch]:
        """The first rows that wait, as they came, where of no batch others than its first have left; they leave."""
        whole = bisect_right(list(accumulate(self.lengths)), rows)
        left = self.batches[:whole]
        cut = rows - sum(self.lengths[:whole])
        self.rows -= rows
        self._keep([*range(whole, len(self.batches))])
        if cut:
            batch = self.batches[0]
            left.append(batch.slice(0, cut))
            self.batches[0] = batch.slice(cut, len(batch))
            self.nbytes += self.batches[0].nbytes - batch.nbytes
            self.lengths[0] = self.left[0] = len(batch) - cut
            self.first[0] += cut
            self.held_rows -= cut
        return _joined_small(left)

    def take(self, numbers: Array) -> list[Batch]:
        """The rows with these numbers, in this order; they leave."""
        first = np.array(self.first)
        ends = np.cumsum(self.lengths)
        indices = numbers - first[0]
        if ends[-1] != first[-1] + self.lengths[-1] - first[0]:  # batches between these have left
            which = np.searchsorted(first, numbers, "right") - 1
            indices = numbers - first[which] + (ends - np.diff(ends, prepend=0))[which]
        out = _picked(self.batches, ends, indices)
        self._leave(indices, ends)
        return out

    def tighten(self) -> tuple[Array, Array]:
        """Give up the memory of rows that left, by copying those that wait; old and new numbers, both ascending."""
        numbers = self.numbers() if self.batches else np.empty(0, np.int64)
        rows = self.take_all(None)
        first = self.add(Batch.concat(rows)) if rows else 0
        return numbers, np.arange(first, first + len(numbers))

    def _leave(self, indices: Array, ends: Array) -> None:
        indices = np.sort(indices)
        low, high = np.searchsorted(ends, indices[[0, -1]], "right").tolist()
        cuts = [0, *np.searchsorted(indices, ends[low : high + 1]).tolist()]
        self.rows -= len(indices)
        for number in range(low, high + 1):
            begin = int(ends[number]) - self.lengths[number]
            inside = indices[cuts[number - low] : cuts[number - low + 1]]
            self.left[number] -= len(inside)
            if len(inside) and self.left[number]:
                removed = self.removed[number]
                if not len(removed):
                    removed = np.zeros(self.lengths[number], np.bool_)
                    self.nbytes += removed.nbytes
                removed[inside - begin] = True
                self.removed[number] = removed
        self._keep([number for number, left in enumerate(self.left) if left])

    def _keep(self, stay: list[int]) -> None:
        if len(stay) == len(self.left):
            return
        for number in set(range(len(self.left))).difference(stay):
            self.held_rows -= self.lengths[number]
            self.nbytes -= self.batches[number].nbytes + self.removed[number].nbytes
        self.batches = [self.batches[number] for number in stay]
        self.removed = [self.removed[number] for number in stay]
        self.lengths, self.first, self.left = ([of[number] for number in stay]
                                               for of in (self.lengths, self.first, self.left))

    def fork(self) -> Arrivals:
        clone = Arrivals()
        clone.__dict__.update(self.__dict__)
        clone.batches = list(self.batches)
        clone.lengths, clone.first, clone.left = list(self.lengths), list(self.first), list(self.left)
        clone.removed = [removed.copy() for removed in self.removed]
        return clone


def _joined_small(batches: list[Batch]) -> list[Batch]:
    """The same rows in fewer batches, without copying large ones."""
    out, small, rows = [], list[Batch](), 0
    for batch in batches:
        if small and rows + len(batch) > _BATCH_ROWS:
            out.append(Batch.concat(small))
            small, rows = [], 0
        small.append(batch)
        rows += len(batch)
    return [*out, Batch.concat(small)] if small else out


def _picked(batches: list[Batch], ends: Array, indices: Array) -> list[Batch]:
    """Rows by their place in batches put end to end, of which no more are put together than needed."""
    steps = range(0, len(indices), _BATCH_ROWS)
    if len(indices) * _SPARSE > ends[-1]:  # memory that is asked for at once is had sooner than piece by piece
        whole = _gathered(batches, indices)
        return [whole.slice(start, start + _BATCH_ROWS) for start in steps]
    out = []
    for start in steps:
        some = indices[start : start + _BATCH_ROWS]
        low, high = np.searchsorted(ends, [some.min(), some.max()], "right")
        between, begin = batches[low : high + 1], int(ends[low]) - len(batches[low])
        if ends[high] - begin > _SPARSE * len(some):  # one late row must not have all that came since put together
            between, some = _cut_out(between, some - begin)
            begin = 0
        out.append(_rows_of(Batch.concat(between), some - begin))
    return out


def _gathered(batches: list[Batch], indices: Array) -> Batch:
    """Rows by their place in batches put end to end, column by column: each uses the memory of the one before."""
    if len(batches) == 1 or _follow_each_other(indices):
        return _rows_of(Batch.concat(batches), indices)
    timeline = Batch.concat([batch.computed(_NO_COLUMNS, ()) for batch in batches]).take(indices, _SORTED)
    columns = [Column(parts[0].type, timeline.sync) if all(map(Batch.is_time, batches, parts))
               else Column.concat(parts).take(indices, _SORTED)
               for parts in zip(*[batch.columns for batch in batches], strict=True)]
    return timeline.computed(batches[0].schema, tuple(columns))


def _cut_out(batches: list[Batch], indices: Array) -> tuple[list[Batch], Array]:
    """Only these rows of the batches, and where they are then."""
    order = np.argsort(indices)
    inside = indices[order]
    ends = np.cumsum([len(batch) for batch in batches])
    cuts = [0, *np.searchsorted(inside, ends).tolist()]
    rows = [batch.take(inside[start:stop] - (end - len(batch)))
            for batch, end, start, stop in zip(batches, ends, cuts[:-1], cuts[1:], strict=True) if start < stop]
    now = np.empty_like(order)
    now[order] = np.arange(len(order))
    return rows, now


def _rows_of(batch: Batch, rows: Array) -> Batch:
    """Rows of a batch; without copying where they follow each other."""
    if _follow_each_other(rows):
        return batch.slice(int(rows[0]), int(rows[-1]) + 1)
    return batch.take(rows, _SORTED)


def _follow_each_other(rows: Array) -> bool:
    return bool(rows[-1] - rows[0] == len(rows) - 1 and (rows[1:] > rows[:-1]).all())
