"""Row groups of Parquet files, in whatever order they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.plan.excerpts import Excerpts

if TYPE_CHECKING:
    from whimbrel.connect.parquet import ParquetSource
    from whimbrel.connect.parquet_files import ParquetFiles

_MOST_BYTES = 32 << 20
"""Larger blocks are read piece by piece, as a whole file is."""


class ParquetExcerpts(Excerpts):
    """Decodes the next block while one is being worked on; files stay open.

    Parameters
    ----------
    source : ParquetSource
    files : ParquetFiles
        Of the source, that are left open.
    columns : sequence of str
    """

    source: ParquetSource

    def __init__(self, source: ParquetSource, files: ParquetFiles, columns: Sequence[str]) -> None:
        super().__init__(source, columns)
        self._files = files
        self._needed = source.timeline.needed(columns)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="whimbrel-read-ahead")  # readers know one thread only
        self._expected: tuple[int, int] | None = None
        self._coming: Future[list[pa.RecordBatch]] | None = None

    def read(self, first: int, stop: int) -> Iterator[Batch | None]:
        if self._between(first, stop).nbytes > _MOST_BYTES:
            return super().read(first, stop)
        if self._coming is None or self._expected != (first, stop):
            self._coming = self._thread.submit(self._decoded, first, stop)
        self._expected, coming, self._coming = None, self._coming, None
        return self.source.timeline.batches(coming.result(), self.columns, first)

    def expect(self, first: int, stop: int) -> None:
        if self._between(first, stop).nbytes <= _MOST_BYTES:
            self._expected, self._coming = (first, stop), self._thread.submit(self._decoded, first, stop)

    def _decoded(self, first: int, stop: int) -> list[pa.RecordBatch]:
        return list(self._between(first, stop).decoded(self._needed))

    def _between(self, first: int, stop: int) -> ParquetFiles:
        return self._files.between(*self.source.groups(first, stop), stop - first)
