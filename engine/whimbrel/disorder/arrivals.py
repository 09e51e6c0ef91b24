"""Rows that wait, by the number that each got when it arrived."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, Mask

Array = np.ndarray[Any, Any]

_BATCH_ROWS = 65_536
_SPARSE = 4
_NONE_GONE: Mask = np.empty(0, np.bool_)


class Arrivals:
    """Batches as they came, kept until their last row has left; rows are copied once, when they leave.

    Attributes
    ----------
    batches : list of Batch
    first : list of int
        The number of each batch's first row.
    left : list of int
        How many rows of each batch wait.
    gone : list of array of bool
        Which rows of each batch have left; empty where none has.
    following : int
        The number that the next row gets.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.first: list[int] = []
        self.left: list[int] = []
        self.gone: list[Mask] = []
        self.following = 0

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return sum(self.left)

    @property
    def held_rows(self) -> int:
        """Rows in memory: also those that left, while others of their batch wait."""
        return sum(map(len, self.batches))

    @property
    def nbytes(self) -> int:
        return sum(batch.nbytes + gone.nbytes for batch, gone in zip(self.batches, self.gone, strict=True))

    def add(self, batch: Batch) -> Array:
        """Take in rows; answers with their numbers."""
        self.batches.append(batch)
        self.first.append(self.following)
        self.left.append(len(batch))
        self.following += len(batch)
        self.gone.append(_NONE_GONE)
        return np.arange(self.first[-1], self.following)

    def waiting(self) -> tuple[Array, Array]:
        """Numbers and times of the rows that wait, as they arrived."""
        if not self.batches:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        numbers = [first + (np.flatnonzero(~gone) if len(gone) else np.arange(len(batch)))
                   for batch, first, gone in zip(self.batches, self.first, self.gone, strict=True)]
        times = [batch.sync[~gone] if len(gone) else batch.sync
                 for batch, gone in zip(self.batches, self.gone, strict=True)]
        return np.concatenate(numbers), np.concatenate(times)

    def take(self, numbers: Array) -> list[Batch]:
        """The rows with these numbers, in this order; they leave."""
        out = []
        if len(numbers) * _SPARSE > self.held_rows:
            whole, places = Batch.concat(self.batches), self._places(numbers)
            out = [_picked(whole, places[start : start + _BATCH_ROWS]) for start in range(0, len(places), _BATCH_ROWS)]
        else:
            out = [self._gathered(numbers[start : start + _BATCH_ROWS])
                   for start in range(0, len(numbers), _BATCH_ROWS)]
        self._leave(numbers)
        return out

    def tighten(self) -> tuple[Array, Array]:
        """Give up the memory of rows that left, by copying those that wait; old and new numbers, both ascending."""
        numbers, _ = self.waiting()
        rows = self._gathered(numbers) if len(numbers) else None
        self.batches, self.first, self.left, self.gone = [], [], [], []
        return numbers, numbers if rows is None else self.add(rows)

    def _leave(self, numbers: Array) -> None:
        which = self._batch_of(numbers)
        inside = numbers - np.array(self.first)[which]
        order = which.argsort(kind="stable")
        counts = np.bincount(which, minlength=len(self.first))
        for place, rows in enumerate(np.split(inside[order], counts.cumsum()[:-1])):
            self.left[place] -= len(rows)
            if len(rows) and self.left[place]:
                gone = self.gone[place] if len(self.gone[place]) else np.zeros(len(self.batches[place]), np.bool_)
                gone[rows] = True
                self.gone[place] = gone
        stay = [place for place, left in enumerate(self.left) if left]
        self.batches, self.first = [self.batches[place] for place in stay], [self.first[place] for place in stay]
        self.left, self.gone = [self.left[place] for place in stay], [self.gone[place] for place in stay]

    def _batch_of(self, numbers: Array) -> Array:
        return np.searchsorted(self.first, numbers, "right") - 1

    def _places(self, numbers: Array) -> Array:
        """Where rows would lie if all batches were put end to end."""
        lengths = np.array([len(batch) for batch in self.batches])
        return numbers + (lengths.cumsum() - lengths - self.first)[self._batch_of(numbers)]

    def _gathered(self, numbers: Array) -> Batch:
        which = self._batch_of(numbers)
        touched, place = np.unique(which, return_inverse=True)
        parts = [self.batches[number] for number in touched]
        inside = numbers - np.array(self.first)[which]
        if sum(map(len, parts)) <= _SPARSE * len(numbers):
            lengths = np.array([len(part) for part in parts])
            return _picked(Batch.concat(parts), inside + (lengths.cumsum() - lengths)[place])
        order = place.argsort(kind="stable")  # batch by batch, then put in order: no more work than there are rows
        pieces = np.split(inside[order], np.bincount(place).cumsum()[:-1])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return Batch.concat([part.take(rows) for part, rows in zip(parts, pieces, strict=True)]).take(back)

    def fork(self) -> Arrivals:
        twin = Arrivals()
        twin.batches, twin.first, twin.left = list(self.batches), list(self.first), list(self.left)
        twin.gone, twin.following = [gone.copy() for gone in self.gone], self.following
        return twin


def _picked(batch: Batch, rows: Array) -> Batch:
    """Rows of a batch; without copying where they follow each other."""
    start, length = int(rows[0]), len(rows)
    if rows[-1] - start == length - 1 and (rows[1:] > rows[:-1]).all():
        return batch.slice(start, start + length)
    return batch.take(rows)
