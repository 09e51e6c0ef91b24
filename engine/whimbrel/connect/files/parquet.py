"""Parquet files as a source, with lazy reads and row group pruning."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Mask, Ticks
from whimbrel.clock.duration import Duration
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.hive_partitions import FolderColumns
from whimbrel.connect.files.located_files import located_files, shown_path
from whimbrel.connect.files.parquet_blocks import ParquetExcerpts
from whimbrel.connect.files.parquet_files import ParquetFiles
from whimbrel.connect.files.paths import PARQUET, FilePath
from whimbrel.connect.partition_watermarks import PartitionWatermarks, by_of
from whimbrel.connect.tables.columnar_source import ColumnarSource
from whimbrel.expr import Expr
from whimbrel.plan.block_reader import Excerpts
from whimbrel.plan.properties import TimeGrid
from whimbrel.plan.source import Blocks, OrderingSpec, Source


class ParquetSource(ColumnarSource):
    """Source of one or several Parquet files.

    Files are read in order, by row group.

    A pandas index without a name is dropped, unless it is requested by name, for example as `time`. A column that a
    file lacks is null in its rows. If the type of a
    column differs between files, the source uses the type that holds all values exactly. At first only the footers are
    read, so the number of rows is known, and a misspelled column fails early. Reads decode only the requested columns,
    two row groups in parallel and a few batches ahead. They hold a few row groups in memory, or parts of large ones.

    Parameters
    ----------
    path : str, path or iterable of them
        A file, several files in the order of reading, a directory or a glob pattern. Files of a directory or pattern
        are read in natural order, part-2 before part-10. Folders may name columns, as in ``day=2024-01-02``; files are
        then read in order of these values.
    time, end, arrival, reorder_latency, late, partition
        As in :class:`~whimbrel.connect.tables.columnar_source.TimedSource`.
    name : str, optional
        Default: the name of the file or directory without its suffix.
    filesystem : pyarrow.fs.FileSystem or fsspec.AbstractFileSystem, optional
        As in :func:`~whimbrel.connect.files.located_files.located_files`.

    Raises
    ------
    SourceError
        For a missing, empty or damaged file, a server that denies access or does not answer, or times outside the range
        of another file's unit. A damaged page is found when it is read.
    SchemaError
        For a missing column, a time column without times, or types in two files that no type holds exactly.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "trades.parquet")
    >>> pq.write_table(pa.table({"t": [1, 2, 5], "price": [10.0, 20.0, 30.0]}), path)
    >>> source = ParquetSource(path, time="t")
    >>> source.name, source.rows
    ('trades', 3)
    >>> next(source.read(["price"], offset=1)).sync.tolist()
    [2, 5]
    """

    source: Source | None = None
    """The complete source, if this is a part of it."""

    def __init__(self, path: FilePath | Iterable[FilePath], *, time: str, end: str | None = None,
                 arrival: str | None = None, reorder_latency: Duration | None = None, late: str | None = None,
                 name: str | None = None, partition: str | PartitionWatermarks | None = None,
                 filesystem: Any = None) -> None:
        where = f"read_parquet({shown_path(path)}, time={time!r})"
        self._files, named, rows = self.opened(path, where=where, wanted=(time, end, arrival, by_of(partition)),
                                               filesystem=filesystem)
        super().__init__(self._files.schema, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency,
                         late=late, name=name or named, rows=rows, where=where, partition=partition)

    @staticmethod
    def opened(path: FilePath | Iterable[FilePath], *, where: str,
               wanted: Sequence[str | None], filesystem: Any = None) -> tuple[ParquetFiles, str, int]:
        """Opened files, with their common name and number of rows.

        They are in the order of reading.
        """
        found = located_files(path, where=where, endings=PARQUET, filesystem=filesystem)
        folders = None if found.directory is None else FolderColumns(found.directory, found.files, where=where)
        files = found.files if folders is None else folders.in_order()
        opened = ParquetFiles(files, where=where, folders=folders, wanted=wanted)
        if not files and found.schema is not None:
            opened.schema = found.schema
        return opened, found.name or (files[0].stem if files else "files"), opened.rows

    @property
    def paths(self) -> Sequence[DataFile]:
        """The files, in the order of reading."""
        return self._files.paths

    @property
    def notes(self) -> list[dict[bytes, bytes]]:
        """Metadata of the footers."""
        return self._files.notes

    def alike(self) -> list[list[DataFile]]:
        """Groups of files with the same column types."""
        return self._files.alike()

    def where(self, conditions: Sequence[Expr]) -> Source:
        if self.disorder not in (OrderingSpec(), OrderingSpec(None)) or not conditions:
            return self  # which rows are late depends on the rows before them, whatever those hold
        files = self._files.where(conditions)
        if files.rows == self._files.rows:
            return self
        pruned = self._of(files)
        pruned.read_of = "{} of {} row groups".format(*files.row_groups)
        return pruned

    def cuts(self, parts: int) -> list[int]:
        rows = self.rows or 0
        return sorted({int(self._ranges[np.searchsorted(self._ranges[:, 1], part * rows // parts, "right"), 2])
                       for part in range(1, parts)}) if len(self._ranges) else []

    def rows_between(self, start: int, end: int) -> tuple[int, int]:
        inside = self._ranges[(self._ranges[:, 3] >= start) & (self._ranges[:, 2] < end)]
        return (int(inside[0, 0]), int(inside[-1, 1])) if len(inside) else (0, 0)

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        if self.disorder not in (OrderingSpec(), OrderingSpec(None)) or not len(self._ranges):
            return None
        begins = joined(self._ranges[:, 0], rows)
        earliest, latest = (join.reduceat(self._ranges[:, which], begins)
                            for which, join in ((2, np.minimum), (3, np.maximum)))
        first = self._ranges[begins, 0]
        return Blocks(first, np.append(first[1:], self._ranges[-1, 1]), earliest, latest)

    def excerpt(self, first: int, stop: int) -> Source:
        return self._of(self._files.between(*self.groups(first, stop), stop - first))

    def excerpts(self, columns: Sequence[str]) -> Excerpts:
        return ParquetExcerpts(self, self._files, self.groups, columns)

    def groups(self, first: int, stop: int) -> tuple[int, int]:
        """Range of row groups that these rows fill."""
        begin, end = np.searchsorted(self._ranges[:, 0], [first, stop]).tolist()
        return begin, end

    def holding(self, blocks: Blocks, conditions: Sequence[Expr]) -> Mask:
        begins = np.searchsorted(self._ranges[:, 0], blocks.first)
        return np.logical_or.reduceat(np.array(self._files.holding(conditions), np.bool_), begins)

    def extremes(self, blocks: Blocks, name: str) -> tuple[Ticks, Ticks] | None:
        found = self._files.bounds(name)
        if not found or found[0][1].values.dtype.kind not in "iuf":
            return None
        begins = np.searchsorted(self._ranges[:, 0], blocks.first)
        smallest, largest = np.array([ends.values for _, ends in found]).T
        return np.minimum.reduceat(smallest, begins), np.maximum.reduceat(largest, begins)

    def lies_in(self, row: int) -> str:
        return self._files.lies_in(row)

    def stamp(self) -> str | None:
        return self._files.stamp()

    def _of(self, files: ParquetFiles) -> ParquetSource:
        """A part of the source, without cached properties of the whole."""
        part = copy.copy(self)
        vars(part).pop("_ranges", None)
        vars(part).update(_files=files, rows=files.rows, source=self)
        return part

    @cached_property
    def _ranges(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """First row, end row, earliest and latest time of each row group."""
        bounds = self._files.bounds(self.time) or []
        ends = list(accumulate(rows for rows, _ in bounds))
        return np.array([(end - rows, end, *self.timeline.starts(times.to_arrow()))
                         for end, (rows, times) in zip(ends, bounds, strict=True)], np.int64).reshape(-1, 4)

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        return self._files.record_batches(columns, offset)


def joined(first: Ticks, wanted: int) -> np.ndarray[Any, Any]:
    """Indices of parts that start a block, if small parts are merged up to a number of rows."""
    begins, begin = [], -wanted
    for number, row in enumerate(first.tolist()):
        if row - begin >= wanted:
            begins.append(number)
            begin = row
    return np.array(begins, np.int64)
