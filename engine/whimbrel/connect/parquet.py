"""Parquet files: a footer says what there is, rows are read only when asked for."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from whimbrel.clock.duration import Duration
from whimbrel.connect.columnar import BATCH_ROWS, ColumnarSource
from whimbrel.connect.files import FilePath, parquet_files
from whimbrel.connect.read_ahead import read_ahead
from whimbrel.errors import SchemaError, SourceError

_REPEATED_BYTES = 4
"""Text that takes fewer bytes a value is stored as a dictionary, and cheaper to keep as one than to spell out."""


class ParquetSource(ColumnarSource):
    """One or several Parquet files of one schema, read in the order of their names, row group by row group.

    Only the footers are read at first, so the number of rows is known and a mistake in a column's name costs nothing.
    Reading decodes only the columns asked for, a few batches ahead, and holds one row group's columns at a time.

    Parameters
    ----------
    path : str, path or iterable of them
        A file, several files, a directory or a glob pattern.
    time, end, arrival, reorder_latency, late
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
                 name: str | None = None) -> None:
        shown = repr(str(path)) if isinstance(path, (str, Path)) else "..."
        self._where = f"read_parquet({shown}, time={time!r})"
        self._files = parquet_files(path, where=self._where)
        footers = [self._footer(file) for file in self._files]
        self._row_groups = [[footer.row_group(index).num_rows for index in range(footer.num_row_groups)]
                            for footer in footers]
        fields = footers[0].schema.to_arrow_schema()
        for file, footer in zip(self._files[1:], footers[1:], strict=True):
            self._check_same(fields, file, footer.schema.to_arrow_schema())
        self._repeated = _repeated_text(footers, fields)
        super().__init__(fields.remove_metadata(), time=time, end=end, arrival=arrival,
                         reorder_latency=reorder_latency, late=late, name=name or _name(path, self._files),
                         rows=sum(footer.num_rows for footer in footers), where=self._where)

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        return read_ahead(self._decode(columns, offset))

    def _decode(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        for file, row_groups in zip(self._files, self._row_groups, strict=True):
            if offset >= sum(row_groups):
                offset -= sum(row_groups)
                continue
            skipped = sum(1 for end in accumulate(row_groups) if end <= offset)
            yield from self._decode_file(file, columns, range(skipped, len(row_groups)),
                                         offset - sum(row_groups[:skipped]))
            offset = 0

    def _decode_file(self, file: Path, columns: list[str], row_groups: range, skip: int) -> Generator[pa.RecordBatch]:
        try:
            # Without pre_buffer only one row group's columns are held at a time.
            with pq.ParquetFile(file, read_dictionary=self._repeated, pre_buffer=False) as reader:
                for data in reader.iter_batches(BATCH_ROWS, row_groups=list(row_groups), columns=columns):
                    # Asked for as columns of the file, they come in the file's order.
                    yield data.slice(skip)
                    skip = max(0, skip - data.num_rows)
        except (OSError, pa.ArrowException) as error:
            raise self._broken(file, error) from None

    def _footer(self, file: Path) -> pq.FileMetaData:
        try:
            if file.stat().st_size == 0:
                raise SourceError(f"{str(file)!r} is empty (0 bytes).", where=self._where,
                                  hint="a Parquet file without rows still has a footer; was writing it cut short?")
            return pq.read_metadata(file)
        except (OSError, pa.ArrowException) as error:
            raise self._broken(file, error) from None

    def _broken(self, file: Path, error: Exception) -> SourceError:
        cause = " ".join(str(error).split())
        return SourceError(f"{str(file)!r} cannot be read as Parquet: {cause[:160]}", where=self._where,
                           hint="the file is damaged, still being written, or of another format")

    def _check_same(self, fields: pa.Schema, file: Path, found: pa.Schema) -> None:
        if found.equals(fields):
            return
        for name in dict.fromkeys([*fields.names, *found.names]):
            here, there = (schema.field(name).type if name in schema.names else None for schema in (fields, found))
            if here != there:
                raise SchemaError(f"Column {name!r} is {here or 'missing'} in {self._files[0].name!r} "
                                  f"and {there or 'missing'} in {file.name!r}.", where=self._where,
                                  hint="files read together need the same columns and types")


def _repeated_text(footers: list[pq.FileMetaData], fields: pa.Schema) -> list[str]:
    """Text columns with few distinct values, going by the size of their first row group."""
    groups = [footer.row_group(0) for footer in footers if footer.num_row_groups]
    if not groups:
        return []
    chunks = (groups[0].column(index) for index in range(groups[0].num_columns))
    small = {chunk.path_in_schema for chunk in chunks
             if chunk.has_dictionary_page and chunk.total_uncompressed_size < _REPEATED_BYTES * chunk.num_values}
    return [field.name for field in fields
            if field.name in small and (pa.types.is_string(field.type) or pa.types.is_large_string(field.type))]


def _name(path: FilePath | Iterable[FilePath], files: list[Path]) -> str:
    return Path(path).stem if isinstance(path, (str, Path)) and Path(path).exists() else files[0].stem
