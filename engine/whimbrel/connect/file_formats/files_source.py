"""Source of files that are read in order."""

from __future__ import annotations

import copy
import logging
import threading
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pyarrow as pa

from whimbrel.clock.duration import Duration
from whimbrel.connect.feeds.formats.decode import UNREADABLE
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.connect.file_formats.file_format import FileFormat, HintedError, MalformedLine, Report, checked_unchanged
from whimbrel.connect.file_formats.inferred_types import UntypedError
from whimbrel.connect.file_formats.unified_fields import unified_fields, with_fields
from whimbrel.connect.files.broken_files import broken_file
from whimbrel.connect.files.data_file import DataFile, RemoteFile, written_at_first
from whimbrel.connect.files.hive_partitions import FolderColumns
from whimbrel.connect.files.located_files import located_files, shown_path
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.files.read_ahead import read_ahead
from whimbrel.connect.partition_watermarks import PartitionWatermarks
from whimbrel.connect.row_group_pruning import may_meet
from whimbrel.connect.tables.columnar_source import ColumnarSource
from whimbrel.connect.tables.lifetime_columns import time_unit
from whimbrel.errors import SchemaError, SourceError, WhimbrelError, near_match
from whimbrel.expr import Expr
from whimbrel.plan.source import OrderingSpec, Source

_LOG = logging.getLogger("whimbrel.files")
_SHOWN_REASONS = 3


class FilesSource(ColumnarSource):
    """Source of one or several files of a format.

    Files are read in order, two at a time and a few batches ahead. Types are inferred from the first rows of each file.
    A line that does not fit is malformed: it is left out and counted.

    Parameters
    ----------
    path : str, path or iterable of them
        As in :class:`~whimbrel.connect.files.parquet.ParquetSource`.
    format_ : FileFormat
    call : str
        The function that users call, for errors.
    time, end, arrival, reorder_latency, late, partition
        As in :class:`~whimbrel.connect.tables.columnar_source.TimedSource`.
    given : pyarrow.Schema
        Types of some columns, instead of those of the first rows or the names of folders.
    columns : sequence of str, optional
        The columns to read; values of others are not looked at.
    name : str, optional
        Default: the name of the file or directory without its suffix.
    filesystem : pyarrow.fs.FileSystem or fsspec.AbstractFileSystem, optional
        As in :func:`~whimbrel.connect.files.located_files.located_files`.

    Raises
    ------
    SourceError
        For a missing, empty or damaged file.
    SchemaError
        For a missing column, a time column without times, or types in two files that have no common type.
    """

    def __init__(self, path: FilePath | Iterable[FilePath], format_: FileFormat, call: str, *, time: str,
                 end: str | None = None, arrival: str | None = None, reorder_latency: Duration | None = None,
                 late: str | None = None, name: str | None = None, given: pa.Schema,
                 partition: str | PartitionWatermarks | None = None, columns: Sequence[str] | None = None,
                 filesystem: Any = None) -> None:
        self._where, self._format, self._time = f"{call}({shown_path(path)}, time={time!r})", format_, time
        found = located_files(path, where=self._where, endings=format_.endings, filesystem=filesystem)
        self._folders = None if found.directory is None else FolderColumns(
            found.directory, found.files, where=self._where, given={field.name: field.type for field in given})
        if self._folders is not None:
            in_folders = {field.name for field in self._folders.fields}
            given = pa.schema([field for field in given if field.name not in in_folders])
            format_.given = given
        self.paths = found.files if self._folders is None else self._folders.in_order()
        self._written = {file: written_at_first(file) for file in self.paths}
        times = [each for each in (time, end, arrival) if isinstance(each, str)]
        schemas = {file: self._schema_of(file, times) for file in self.paths}
        unified = found.schema if found.schema is not None and not self.paths else unified_fields(
            schemas, text_for_all=format_.text_for_all, where=self._where, times=times)
        fields = _with_given(_texts_for_nulls(unified) if format_.has_malformed_lines else unified, given, self._where)
        for field in fields:
            if field.name in times and (hint := format_.time_hint(field.name)):
                if pa.types.is_null(unified.field(field.name).type) and field.name not in given.names:
                    if (type_ := format_.stated_time_type) is not None:
                        fields = fields.set(fields.names.index(field.name), field.with_type(type_))
                        continue
                    reasons = (format_.why_without_values(file, field.name) for file in self.paths)
                    why = next(filter(None, reasons), None)
                    raise SchemaError(f"The type of {field.name!r} is not known: "
                                      f"{why or 'the first rows have no value of it'}.", where=self._where,
                                      hint=(why and why.hint) or hint)
                time_unit(field.type, field.name, self._where, hint)
        self._fields = fields if columns is None else _selected(fields, columns, self._where)
        self._held = {file: schema.names for file, schema in schemas.items()}
        self._types = schemas
        timed = time in times and time in fields.names
        without = next((file for file in self.paths if timed and not self._has(file, time)), None)
        if without is not None:
            raise SchemaError(f"{str(without)!r} has no column {time!r}, which has the event time.", where=self._where,
                              hint="Leave the file out, or write it again with this column.")
        self._whole = len(self.paths)
        super().__init__(self._all_fields(), time=time, end=end, arrival=arrival, reorder_latency=reorder_latency,
                         late=late, name=name or found.name or next((file.stem for file in self.paths), "files"),
                         rows=None, where=self._where, partition=partition)

    def where(self, conditions: Sequence[Expr]) -> Source:
        if self.disorder not in (OrderingSpec(), OrderingSpec(None)) or self._folders is None or not conditions:
            return self  # which rows are late depends on the rows before them, whatever those hold
        kept = [file for file in self.paths if may_meet(partial(self._folders.ends, file), conditions)]
        if len(kept) == len(self.paths):
            return self
        pruned = copy.copy(self)
        vars(pruned).update(paths=kept, read_of=f"{len(kept)} of {self._whole} files")
        return pruned

    def stamp(self) -> str | None:
        return repr([(str(file), self._written[file]) for file in self.paths])

    def malformed_lines(self) -> Generator[tuple[DataFile, list[MalformedLine]]]:
        """Read the files, and yield their malformed lines, a batch at a time."""
        for file in self.paths:
            found: list[MalformedLine] = []
            with closing(self._rows_of(file, found.append)) as rows:
                for _ in rows:
                    if found:
                        yield file, [*found]
                        found.clear()
            if found:
                yield file, found

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        self.malformed = reasons = Counter[str]()
        lock = threading.Lock()  # two files are read at a time

        def counted(line: MalformedLine) -> None:
            with lock:
                reasons[line.reason] += 1

        with closing(read_ahead([self._rows_of(file, counted) for file in self.paths])) as batches:
            for rows in batches:
                if offset < rows.num_rows:
                    yield rows.slice(offset).select(columns)
                offset = max(0, offset - rows.num_rows)
        if reasons:
            _LOG.warning("%s: %s malformed lines were left out: %s; wb.dead_letters(log) shows them.", self.name,
                         f"{reasons.total():,}", _counted(reasons))

    def _rows_of(self, file: DataFile, report: Report) -> Generator[pa.RecordBatch]:
        """All rows of a file with all columns, so that what is malformed does not depend on a query."""
        held = pa.schema([self._own(file, field) for field in self._fields if self._has(file, field.name)])
        names = self._all_fields().names
        try:
            checked_unchanged(file, self._written[file], self._where)
            for rows in self._batches_of(file, held, report):
                if not isinstance(file, RemoteFile):  # a request for each batch would cost as much as the batch
                    checked_unchanged(file, self._written[file], self._where)
                unified = with_fields(rows, self._fields)
                yield unified if self._folders is None else self._folders.added(file, unified, names)
        except UNREADABLE as error:
            checked_unchanged(file, self._written[file], self._where)
            raise self._broken(file, error) from None
        checked_unchanged(file, self._written[file], self._where)

    def _has(self, file: DataFile, name: str) -> bool:
        return name in self._held[file] or (name == self._time and self._format.has_open_columns)

    def _batches_of(self, file: DataFile, held: pa.Schema, report: Report) -> Iterator[pa.RecordBatch]:
        return self._format.batches(file, held, self.timeline, report)

    def _own(self, file: DataFile, field: pa.Field) -> pa.Field:
        """A column as it is in a file: formats of text are parsed to the common type at once."""
        return field if self._format.has_malformed_lines else self._types[file].field(field.name)

    def _schema_of(self, file: DataFile, times: Collection[str]) -> pa.Schema:
        try:
            if (self._written[file] or (0, 0))[0] == 0:
                raise SourceError(f"{str(file)!r} is empty (0 bytes).", where=self._where,
                                  hint="Leave the file out, or write it again.")
            schema = self._format.schema(file, times)
        except WhimbrelError:
            raise
        except UntypedError as error:
            raise SchemaError(f"Column {error} ({str(file)!r}).", where=self._where, hint=error.hint) from None
        except UNREADABLE as error:
            raise self._broken(file, error) from None
        twice = next((name for name in schema.names if len(schema.get_all_field_indices(name)) > 1), None)
        if twice is not None:
            raise SchemaError(f"Column {twice!r} is in {file.name!r} twice.", where=self._where,
                              hint="Write the file again with a name for each column.")
        return schema

    def _broken(self, file: DataFile, error: Exception) -> SourceError:
        return broken_file(file, error, title=self._format.title, where=self._where,
                           what=str(error) if isinstance(error, UnreadableError) else "",
                           hint=error.hint if isinstance(error, HintedError) else "")

    def _all_fields(self) -> pa.Schema:
        fields = self._fields
        for field in self._folders.fields if self._folders is not None else ():
            if field.name in fields.names:
                raise SchemaError(f"Column {field.name!r} is both in the files and in the names of their folders.",
                                  where=self._where, hint="Use a list of the files to read the column of the files.")
            fields = fields.append(field)
        return fields


def _counted(reasons: Counter[str]) -> str:
    """The most frequent reasons with their counts.

    >>> _counted(Counter(a=1, b=1, c=3, d=2))
    'c (3), d (2), a (1), other reasons (1)'
    """
    shown = dict(reasons.most_common(_SHOWN_REASONS))
    others = reasons.total() - sum(shown.values())
    return ", ".join(f"{why} ({number:,})" for why, number in [*shown.items(), ("other reasons", others)] if number)


def _texts_for_nulls(fields: pa.Schema) -> pa.Schema:
    """Columns that are empty in all files are text."""
    return pa.schema([field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in fields])


def _with_given(fields: pa.Schema, given: pa.Schema, where: str) -> pa.Schema:
    for field in given:
        if field.name not in fields.names:
            raise SchemaError(f"schema has a column {field.name!r}, which no file has.", where=where,
                              hint=near_match(field.name, fields.names))
        fields = fields.set(fields.names.index(field.name), field)
    return fields


def _selected(fields: pa.Schema, columns: Sequence[str], where: str) -> pa.Schema:
    missing = next((name for name in columns if name not in fields.names), None)
    if missing is not None:
        raise SchemaError(f"columns has {missing!r}, which no file has.", where=where,
                          hint=near_match(missing, fields.names))
    return pa.schema([fields.field(name) for name in columns])
