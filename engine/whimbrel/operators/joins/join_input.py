"""State of one input of a join: pending rows and active rows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Mask, Schema, frozen
from whimbrel.batch.row_store import RowStore
from whimbrel.clock import MIN_TIME
from whimbrel.kernels import Compiled, KeyTable
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.joins.join import OF_BLOCK, hang_all

Array = np.ndarray[Any, Any]

_hang_all = Compiled(hang_all)
_CROWDED = 65_536
_SLOTS_AT_FIRST = 1024


class JoinInput:
    """Rows by slot; those of each key that may meet others stand in a block (``kernels.primitives.join``).

    Parameters
    ----------
    schema : Schema
    keys : sequence of str
    kept : sequence of str
        Columns to remember of active rows.
    nulls_equal : bool
        Whether a null key is a key as any other.

    Attributes
    ----------
    ends, group : numpy.ndarray
        Per slot: when the row ends; the id of its key (-1 where that is null, and nulls match nothing).
    blocks : numpy.ndarray
        Per key: where its block begins, its first row stands, and its block ends; whether rows end in another order.
    slots, used : numpy.ndarray
        What stands in the blocks, and how much of that is taken.
    points : bool
        Whether all rows so far last one tick, as they say together.
    """

    def __init__(self, schema: Schema, keys: Sequence[str], kept: Sequence[str], *, nulls_equal: bool = False) -> None:
        self.schema, self.keys, self.kept, self.nulls_equal = schema, tuple(keys), tuple(kept), nulls_equal
        self.waiting: list[Batch] = []
        self.nothing = Batch.empty(schema)
        self.watermark = MIN_TIME
        self.active = RowStore(schema.select(kept))
        self.ends, self.group = np.zeros(_SLOTS_AT_FIRST, np.int64), np.zeros(_SLOTS_AT_FIRST, np.int32)
        self.blocks = np.zeros(OF_BLOCK * _SLOTS_AT_FIRST, np.int32)
        self.slots, self.used = np.zeros(_SLOTS_AT_FIRST, np.int32), np.zeros(1, np.int64)
        self.crowded = _CROWDED
        self.last_end = MIN_TIME
        self.points = True

    def fork(self) -> JoinInput:
        clone = copy.copy(self)
        clone.waiting, clone.active = list(self.waiting), self.active.fork()
        for name in ("ends", "group", "blocks", "slots", "used"):
            setattr(clone, name, getattr(self, name).copy())
        return clone

    def __len__(self) -> int:
        """Rows held."""
        return len(self.active) + sum(map(len, self.waiting))

    def push(self, batch: Batch) -> None:
        if len(batch):
            self.waiting.append(batch.compact())

    def take_waiting(self, time: int, *, inclusive: bool) -> Batch:
        """Waiting rows with ``sync < time``, or up to `time`; they wait no longer."""
        removed = []
        while self.waiting:
            rows = self.waiting[0]
            cut = int(np.searchsorted(rows.sync, time, "right" if inclusive else "left"))
            if cut:
                removed.append(rows.slice(0, cut))
            if cut < len(rows):
                self.waiting[0] = rows.slice(cut, len(rows))
                break
            self.waiting.pop(0)
        return Batch.concat(removed) if removed else self.nothing

    def groups(self, rows: Batch, table: KeyTable) -> Array:
        """Ids of the keys; -1 where one is null, unless nulls are equal."""
        if not len(rows):
            return frozen(np.empty(0, np.int32))
        columns = [rows.column(name) for name in self.keys]
        ids = table.ids(columns, len(rows))
        for column in () if self.nulls_equal else columns:
            if column.valid is not None or not column.fixed:
                missing: Mask = ~column.validity()
                ids[missing] = -1
        return frozen(ids)

    def keep(self, rows: Batch, groups: Array, table: KeyTable) -> int:
        """Assign slots to rows that are not linked yet; return the first slot. All keys of the table then fit."""
        base, ends = len(self.active), rows.other
        if len(rows):
            self.active.append(rows.select(self.kept))
            self.points = self.points and isinstance(rows.ends, int) and rows.ends == 1
            self.last_end = max(self.last_end, int(ends.max()))
        total = base + len(rows)
        if total > len(self.group):
            self.ends, self.group = extend(self.ends, 2 * total, 0), extend(self.group, 2 * total, 0)
        if OF_BLOCK * len(table) > len(self.blocks):
            self.blocks = extend(self.blocks, 2 * OF_BLOCK * len(table), 0)
        self.ends[base:total], self.group[base:total] = ends, groups
        return base

    def hang_again(self, count: int, time: int) -> None:
        """Link the first `count` slots again, without rows that end by `time`, to free space."""
        self._take_down(count)
        self.slots = np.zeros(max(_SLOTS_AT_FIRST, 4 * count), np.int32)
        self.used[0] = _hang_all(count, time, self.group, self.ends, self.blocks, self.slots)

    def _take_down(self, count: int) -> None:
        group = self.group[:count]
        self.blocks.reshape(-1, OF_BLOCK)[group[group >= 0]] = 0

    def end(self) -> None:
        """Let go of everything: both sides have ended."""
        self.waiting, self.active = [], RowStore(self.schema.select(self.kept))
        self.ends, self.group = np.zeros(1, np.int64), np.zeros(1, np.int32)
        self.slots = np.zeros(1, np.int32)
        self.blocks[:], self.used[0] = 0, 0

    def forget(self, time: int) -> Array | None:
        """Let go of events that ended before `time`, once many or all did; answers the slots that stay, if any go."""
        kept = len(self.active)
        if not kept or (kept < self.crowded and self.last_end >= time):
            return None
        self._take_down(kept)
        alive = np.flatnonzero(self.ends[:kept] >= time)
        self.ends[: len(alive)], self.group[: len(alive)] = self.ends[alive], self.group[alive]
        self.hang_again(len(alive), time)
        self.last_end = int(self.ends[: len(alive)].max()) if len(alive) else MIN_TIME
        self.crowded = max(_CROWDED, 2 * len(alive))
        rows = self.active.take(alive)
        self.active = RowStore(rows.schema)
        self.active.append(rows)
        return alive
