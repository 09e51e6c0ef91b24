"""One input of an operator over two streams: rows that wait for the other side, and rows that are still active."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Mask, Schema, frozen
from whimbrel.clock import MIN_TIME
from whimbrel.kernels import Compiled, KeyTable
from whimbrel.kernels.primitives.join import forget_ended
from whimbrel.operators.measure import extend
from whimbrel.operators.rowstore import RowStore

Array = np.ndarray[Any, Any]

_forget_ended = Compiled(forget_ended)
_CROWDED = 65_536
_SLOTS_AT_FIRST = 1024


class Side:
    """Rows by slot, hung in one chain per key.

    Parameters
    ----------
    schema : Schema
    keys : sequence of str
    kept : sequence of str
        Columns to remember of active rows.

    Attributes
    ----------
    links, group : numpy.ndarray
        Per slot: when the row ends, and the slot behind it in its chain, side by side; the id of its key (-1 where one
        is null).
    head : numpy.ndarray
        Per key: the first slot of its chain, or -1.
    """

    def __init__(self, schema: Schema, keys: Sequence[str], kept: Sequence[str]) -> None:
        self.schema, self.keys, self.kept = schema, tuple(keys), tuple(kept)
        self.waiting: list[Batch] = []
        self.frontier = MIN_TIME
        self.active = RowStore(schema.select(kept))
        self.links = np.zeros(2 * _SLOTS_AT_FIRST, np.int64)
        self.group = np.zeros(_SLOTS_AT_FIRST, np.int32)
        self.head = np.full(_SLOTS_AT_FIRST, -1, np.int64)
        self.crowded = _CROWDED
        self.last_end = MIN_TIME

    def fork(self) -> Side:
        twin = copy.copy(self)
        twin.waiting, twin.active = list(self.waiting), self.active.fork()
        for name in ("links", "group", "head"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    @property
    def ends(self) -> Array:
        """Per slot: when the row ends."""
        return self.links[::2]

    def __len__(self) -> int:
        """Rows held."""
        return len(self.active) + sum(map(len, self.waiting))

    def push(self, batch: Batch) -> None:
        if len(batch):
            self.waiting.append(batch.compact())

    def take_waiting(self, time: int, *, inclusive: bool) -> Batch:
        """Waiting rows with ``sync < time``, or up to `time`; they wait no longer."""
        gone = []
        while self.waiting:
            rows = self.waiting[0]
            cut = int(np.searchsorted(rows.sync, time, "right" if inclusive else "left"))
            if cut:
                gone.append(rows.slice(0, cut))
            if cut < len(rows):
                self.waiting[0] = rows.slice(cut, len(rows))
                break
            self.waiting.pop(0)
        return Batch.concat(gone) if gone else Batch.empty(self.schema)

    def groups(self, rows: Batch, table: KeyTable) -> Array:
        """Ids of the keys; -1 where one is null."""
        columns = [rows.column(name) for name in self.keys]
        ids = table.ids(columns, len(rows))
        for column in columns:
            missing: Mask = ~column.validity()
            ids[missing] = -1
        return frozen(ids)

    def keep(self, rows: Batch, groups: Array, table: KeyTable) -> int:
        """Give slots to rows, not hung yet; answers the first one's. All keys of the table have room from now on."""
        base = len(self.active)
        self.active.append(rows.select(self.kept))
        total = base + len(rows)
        if total > len(self.group):
            self.links, self.group = extend(self.links, 4 * total, 0), extend(self.group, 2 * total, 0)
        if len(table) > len(self.head):
            self.head = extend(self.head, 2 * len(table), -1)
        self.group[base:total] = groups
        if len(rows):
            self.last_end = max(self.last_end, int(rows.other.max()))
        return base

    def end(self) -> None:
        """Let go of everything: both sides have ended."""
        self.waiting, self.active = [], RowStore(self.schema.select(self.kept))
        self.links, self.group = np.zeros(2, np.int64), np.zeros(1, np.int32)

    def forget(self, time: int) -> Array | None:
        """Let go of events that ended before `time`, once many or all did; answers the slots that stay, if any go."""
        kept = len(self.active)
        if not kept or (kept < self.crowded and self.last_end >= time):
            return None
        alive = np.empty(kept, np.int64)
        alive = alive[: int(_forget_ended(time, kept, self.group, self.links, self.head, alive))]
        self.last_end = int(self.links[: 2 * len(alive) : 2].max()) if len(alive) else MIN_TIME
        self.crowded = max(_CROWDED, 2 * len(alive))
        rows = self.active.take(alive)
        self.active = RowStore(rows.schema)
        self.active.append(rows)
        return alive
