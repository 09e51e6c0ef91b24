"""Kernel that recomputes the columns of events that read late rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Mask, Schema, frozen
from whimbrel.clock import MIN_TIME
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.temporal.events_by_key import mark_changed
from whimbrel.operators.rows.pending_rows import PendingRows
from whimbrel.temporal.event_kernels import EventKernel
from whimbrel.temporal.parts import ReadColumns

Array = np.ndarray[Any, Any]

_mark_changed = Compiled(mark_changed)
_KEYS_AT_FIRST, _PORTION = 64, 131_072
_NO_TIMES, _NONE_LATE = frozen(np.empty(0, np.int64)), frozen(np.empty(0, np.bool_))


class RecomputeRowsKernel(EventKernel):
    """Marks the events that may read a late one, and evaluates only these.

    Events that are not late have a row in the earlier result each, in the same order: rows are joined by position.

    Attributes
    ----------
    left, until, totals : array of int64
        How long late events are still read: as in :func:`mark_changed`.
    aside : list of Batch
        Rows that no late event preceded; only if a late event comes soon are they read.
    recomputed_rows : int
        Rows that were computed again.
    """

    def __init__(self, parts: ReadColumns, keys: tuple[str, ...], events: Schema, schema: Schema) -> None:
        super().__init__(parts, keys, events, schema)
        self.watermarks = [MIN_TIME] * 3
        self.earlier, self.rows, self.late = PendingRows(), PendingRows(), _NO_TIMES
        self.left, self.until = np.zeros(_KEYS_AT_FIRST, np.int64), np.full(_KEYS_AT_FIRST, MIN_TIME)
        self.totals = np.array([0, MIN_TIME])
        self.aside: list[Batch] = []
        self.recomputed_rows = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if port == 0:
            self.earlier.add(batch.select([part.name for part in self.parts.parts]))
        elif port == 1 and len(batch):
            self.check(batch)
            self.rows.add(batch)
        elif len(batch):
            self.late = frozen(np.append(self.late, batch.sync))
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        self.watermark = min(self.watermarks)
        waiting = self.rows.before(self.watermark)
        if not waiting:
            return []
        rows, earlier, out = Batch.concat(waiting), self.earlier.before(self.watermark), list[Batch]()
        known = Batch.concat(earlier).columns if earlier else self._nulls(0)
        late, begin, taken = self._late(rows), 0, 0
        while begin < len(rows):
            stop = min(begin + self.portion, len(rows))
            some = late[begin:stop]
            count = stop - begin - int(np.count_nonzero(some))
            out.append(self._joined(rows.slice(begin, stop), some if count < stop - begin else _NONE_LATE,
                                    [column.slice(taken, taken + count) for column in known]))
            begin, taken = stop, taken + count
        return out

    def _late(self, rows: Batch) -> Mask:
        """Which rows are late: of those that start at one time, the last ones."""
        late = np.zeros(len(rows), np.bool_)
        times = self.late[:int(np.searchsorted(self.late, self.watermark))]
        self.late = self.late[len(times):]
        following = np.searchsorted(times, times, "right") - np.arange(len(times))
        late[np.searchsorted(rows.sync, times, "right") - following] = True
        return late

    def _joined(self, rows: Batch, late: Mask, known: Sequence[Column]) -> Batch:
        """The rows with known columns, and with new ones where a late event is read."""
        if len(late) or not self._quiet(rows):
            known = self._changed(rows, late, known)
        elif self.names and not self.parts.bounds.rows:
            self._skip(rows)
        else:
            self._remember(rows)
            self.first = self.history.forget(rows.time(-1), len(self.history))
        return rows.having(schema=self.schema, columns=(*rows.columns, *known))

    def _quiet(self, rows: Batch) -> bool:
        """Whether none of these rows reads a late one that came before them."""
        return not self.totals[0] and rows.time(0) - self.parts.bounds.back >= self.totals[1]

    def _skip(self, rows: Batch) -> None:
        """Put rows aside: they are sorted by key if a late row comes while they still matter."""
        self.aside.append(rows)
        while _last_end(self.aside[0]) <= rows.time(-1) - self.parts.bounds.back:
            self.aside.pop(0)

    def _remember(self, rows: Batch) -> Array:
        """Let later rows read these; their keys."""
        ids = self.ids(rows)
        self.history.append(rows.select(self.parts.reads), ids, len(self.keys))
        return ids

    def _changed(self, rows: Batch, late: Mask, known: Sequence[Column]) -> Sequence[Column]:
        """The known columns, with new values where a late event is read."""
        for batch in self.aside:
            self._remember(batch)
        self.aside, first, ids = [], len(self.history), self._remember(rows)
        if len(self.keys) > len(self.left):
            self.left = extend(self.left, 2 * len(self.keys), 0)
            self.until = extend(self.until, 2 * len(self.keys), MIN_TIME)
        bounds, changed = self.parts.bounds, np.empty(len(rows), np.bool_)
        count = int(_mark_changed(ids, rows.sync, frozen(rows.other), frozen(late), bounds.back, bounds.rows, self.left,
                                  self.until, self.totals, changed))
        if count or len(late):
            at, new = self._computed(first, changed) if count else (_NO_TIMES, self._nulls(0))
            known = [_replaced(old, made, late, at, len(rows)) for old, made in zip(known, new, strict=True)]
            self.recomputed_rows += count
        self.first = self.history.forget(rows.time(-1), len(self.history))
        return known

    def _computed(self, first: int, changed: Mask) -> tuple[Array, Sequence[Column]]:
        """Positions of new events whose columns are computed, and these columns."""
        given = self.history.around_some(first, changed)
        assert given.rows is not None
        return given.rows, self.parts.columns(replace(given, rows=None), len(given.rows))

    def _nulls(self, rows: int) -> Sequence[Column]:
        return [Column.nulls(self.schema.type_of(part.name), rows) for part in self.parts.parts]

    @property
    def buffered_rows(self) -> int:
        return len(self.history) + self.rows.rows + self.earlier.rows + sum(map(len, self.aside))

    @property
    def buffered_bytes(self) -> int:
        aside = sum(batch.nbytes for batch in self.aside)
        return self.history.nbytes + self.rows.nbytes + self.earlier.nbytes + aside

    @property
    def portion(self) -> int:
        return max(_PORTION, 4 * self.remembered)  # few of them are evaluated, compiled or not


def _last_end(batch: Batch) -> int:
    return batch.time(-1) + batch.ends if isinstance(batch.ends, int) else int(batch.ends.max())


def _replaced(old: Column, new: Column, late: Mask, at: Array, length: int) -> Column:
    """New values at some rows, and the old ones at others that are not late; late rows without a key have none."""
    kept = ~late if len(late) else slice(None)
    if not old.fixed:
        rows, there = np.zeros(length, np.int64), np.zeros(length, np.bool_)
        rows[kept], rows[at], there[kept], there[at] = np.arange(len(old)), len(old) + np.arange(len(at)), True, True
        return Column.concat([old, new]).take_or_null(rows, there)
    values = np.empty((length, *old.values.shape[1:]), old.values.dtype)
    values[kept], values[at] = old.values, new.values
    valid = np.zeros(length, np.bool_)
    valid[kept], valid[at] = old.validity(), new.validity()
    return Column(new.type, values, None if valid.all() else valid)
