"""A feed of a few rows a second, each with the moment at which it was made."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from whimbrel import Stream
from whimbrel.batch import Batch
from whimbrel.connect.tables.columnar_source import TimedSource
from whimbrel.plan import Node

SCHEMA = pa.schema({"at": pa.timestamp("ms"), "born": pa.float64()})


class Ticker(TimedSource):
    """Yields one row every so often; ``born`` is the wall clock in milliseconds, as browsers count it."""

    live = True

    def __init__(self, per_s: float) -> None:
        super().__init__(SCHEMA, time="at", end=None, arrival=None, reorder_latency=None, late=None, name="ticker",
                         rows=None, where="ticker")
        self._pause_s = 1 / per_s

    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        due = time.monotonic()
        while True:
            due += self._pause_s
            while (left := due - time.monotonic()) > 0:
                time.sleep(min(left, 0.02))
                yield None
            yield from self.timeline.batches([self._row().select(self.timeline.needed(columns))], columns, 0)

    def _row(self) -> pa.RecordBatch:
        now_ms = time.time() * 1e3
        # From buffers: pyarrow loads pandas to look at anything else, and that would be measured too.
        values = np.array([now_ms]).astype("datetime64[ms]"), np.array([now_ms])
        row = [pa.Array.from_buffers(field.type, 1, [None, pa.py_buffer(value)])
               for field, value in zip(SCHEMA, values, strict=True)]
        return pa.RecordBatch.from_arrays(row, schema=SCHEMA)


def ticker(per_s: float) -> Stream:
    return Stream(Node(Ticker(per_s)))
