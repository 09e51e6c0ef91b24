"""Kernel of stitch for rows with segments, which are appended."""

from __future__ import annotations

import numpy as np

from whimbrel.batch import Batch, Column, Schema, Segments, SegmentType
from whimbrel.clock import INF
from whimbrel.disorder import Sorter
from whimbrel.kernels import Kernel, KeyTable


class StitchSegmentsKernel(Kernel):
    """Holds the newest run of rows that continue each other, for each payload, until no row can continue it."""

    def __init__(self, schema: Schema) -> None:
        self.plain = [field.name for field in schema if not isinstance(field.type, SegmentType)]
        self.segments = [field.name for field in schema if isinstance(field.type, SegmentType)]
        self.types = [schema.type_of(name) for name in self.plain]
        self.waiting: list[Batch] = []
        self.open = Batch.empty(schema)
        self.done = Sorter()

    @property
    def buffered_rows(self) -> int:
        return len(self.open) + self.done.rows + sum(map(len, self.waiting))

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.waiting.append(batch.compact())
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if self.waiting:
            rows = Batch.concat(self.waiting)
            cut = len(rows) if watermark == INF else int(np.searchsorted(rows.sync, watermark, "left"))
            self.waiting = [rows.slice(cut, len(rows))] if cut < len(rows) else []
            self.open = self._fused(Batch.concat([self.open, rows.slice(0, cut)]))
        goes_on = self.open.other >= watermark if watermark != INF else np.zeros(len(self.open), np.bool_)
        self.done.add(self.open.take(np.flatnonzero(~goes_on)))
        self.open = self.open.take(np.flatnonzero(goes_on))
        self.watermark = min(watermark, int(self.open.sync.min())) if len(self.open) else watermark
        return self.done.release(self.watermark if self.watermark == INF else self.watermark - 1)

    def _fused(self, rows: Batch) -> Batch:
        """Rows of which none is continued by the next one of its payload."""
        if not len(rows):
            return rows
        group = KeyTable(self.types).ids([rows.column(name) for name in self.plain], len(rows))
        rows = rows.take(np.lexsort((rows.other, rows.sync, group)))
        group = np.sort(group, kind="stable")
        follows = (group[1:] == group[:-1]) & (rows.sync[1:] == rows.other[:-1])
        for name in self.segments:
            one = rows.column(name).segments
            follows &= one.index[1:] == one.index[:-1] + one.size[:-1]
            follows &= one.validity()[1:] & one.validity()[:-1]
        first = np.flatnonzero(np.append(True, ~follows))
        last = np.append(first[1:], len(rows)) - 1
        fused = rows.take(first).having(ends=rows.other[last])
        columns = tuple(Column(column.type, column.segments.fused(first)) if isinstance(column.values, Segments)
                        else fused.columns[number] for number, column in enumerate(rows.columns))
        fused = fused.having(columns=columns)
        return fused.take(np.argsort(fused.sync, kind="stable"))
