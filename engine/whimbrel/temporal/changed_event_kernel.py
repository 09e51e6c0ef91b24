"""Kernel of temporal columns that evaluates only events that read changed ones."""

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
from whimbrel.temporal.event_kernels import EventKernel
from whimbrel.temporal.parts import ReadColumns

Array = np.ndarray[Any, Any]

_mark_changed = Compiled(mark_changed)
_KEYS_AT_FIRST, _PORTION = 64, 131_072
_NO_ROWS, NONE_CHANGED = frozen(np.empty(0, np.int64)), frozen(np.empty(0, np.bool_))


class ChangedEventKernel(EventKernel):
    """Marks the events that may read a changed one, and evaluates only these.

    Attributes
    ----------
    left, until, totals : array of int64
        How long changed events are still read: as in :func:`mark_changed`.
    aside : list of Batch
        Rows that no changed event preceded; only if one comes soon are they read.
    evaluated : int
        Rows that were evaluated.
    """

    def __init__(self, parts: ReadColumns, keys: tuple[str, ...], events: Schema, schema: Schema) -> None:
        super().__init__(parts, keys, events, schema)
        self.left, self.until = np.zeros(_KEYS_AT_FIRST, np.int64), np.full(_KEYS_AT_FIRST, MIN_TIME)
        self.totals = np.array([0, MIN_TIME])
        self.aside: list[Batch] = []
        self.evaluated = 0

    @property
    def added(self) -> list[str]:
        """Names of the columns."""
        return [part.name for part in self.parts.parts]

    def evaluate(self, rows: Batch, changed: Mask, late: Mask, known: Sequence[Column]) -> tuple[Batch, Mask]:
        """Rows with their columns, and which of them were evaluated or are late.

        Parameters
        ----------
        rows : Batch
        changed : array of bool
            Rows whose values are others than in the earlier result, with the late ones; empty if there are none.
        late : array of bool
            Rows that the earlier result does not have; empty if there are none.
        known : sequence of Column
            Columns of the earlier result, for all other rows.
        """
        if len(changed) or len(late) or not self._quiet(rows):
            known, changed = self._evaluated(rows, changed, late, known)
        elif self.names and not self.parts.bounds.rows:
            self._put_aside(rows)
        else:
            self._remember(rows)
            self.first = self.history.forget(rows.time(-1), len(self.history))
        return rows.having(schema=self.schema, columns=(*rows.columns, *known)), changed

    def _quiet(self, rows: Batch) -> bool:
        """Whether none of these rows reads a changed one that came before them."""
        return not self.totals[0] and rows.time(0) - self.parts.bounds.back >= self.totals[1]

    def _put_aside(self, rows: Batch) -> None:
        self.aside.append(rows)
        while _last_end(self.aside[0]) <= rows.time(-1) - self.parts.bounds.back:
            self.aside.pop(0)

    def _remember(self, rows: Batch) -> Array:
        """Let later rows read these; their keys."""
        ids = self.ids(rows)
        self.history.append(rows.select(self.parts.reads), ids, len(self.keys))
        return ids

    def _evaluated(self, rows: Batch, changed: Mask, late: Mask, known: Sequence[Column]
                   ) -> tuple[Sequence[Column], Mask]:
        """The known columns, with new values where a changed event is read; and where that is."""
        for batch in self.aside:
            self._remember(batch)
        self.aside, first, ids = [], len(self.history), self._remember(rows)
        if len(self.keys) > len(self.left):
            self.left = extend(self.left, 2 * len(self.keys), 0)
            self.until = extend(self.until, 2 * len(self.keys), MIN_TIME)
        bounds, reads = self.parts.bounds, np.empty(len(rows), np.bool_)
        count = int(_mark_changed(ids, rows.sync, frozen(rows.other), frozen(changed), bounds.back, bounds.rows,
                                  self.left, self.until, self.totals, reads))
        if count or len(late):
            at, new = self._columns(first, reads) if count else (_NO_ROWS, self.nulls(0))
            known = [_replaced(old, made, late, at, len(rows)) for old, made in zip(known, new, strict=True)]
            self.evaluated += count
        self.first = self.history.forget(rows.time(-1), len(self.history))
        return known, frozen(reads | late if len(late) else reads)

    def _columns(self, first: int, some: Mask) -> tuple[Array, Sequence[Column]]:
        """Positions of rows that are evaluated, and their columns."""
        given = self.history.around_some(first, some)
        assert given.rows is not None
        return given.rows, self.parts.columns(replace(given, rows=None), len(given.rows))

    def nulls(self, rows: int) -> Sequence[Column]:
        """So many rows of the columns without values."""
        return [Column.nulls(self.schema.type_of(name), rows) for name in self.added]

    @property
    def buffered_rows(self) -> int:
        return len(self.history) + sum(map(len, self.aside))

    @property
    def buffered_bytes(self) -> int:
        return self.history.nbytes + sum(batch.nbytes for batch in self.aside)

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
