"""Random access to blocks of Parquet files, with prefetching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.connect.files.parquet_files import ParquetFiles
from whimbrel.connect.tables.columnar_source import ColumnarSource
from whimbrel.plan.block_reader import Excerpts

_MAX_BYTES = 32 << 20
"""Larger blocks are read in parts, like a whole file."""
_THREADS = 2
"""As many threads as for a whole file."""


class ParquetExcerpts(Excerpts):
    """Prefetch two blocks in parallel while one is processed; files stay open.

    Parameters
    ----------
    source : ColumnarSource
    files : ParquetFiles
        The files of the source.
    groups : callable
        From a range of rows to the range of row groups that holds them.
    columns : sequence of str
    """

    def __init__(self, source: ColumnarSource, files: ParquetFiles, groups: Callable[[int, int], tuple[int, int]],
                 columns: Sequence[str]) -> None:
        super().__init__(source, columns)
        self._timeline, self._lies_in, self._groups = source.timeline, source.lies_in, groups
        self._needed = source.timeline.needed(columns)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="whimbrel-read-ahead")
        self._idle: SimpleQueue[ParquetFiles] = SimpleQueue()  # a reader is not thread-safe
        for _ in range(_THREADS):
            self._idle.put(files.opened())
        self._files = files
        self._coming: dict[tuple[int, int], Future[list[pa.RecordBatch]]] = {}

    def read(self, first: int, stop: int) -> Iterator[Batch | None]:
        coming = self._coming.pop((first, stop), None)
        if coming is None and self._large(first, stop):
            return super().read(first, stop)
        decoded = self._decoded(first, stop) if coming is None else coming.result()
        return self._timeline.batches(decoded, self.columns, first, self._lies_in)

    def expect(self, blocks: Sequence[tuple[int, int]]) -> None:
        before, self._coming = self._coming, {}
        for block in blocks:
            if block in before:
                self._coming[block] = before.pop(block)
            elif not self._large(*block):
                self._coming[block] = self._threads.submit(self._decoded, *block)
        for unasked in before.values():
            unasked.cancel()

    def _large(self, first: int, stop: int) -> bool:
        return self._between(self._files, first, stop).nbytes > _MAX_BYTES

    def _decoded(self, first: int, stop: int) -> list[pa.RecordBatch]:
        files = self._idle.get()
        try:
            return list(self._between(files, first, stop).decoded(self._needed))
        finally:
            self._idle.put(files)

    def _between(self, files: ParquetFiles, first: int, stop: int) -> ParquetFiles:
        return files.between(*self._groups(first, stop), stop - first)
