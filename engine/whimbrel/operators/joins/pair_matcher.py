"""Match rows of two streams by keys, overlapping lifetimes and a condition."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Schema, Storage
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import Expr, predicate
from whimbrel.kernels import Compiled, KeyTable
from whimbrel.kernels.primitives.joins.join import LEFT, MET, OF_CURSOR, RIGHT, RUNS, temporal_join
from whimbrel.operators.joins.join_input import JoinInput
from whimbrel.operators.joins.join_schema import Pairs
from whimbrel.operators.joins.pair_runs import PairRuns

Array = np.ndarray[Any, Any]

_join = Compiled(temporal_join)
_CAPACITY = 131_072


@dataclass(frozen=True)
class Found:
    """Pairs in start order: the joined rows, and the pairs they are made of."""

    rows: Batch
    pairs: PairRuns
    true: Array | None = None

    def slots(self, side: int) -> Array:
        """Of each joined row the slot of one side's."""
        slots = self.pairs.slots(side)
        return slots if self.true is None else slots[self.true]


class PairMatcher:
    """Takes rows of both sides in time order, as far as both are known.

    Parameters
    ----------
    on : tuple of (str, str)
        Key columns; none for every pair that overlaps.
    upstream : tuple of Schema
        Of both sides.
    kept : tuple of sequence of str
        Columns to remember of either side.
    schema : Schema
        Of the joined rows.
    columns : list of (int, str)
        Side and name there of each column of the joined rows.
    condition : Expr, optional
        Over the joined rows.
    nulls_equal : bool
        Whether a null key matches a null key.

    Attributes
    ----------
    base, new : list
        The rows taken in by the last step, by side, and the slot of the first one.
    """

    def __init__(self, on: Pairs, upstream: Sequence[Schema], kept: Sequence[Sequence[str]], schema: Schema,
                 columns: Sequence[tuple[int, str]], condition: Expr | None, *, nulls_equal: bool = False) -> None:
        self.schema, self.columns, self.condition = schema, tuple(columns), condition
        self.keys = KeyTable([upstream[0].type_of(mine) for mine, _ in on])
        self.sides = [JoinInput(upstream[side], [pair[side] for pair in on], kept[side], nulls_equal=nulls_equal)
                      for side in (0, 1)]
        self.new = [Batch.empty(schema) for schema in upstream]
        self.base = [0, 0]
        self.cursor = np.zeros(OF_CURSOR, np.int64)
        self.until = MIN_TIME

    def fork(self) -> PairMatcher:
        clone = copy.copy(self)
        clone.sides, clone.cursor = [side.fork() for side in self.sides], self.cursor.copy()
        return clone

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.sides))

    def tell(self, watermark: int, port: int) -> int:
        """Update the watermark of one side; return the low watermark of both."""
        self.sides[port].watermark = watermark
        return min(side.watermark for side in self.sides)

    def step(self, time: int, storage: Storage | None = None) -> Iterator[Found]:
        """Pairs that begin up to `time`, as far as they were not found before; in a `storage`, where they stay."""
        self.begin(time)
        while not self.done:
            if (found := self.some(storage)) is not None:
                yield found

    def begin(self, time: int) -> None:
        """Take in the rows up to `time`, whose pairs :meth:`some` finds."""
        self.cursor[:], self.until = 0, time
        self.new = [side.take_waiting(time, inclusive=True) for side in self.sides]
        if not any(map(len, self.new)):
            self.base = [len(side.active) for side in self.sides]
            return
        groups = [side.groups(rows, self.keys) for side, rows in zip(self.sides, self.new, strict=True)]
        self.base = [side.keep(rows, ids, self.keys)
                     for side, rows, ids in zip(self.sides, self.new, groups, strict=True)]

    @property
    def done(self) -> bool:
        """Whether all pairs of the rows that were taken in are found."""
        return self.cursor[LEFT] >= len(self.new[0]) and self.cursor[RIGHT] >= len(self.new[1])

    @property
    def reached(self) -> int:
        """No pair that is still to be found begins before this."""
        following = (rows.sync[at] for rows, at in zip(self.new, self.cursor.tolist(), strict=False) if at < len(rows))
        return int(min(following, default=INF))

    def some(self, storage: Storage | None = None) -> Found | None:
        """The next pairs, if there are any among the rows that it looks at."""
        found, cursor = None, self.cursor
        runs = [np.empty(_CAPACITY, dtype) for dtype in (np.int8, np.int32, np.int32)]
        met = np.empty(_CAPACITY, np.int32)
        times = [np.empty(0 if self._point_side is not None else _CAPACITY, np.int64) for _ in range(2)]
        sides = (part for side, rows, base in zip(self.sides, self.new, self.base, strict=True) for part in (
            rows.sync, base, side.group, side.ends, side.blocks, side.slots, side.used))
        done = int(_join(cursor, self.until, *sides, *runs, met, *times))
        if done:
            side, row, stop = (_first(array, int(cursor[RUNS])) for array in runs)
            pairs = PairRuns(side, row, stop, _first(met, done))
            found = self._found(storage, pairs, *(_first(array, done) for array in times))
        if done < _CAPACITY:
            self._ensure_capacity(*cursor[:MET].tolist())
        return found if found is not None and len(found.rows) else None

    @property
    def _point_side(self) -> int | None:
        """A side of points: whatever meets one does so for that tick."""
        return next((port for port, side in enumerate(self.sides) if side.points), None)

    def _found(self, storage: Storage | None, pairs: PairRuns, *times: Array) -> Found:
        storage = storage if self.condition is None else None  # else some go at once
        points = self._point_side
        start: Array
        ends: Array | int
        if points is None:
            start, ends = times if storage is None else map(storage.keep, times)
            met = [self._columns(port, pairs, storage) for port in (0, 1)]
        else:
            those, others = self._rows(points, pairs, storage), self._columns(1 - points, pairs, storage)
            start, ends = those.sync, those.ends
            met = [list(those.columns), others] if points == 0 else [others, list(those.columns)]
        columns = [iter(each) for each in met]
        rows = Batch(self.schema, start, ends, tuple(next(columns[home]) for home, _ in self.columns), gaps=(0, INF))
        if self.condition is None:
            return Found(rows, pairs)
        true = np.flatnonzero(predicate(self.condition, rows))
        return Found(rows.take(true), pairs, true)

    def _names(self, port: int) -> list[str]:
        return [name for home, name in self.columns if home == port]

    def _rows(self, port: int, pairs: PairRuns, storage: Storage | None) -> Batch:
        """Of each pair the row of one side."""
        active, names = self.sides[port].active, self._names(port)
        whole = active.whole(len(pairs))
        return active.take(pairs.slots(port), names, storage) if whole is None else pairs.rows(
            port, whole.select(names), storage)

    def _columns(self, port: int, pairs: PairRuns, storage: Storage | None) -> list[Column]:
        """The same without their lifetimes."""
        active, names = self.sides[port].active, self._names(port)
        whole = active.whole(len(pairs))
        return active.columns(pairs.slots(port), names, storage) if whole is None else [
            pairs.column(port, whole.column(name), storage) for name in names]

    def _ensure_capacity(self, *done: int) -> None:
        """Let the next row hang, where so many of the new ones do already."""
        following = [(int(rows.sync[count]), port)
                     for port, (rows, count) in enumerate(zip(self.new, done, strict=True)) if count < len(rows)]
        if following:
            time, port = min(following)
            self.sides[port].hang_again(self.base[port] + done[port], time)

    def forget(self, watermark: int) -> list[Array | None]:
        """Let go of what is over; answers, for each side, the slots that stay, if others go."""
        if watermark == INF:
            for side in self.sides:
                side.end()
            return [None, None]
        return [side.forget(watermark) for side in self.sides]


def coverings(found: Sequence[Found], side: int) -> tuple[Array, Array, Array]:
    """When which rows of a side had a partner: slots, starts, ends."""
    none = np.empty(0, np.int64)
    return (np.concatenate([none, *(each.slots(side) for each in found)]),
            np.concatenate([none, *(each.rows.sync for each in found)]),
            np.concatenate([none, *(each.rows.other for each in found)]))


def _first(array: Array, count: int) -> Array:
    """The first of some values; a copy if they are few, to free the large array."""
    return array[:count] if 2 * count > len(array) else array[:count].copy()
