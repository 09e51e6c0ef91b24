"""Parquet files: a footer says what there is, rows are read only when asked for."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path

import pyarrow as pa

from whimbrel.clock.duration import Duration
from whimbrel.connect.columnar import ColumnarSource
from whimbrel.connect.files import FilePath, parquet_files
from whimbrel.connect.parquet_files import ParquetFiles
from whimbrel.connect.partitions import Partitions


class ParquetSource(ColumnarSource):
    """One or several Parquet files of one schema, read in the order of their names, row group by row group.

    Only the footers are read at first, so the number of rows is known and a mistake in a column's name costs nothing.
    Reading decodes only the columns asked for, a few batches ahead, and holds one row group's columns at a time.

    Parameters
    ----------
    path : str, path or iterable of them
        A file, several files, a directory or a glob pattern.
    time, end, arrival, reorder_latency, late, partition
        As in :class:`~whimbrel.connect.columnar.ColumnarSource`.
    name : str, optional
        Default: the file's (or directory's) name without its ending.

    Raises
    ------
    SourceError
        For a missing, empty or broken file. A broken page is noticed when it is read.
    SchemaError
        For a missing column, one that does not count time, or files of different schemas.

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

    def __init__(self, path: FilePath | Iterable[FilePath], *, time: str, end: str | None = None,
                 arrival: str | None = None, reorder_latency: Duration | None = None, late: str | None = None,
                 name: str | None = None, partition: str | Partitions | None = None) -> None:
        shown = repr(str(path)) if isinstance(path, (str, Path)) else "..."
        where = f"read_parquet({shown}, time={time!r})"
        files = parquet_files(path, where=where)
        self._files = ParquetFiles(files, where=where)
        super().__init__(self._files.schema, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency,
                         late=late, name=name or _name(path, files), rows=self._files.rows, where=where,
                         partition=partition)

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        return self._files.record_batches(columns, offset)


def _name(path: FilePath | Iterable[FilePath], files: list[Path]) -> str:
    return Path(path).stem if isinstance(path, (str, Path)) and Path(path).exists() else files[0].stem
