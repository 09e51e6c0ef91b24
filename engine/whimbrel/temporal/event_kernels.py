"""Kernels of temporal columns: rows wait for the events that they read."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema, check_reach, frozen
from whimbrel.clock import INF
from whimbrel.kernels import Kernel, KeyTable
from whimbrel.temporal.part_columns import PartColumns
from whimbrel.temporal.parts import ReadColumns

Array = np.ndarray[Any, Any]

_PORTION = 131_072
"""Rows that are answered at once, if not many more are remembered: their columns stay in the cache."""
_INTERPRETED = 1_024
"""Most at once as long as loops are not compiled: soon they will be."""


class TemporalKernel(Kernel):
    """Rows wait in order, and get their columns.

    Parameters
    ----------
    parts : ReadColumns
    keys : tuple of str
    events : Schema
        Of the events that are read.
    schema : Schema
        Of the output.
    """

    def __init__(self, parts: ReadColumns, keys: tuple[str, ...], events: Schema, schema: Schema) -> None:
        self.names, self.schema = keys, schema
        self.parts = PartColumns(parts, events)
        self.shown = ", ".join(part.name for part in parts)
        self.keys = KeyTable([events.type_of(name) for name in keys])
        self.history = self.parts.history(keyed=bool(keys))
        self.waiting: list[Batch] = []

    @abstractmethod
    def answer(self, rows: int) -> Batch:
        """The first rows that wait, with their columns."""

    def answered(self, time: int) -> list[Batch]:
        """All rows that wait and start before a time, with their columns."""
        out = []
        while rows := self._before(time):
            out.append(self.answer(rows))
        return out

    def _before(self, time: int) -> int:
        """How many rows start before a time, and are answered at once."""
        rows = 0
        for batch in self.waiting:
            rows += len(batch) if time == INF else int(np.searchsorted(batch.sync, time))
            if rows > self.portion or (time < INF and batch.time(-1) >= time):
                break
        return min(rows, self.portion)

    @property
    def portion(self) -> int:
        """Most rows that are answered at once."""
        return max(_PORTION, 4 * self.remembered) if self.parts.compiled else _INTERPRETED

    @property
    def remembered(self) -> int:
        """About how many events each portion reads once more."""
        return len(self.history)

    def taken(self, rows: int) -> Batch:
        """The first rows that wait, which then do not wait any more."""
        taken: list[Batch] = []
        while rows:
            batch = self.waiting.pop(0)
            if len(batch) > rows:
                self.waiting.insert(0, batch.slice(rows, len(batch)))
                batch = batch.slice(0, rows)
            taken.append(batch)
            rows -= len(batch)
        return Batch.concat(taken)

    def check(self, batch: Batch) -> None:
        """Refuse times that are too close to the limits of int64."""
        check_reach(batch, 2 * self.parts.bounds.span + 1, self.shown, in_order=True)

    def ids(self, batch: Batch) -> Array:
        """Keys by number; -1 where one is missing."""
        if not self.names:
            return frozen(np.full(len(batch), 0, np.int32))
        columns = [batch.column(name) for name in self.names]
        ids = self.keys.ids(columns, len(batch))
        for column in columns:
            if column.valid is not None or not column.fixed:
                ids[~column.validity()] = -1
        return frozen(ids)

    @property
    def buffered_rows(self) -> int:
        return len(self.history) + sum(map(len, self.waiting))

    @property
    def buffered_bytes(self) -> int:
        return self.history.nbytes + sum(batch.nbytes for batch in self.waiting)

    @property
    def sources(self) -> tuple[str, ...]:
        return self.parts.sources

    def state_parts(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("parts", "schema", "names", "shown")}


class EventKernel(TemporalKernel):
    """Events read others of their key: at once, unless they have lookahead."""

    first = 0
    """Slot of the first event that waits."""

    @property
    def remembered(self) -> int:
        return len(self.history) if self.names else self.first  # events of one key are sliced, not gathered

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        self.check(batch)
        ids = self.ids(batch)
        out = []
        begin = 0
        while begin < len(batch):  # rows that wait for later events are answered in portions, however they come
            stop = len(batch) if self.parts.bounds.lookahead else min(begin + self.portion, len(batch))
            rows = batch.slice(begin, stop)
            self.history.append(rows.select(self.parts.reads), ids[begin:stop], len(self.keys))
            begin = stop
            self.waiting.append(rows)
            if not self.parts.bounds.lookahead:
                out.append(self.answer(len(rows)))
        return out

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = self.parts.known_until(watermark)
        out = self.answered(self.watermark)
        self.first = self.history.forget(self.watermark, self.first)
        return out

    def answer(self, rows: int) -> Batch:
        batch = self.taken(rows)
        given = self.history.around(self.first, self.first + rows)
        columns = self.parts.columns(given, rows)
        self.first = self.history.forget(batch.time(-1), self.first + rows)
        return batch.having(schema=self.schema, columns=(*batch.columns, *columns))


class TimeSampleKernel(TemporalKernel):
    """Rows of the first input read the events of their key in the second one, when these are known."""

    def __init__(self, parts: ReadColumns, keys: tuple[str, ...], events: Schema, schema: Schema) -> None:
        super().__init__(parts, keys, events, schema)
        self.watermarks = [self.watermark, self.watermark]

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        self.check(batch)
        if port == 0:
            self.waiting += [batch] if len(batch) else []
        elif len(batch):
            self.history.append(batch.select(self.parts.reads), self.ids(batch), len(self.keys))
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        self.watermark = min(self.watermarks[0], self.parts.known_until(self.watermarks[1]))
        out = self.answered(self.watermark)
        self.history.forget(self.watermark, len(self.history))
        return out

    def answer(self, rows: int) -> Batch:
        batch = self.taken(rows)
        columns = self.parts.columns(self.history.at(batch.sync, self.ids(batch)), rows)
        self.history.forget(batch.time(-1), len(self.history))
        return batch.having(schema=self.schema, columns=(*batch.columns, *columns))
