"""Kernel of resample: one grid point after the other, by key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Schema, check_reach, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.disorder import Sorter
from whimbrel.kernels import PORTION_ROWS, Compiled, Kernel, KeyTable, scratch
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.lifetimes.resample import (
    HOLD,
    KEPT,
    LINEAR,
    LOWEST,
    NEAREST,
    OPEN,
    OVERLAP,
    READ,
    USED,
    due_points,
    on_line,
    resample_one,
    resample_rows,
)
from whimbrel.operators.rows.assumption_errors import assumption_error, shown_time

Array = np.ndarray[Any, Any]

_resample, _resample_one = Compiled(resample_rows), Compiled(resample_one)
_due, _on_line = Compiled(due_points), Compiled(on_line)
_METHODS = {"hold": HOLD, "nearest": NEAREST, "linear": LINEAR}
_NO_ENDS = frozen(np.empty(0, np.int64))
_CAPACITY, _CAPACITY_AT_LEAST = 65_536, 256
_KEYS_AT_FIRST = 64
_FARTHEST = 1 << 62
"""Times closer to an end of int64 than this are refused: the distance of two others is int64."""


class ResampleKernel(Kernel):
    """Keeps the last sample of each key in a pool as long as a grid point may need it.

    Attributes
    ----------
    pool, pooled : list of Column, int
        The last samples, and how many these are; while a batch is worked on, also its rows.
    todo : list of Batch, list of array
        Rows to take in, and their keys. The first batch is in the pool from `base` on, and done up to `row`.
    settling : int
        The watermark up to which due points are being looked for; MIN_TIME while nobody looks.
    many : bool
        Whether the buffers were full the last time.
    """

    def __init__(self, schema: Schema, out_schema: Schema, how: str, period: int, offset: int, limit: int,
                 keys: tuple[str, ...], where: str) -> None:
        self.out_schema, self.how, self.where, self.columns = out_schema, _METHODS[how], where, keys
        self.period, self.offset, self.limit = period, offset, limit
        self.keys = KeyTable([schema.type_of(name) for name in keys])
        self.last, self.ended, self.following = (np.full(_KEYS_AT_FIRST, MIN_TIME) for _ in range(3))
        self.held = np.full(_KEYS_AT_FIRST, -1)
        self.open = np.zeros(2 * _KEYS_AT_FIRST, np.int64)  # a key that is reopened may be in it twice
        self.scalars = np.zeros(6, np.int64)
        self.pool = [Column.nulls(field.type, 0) for field in schema]
        self.pooled = 0
        self.many = False
        self.todo: list[Batch] = []
        self.ids: list[Array] = []
        self.base, self.row = 0, -1
        self.input_watermark = self.settling = self.settled = MIN_TIME
        self.done = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        check_reach(batch, _FARTHEST, self.where, in_order=True)
        ids = self.keys.ids([batch.column(name) for name in self.columns], len(batch))
        self._grow(len(self.keys))
        self.todo.append(batch)
        self.ids.append(frozen(ids))
        return self.next_portion() if len(self.todo) == 1 and not self._points_are_due else []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        waiting = self.more
        self.input_watermark = watermark
        return [] if waiting else self.next_portion()

    @property
    def more(self) -> bool:
        return bool(self.todo) or self._points_are_due

    @property
    def _points_are_due(self) -> bool:
        return self.settling != MIN_TIME or self.settled < self.input_watermark

    @property
    def growing(self) -> str:
        return f"a long time between two samples has a row every {self.period:,} ticks"

    @property
    def buffered_rows(self) -> int:
        return int(self.scalars[OPEN] - self.scalars[READ] + self.scalars[KEPT]) + self.done.rows + sum(
            map(len, self.todo))

    def next_portion(self) -> list[Batch]:
        out, remaining = list[Batch](), PORTION_ROWS
        while self.todo and remaining > 0:
            out += self._take_in()
            remaining -= int(self.scalars[USED])
        while not self.todo and remaining > 0 and self._points_are_due:
            out += self._settle()
            remaining -= int(self.scalars[USED])
        self.watermark = max(self.watermark, self._known_until())
        if not self.columns:
            return out
        for batch in out:
            self.done.add(batch)
        time = self.watermark
        return self.done.release(time if time in (INF, MIN_TIME) else time - 1)

    def _known_until(self) -> int:
        """The time before which no further point can come."""
        if self.more:
            return MIN_TIME if self.columns else min(self.input_watermark, int(self.following[0]))
        known = min(self.settled, int(self.scalars[LOWEST])) if self.scalars[OPEN] else self.settled
        if self.how == NEAREST and self.limit > 0 and known != INF:  # a sample reaches back
            return min(known, max(MIN_TIME, self.settled - self.limit))
        return known

    def _take_in(self) -> list[Batch]:
        """Take in rows until the buffers are full or the batch is done."""
        batch, ids = self.todo[0], self.ids[0]
        if self.row < 0:
            self.base, self.row = self.pooled, 0
            self.pool = [Column.concat([last, new]) if self.base else new
                         for last, new in zip(self.pool, batch.columns, strict=True)]
            self.pooled += len(batch)
        same = isinstance(batch.ends, int)
        ends, lasts = (_NO_ENDS, batch.ends) if same else (frozen(batch.other), 0)
        buffers = self._buffers(len(batch))
        loop, keyed = (_resample, (ids,)) if self.columns or self.how == NEAREST else (_resample_one, ())
        self.row = int(loop(self.row, *keyed, frozen(batch.sync), ends, lasts, self.base, self.how, self.period,
                            self.offset, self.limit, self.last, self.ended, self.following, self.held, self.open,
                            self.scalars, *buffers))
        if self.scalars[OVERLAP]:
            before = shown_time(batch, int(self.last[ids[self.row]]))
            raise assumption_error(batch, self.row, self.columns, f"begins before the one at {before} has ended",
                                   self.where, _OVERLAP_HINT)
        out = self._made(buffers)
        if self.row == len(batch):
            self.todo.pop(0)
            self.ids.pop(0)
            self.row = -1
            self._let_go()
        return out

    def _let_go(self) -> None:
        """Drop the samples that no point can need any more."""
        at = self.scalars
        keys = np.concatenate([self.open[:at[KEPT]], self.open[at[READ]:at[OPEN]]])
        rows = self.held[keys]
        self.pool = [column.take(rows) for column in self.pool]
        self.pooled = len(keys)
        self.held[keys] = np.arange(len(keys))

    def _settle(self) -> list[Batch]:
        """Find points whose value is known, until the buffers are full or there is none."""
        if self.settling == MIN_TIME:
            self.settling = self.input_watermark
        buffers = self._buffers(int(self.scalars[OPEN]))
        if _due(self.settling, self.how, self.period, self.limit, self.last, self.following, self.held, self.open,
                self.scalars, *buffers):
            self.settled, self.settling = self.settling, MIN_TIME
        return self._made(buffers)

    def _buffers(self, rows: int) -> tuple[Array, ...]:
        """Buffers for the points of some rows or keys; large ones cost more than a few points do."""
        self.scalars[USED] = 0
        capacity = _CAPACITY if self.many else min(_CAPACITY, max(_CAPACITY_AT_LEAST, 2 * rows))
        return tuple(scratch(name, capacity) for name in ("point", "left", "right", "age", "apart"))

    def _made(self, buffers: tuple[Array, ...]) -> list[Batch]:
        """The rows of some grid points."""
        used = int(self.scalars[USED])
        self.many = used == len(buffers[0])
        if not used:
            return []
        time, left, right, age, apart = (frozen(buffer[:used]) for buffer in buffers)
        columns = tuple(
            column.take(left) if self.how != LINEAR or field.name in self.columns
            else self._on_line(column, field.type, left, right, age, apart)
            for field, column in zip(self.out_schema, self.pool, strict=True))
        times = np.copy(time) if self.storage is None else self.storage.copy(time)
        return [Batch(self.out_schema, times, self.period, columns)]

    def _on_line(self, column: Column, type_: pa.DataType, left: Array, right: Array, age: Array,
                 apart: Array) -> Column:
        known = right >= 0
        if not pa.types.is_integer(column.type) and not pa.types.is_floating(column.type):
            return column.take_or_null(np.where(known, left, 0), known)
        valid = known if column.valid is None else column.valid[left] & column.valid[right] & known
        out = (np if self.storage is None else self.storage).empty(len(left), type_.to_pandas_dtype())
        with np.errstate(all="ignore"):
            _on_line(np.asarray(column.values), left, right, age, apart, out)
        return Column(type_, out, None if valid.all() else valid)

    def _grow(self, keys: int) -> None:
        if keys <= len(self.last):
            return
        self.last, self.ended, self.following = (extend(array, 2 * keys, MIN_TIME)
                                                 for array in (self.last, self.ended, self.following))
        self.held, self.open = extend(self.held, 2 * keys, -1), extend(self.open, 4 * keys, 0)


_OVERLAP_HINT = "Use group_by(...), or aggregate the events of a time first."
