"""Kernel of the as-of join.

Left rows wait until their nearest right row is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema, frozen
from whimbrel.batch.row_store import RowStore
from whimbrel.clock import INF, MIN_TIME
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.joins.asof import (
    BACKWARD,
    ENTRY,
    FORWARD,
    FRESH,
    LEFT,
    PASSED,
    asof_match,
    hang_last,
    latest_match,
)
from whimbrel.operators.joins.join_input import JoinInput
from whimbrel.operators.joins.join_schema import JoinedRow

Array = np.ndarray[Any, Any]

_match = Compiled(asof_match)
_latest_match = Compiled(latest_match)
_hang_last = Compiled(hang_last)
_CAPACITY = 65_536
_CROWDED = 65_536
_SLOTS_AT_FIRST = 1024


class AsofKernel(Kernel):
    """Left rows are answered in time order.

    Those that look backward pass the right rows on their way. For others right rows hang in time order per key.

    Parameters
    ----------
    row : JoinedRow
    upstream : tuple of Schema
        Of both sides.
    schema : Schema
        Of the joined rows.
    direction : int
        See ``kernels.primitives.asof``.
    tolerance : int
        Most ticks between the two starts.
    strict : bool
        Whether an equal start is no match.
    last : bool
        Whether only the last of the right rows of one start matches.
    nulls_equal : bool
        Whether a null key matches a null key.
    """

    def __init__(self, row: JoinedRow, upstream: tuple[Schema, Schema], schema: Schema, direction: int,
                 tolerance: int, *, strict: bool, last: bool, nulls_equal: bool) -> None:
        self.schema, self.direction, self.tolerance = schema, direction, tolerance
        self.strict, self.last_only = strict, last
        self.keys = KeyTable([upstream[0].type_of(mine) for mine, _ in row.on])
        theirs = [old for side, old, _ in row.columns(*upstream) if side == 1]
        self.left, self.right = (JoinInput(upstream[side], [pair[side] for pair in row.on], (), nulls_equal=nulls_equal)
                                 for side in (0, 1))
        self.store = RowStore(upstream[1].select(theirs))
        self.start, self.after = np.zeros(_SLOTS_AT_FIRST, np.int64), np.zeros(_SLOTS_AT_FIRST, np.int64)
        self.group = np.zeros(_SLOTS_AT_FIRST, np.int32)
        self.first, self.last = np.full(_SLOTS_AT_FIRST, -1, np.int64), np.full(_SLOTS_AT_FIRST, -1, np.int64)
        self.passed = 0
        self.crowded = _CROWDED

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if port == 0:
            self.left.push(batch)
            return []
        rows = batch.compact()
        groups = self.right.groups(rows, self.keys)
        hung = np.flatnonzero(groups >= 0)
        if len(hung) < len(rows):
            rows, groups = rows.take(hung), groups[hung]
        self._hang(rows.select(self.store.schema.names), groups)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        (self.left, self.right)[port].watermark = watermark
        out = self._answer()
        waiting = self.left.waiting
        earliest = int(waiting[0].sync[0]) if waiting else INF
        self.watermark = min(self.left.watermark, self.right.watermark, earliest)
        self._forget(min(self.left.watermark, earliest))
        return out

    def _answer(self) -> list[Batch]:
        """Join the left rows whose nearest right row is known."""
        out = []
        rows = self.left.take_waiting(self.right.watermark, inclusive=self.right.watermark == INF)
        groups = self.left.groups(rows, self.keys)
        self._ensure_key_capacity()
        cursor = np.zeros(3, np.int64)
        cursor[ENTRY], cursor[PASSED] = FRESH, self.passed
        done = _CAPACITY
        while done == _CAPACITY:
            left, right = np.empty(_CAPACITY, np.int64), np.empty(_CAPACITY, np.int64)
            if self.direction == BACKWARD:
                done = int(_latest_match(cursor, self.tolerance, self.strict, self.last_only, len(self.store),
                                         rows.sync, groups, self.start, self.group, self.after, self.last, left, right))
            else:
                done = int(_match(cursor, self.direction, self.tolerance, self.strict, self.last_only,
                                  self.right.watermark, rows.sync, groups, self.start, self.after, self.first, left,
                                  right))
            if done:
                each_once = left[done - 1] - left[0] == done - 1
                mine = rows.slice(int(left[0]), int(left[0]) + done) if each_once else rows.take(left[:done])
                columns = (*mine.columns, *self.store.take_or_null(right[:done]))
                out.append(Batch(self.schema, mine.sync, mine.ends, columns))
        answered, self.passed = int(cursor[LEFT]), int(cursor[PASSED])
        if answered < len(rows):
            self.left.waiting.insert(0, rows.slice(answered, len(rows)))
        return out

    def _hang(self, rows: Batch, groups: Array) -> None:
        base = len(self.store)
        total = base + len(rows)
        self.store.append(rows)
        if total > len(self.start):
            self.start, self.after, self.group = (extend(array, 2 * total, 0)
                                                  for array in (self.start, self.after, self.group))
        self._ensure_key_capacity()
        self.start[base:total], self.group[base:total] = rows.sync, groups
        if self.direction != BACKWARD:
            _hang_last(base, frozen(groups), self.after, self.first, self.last)

    def _ensure_key_capacity(self) -> None:
        if len(self.keys) > len(self.first):
            self.first, self.last = (extend(array, 2 * len(self.keys), -1) for array in (self.first, self.last))

    def _forget(self, earliest: int) -> None:
        """Let go of right rows that no left row from `earliest` on can match, once there are many."""
        kept = len(self.store)
        if earliest == INF:
            self._let_go()
            return
        if kept < self.crowded:
            return
        group = self.group[:kept]
        alive = self._needed(earliest, kept)
        self.crowded = max(_CROWDED, 2 * len(alive))
        rows, groups = self.store.take(alive), group[alive]
        self._let_go()
        self._hang(rows, groups)

    def _needed(self, earliest: int, kept: int) -> Array:
        """The slots that left rows from `earliest` on can match."""
        start, group = self.start[:kept], self.group[:kept]
        past = int(np.searchsorted(start, earliest))
        if self.direction == FORWARD:
            return np.arange(past, kept)
        before = start[:past]
        if self.direction == BACKWARD and past:
            self._pass(int(before[-1]))
            latest = before == start[self.last[group[:past]]]
        else:
            latest_start = np.full(len(self.first), np.iinfo(np.int64).min)
            latest_start[group[:past]] = before  # in time order: the last one stays
            latest = before == latest_start[group[:past]]
        if self.tolerance < INF:
            latest &= before >= max(earliest - self.tolerance, MIN_TIME)
        return np.concatenate([np.flatnonzero(latest), np.arange(past, kept)])

    def _pass(self, time: int) -> None:
        """Let right rows up to a time be passed, as a left row without a key does."""
        cursor = np.array([0, FRESH, self.passed])
        row, nobody = frozen(np.full(1, time)), frozen(np.full(1, -1, np.int32))
        _latest_match(cursor, self.tolerance, False, self.last_only, len(self.store), row, nobody, self.start,
                      self.group, self.after, self.last, np.empty(1, np.int64), np.empty(1, np.int64))
        self.passed = int(cursor[PASSED])

    def _let_go(self) -> None:
        self.store = RowStore(self.store.schema)
        self.first[:], self.last[:] = -1, -1
        self.passed = 0

    @property
    def buffered_rows(self) -> int:
        return len(self.store) + len(self.left)
