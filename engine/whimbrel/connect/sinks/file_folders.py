"""Folders of CSV, JSON lines and Arrow IPC files as sinks."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, ipc

from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.sinks.file_checksums import changed_since_written, checksums_of, write_durably
from whimbrel.connect.sinks.folder_sink import BufferedFolderSink
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.errors import SinkError
from whimbrel.plan.sink import Token


class ChecksumFolderSink(BufferedFolderSink):
    """Sink of files without checksums of their own: a hidden file of the folder has them.

    A resumed run compares sizes and times, and reads files that were changed or copied.

    Parameters
    ----------
    folder : str or path
        As in :class:`~whimbrel.connect.sinks.parquet.ParquetSink`.
    call : str
        The function that users call, for errors.
    """

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._checksums = checksums_of(self.folder)
        super().open(schema, rows, token)

    @abstractmethod
    def encoded(self, rows: pa.Table) -> bytes:
        """Bytes of a file of these rows."""

    def write_file(self, path: Path, rows: pa.Table) -> None:
        write_durably(path, self.encoded(rows))

    def damage(self, path: Path, rows: int) -> str:
        return changed_since_written(path, self._checksums)


class CsvSink(ChecksumFolderSink):
    """Sink of CSV files in a directory, each with a header line.

    Exactly once, as :class:`~whimbrel.connect.sinks.parquet.ParquetSink`. A reader of ``rows-*.csv`` sees each row
    once. Times are in ISO 8601, null is an empty value, and NaN is ``nan``. ``wb.read_csv`` reads the folder, with
    ``null_values=[]`` also NaN; it reads empty texts as null.

    Parameters
    ----------
    folder : str or path
        As in :class:`~whimbrel.connect.sinks.parquet.ParquetSink`.
    delimiter : str
        The character between two values.
    """

    ending = ".csv"

    def __init__(self, folder: FilePath, delimiter: str = ",") -> None:
        super().__init__(folder, "sinks.csv")
        if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise SinkError(f"delimiter must be one character of ASCII, got {delimiter!r}.", where=self.where,
                            hint='Use for example delimiter=";" or "\\t".')
        self._options = csv.WriteOptions(delimiter=delimiter)

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        for field in schema:
            if _is_binary(field.type):
                raise SinkError(f"CSV has no values of the type of column {field.name!r}, {field.type}.",
                                where=self.where, hint="Use sinks.json(...), which has base 64, or sinks.parquet(...), "
                                'cast texts with .cast("string"), or select other columns.')
            try:
                self.encoded(pa.table({field.name: pa.nulls(1, field.type)}))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise SinkError(f"CSV has no values of the type of column {field.name!r}, {field.type}.",
                                where=self.where,
                                hint="Use sinks.json(...) or sinks.parquet(...), or select other columns.") from None
        super().open(schema, rows, token)

    def encoded(self, rows: pa.Table) -> bytes:
        out = pa.BufferOutputStream()
        csv.write_csv(rows, out, self._options)
        return bytes(out.getvalue())


def _is_binary(type_: pa.DataType) -> bool:
    if pa.types.is_dictionary(type_):
        return _is_binary(type_.value_type)
    return bool(pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_)
                or pa.types.is_binary_view(type_))


class JsonSink(ChecksumFolderSink):
    """Sink of files with a JSON object a line.

    Exactly once, as :class:`~whimbrel.connect.sinks.parquet.ParquetSink`. A reader of ``rows-*.jsonl`` sees each row
    once. Times are in ISO 8601, bytes in base 64, NaN and infinity null. ``wb.read_json`` reads the folder.

    Parameters
    ----------
    folder : str or path
        As in :class:`~whimbrel.connect.sinks.parquet.ParquetSink`.
    """

    ending = ".jsonl"

    def __init__(self, folder: FilePath) -> None:
        super().__init__(folder, "sinks.json")

    def encoded(self, rows: pa.Table) -> bytes:
        return b"".join(text + b"\n" for batch in rows.to_batches() for _, text in json_rows(batch))


class IpcSink(ChecksumFolderSink):
    """Sink of Arrow IPC files, which Feather files are too.

    Exactly once, as :class:`~whimbrel.connect.sinks.parquet.ParquetSink`. A reader of ``rows-*.arrow`` sees each row
    once.
    ``wb.read_ipc`` reads the folder.

    Parameters
    ----------
    folder : str or path
        As in :class:`~whimbrel.connect.sinks.parquet.ParquetSink`.
    compression : {"zstd", "lz4"}, optional
        Default: none, so that files can be mapped to memory.
    """

    ending = ".arrow"

    def __init__(self, folder: FilePath, compression: str | None = None) -> None:
        super().__init__(folder, "sinks.ipc")
        if compression not in (None, "zstd", "lz4"):
            raise SinkError(f'compression must be "zstd", "lz4" or None, got {compression!r}.', where=self.where,
                            hint='Use for example compression="zstd".')
        self._options = ipc.IpcWriteOptions(compression=compression)

    def encoded(self, rows: pa.Table) -> bytes:
        out = pa.BufferOutputStream()
        with ipc.new_file(out, rows.schema, options=self._options) as writer:
            writer.write_table(rows.combine_chunks())
        return bytes(out.getvalue())
