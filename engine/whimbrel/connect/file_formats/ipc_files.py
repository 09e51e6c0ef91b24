"""Rows of Arrow IPC files and streams, which Feather files are too."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa
from pyarrow import ipc

from whimbrel.connect.file_formats.file_format import FileFormat, Report
from whimbrel.connect.files.data_file import DataFile, random_access
from whimbrel.connect.tables.columnar_source import BATCH_ROWS
from whimbrel.connect.tables.lifetime_columns import Timeline

_MAGIC = b"ARROW1"


class IpcFiles(FileFormat):
    """Files of Arrow record batches: the file format, also as Feather, and the stream format."""

    title = "Arrow IPC"
    endings = (".arrow", ".feather", ".ipc", ".arrows")
    has_malformed_lines = False

    def schema(self, file: DataFile, times: Collection[str]) -> pa.Schema:
        with random_access(file) as memory:
            return _opened(memory, None).schema.remove_metadata()

    def batches(self, file: DataFile, fields: pa.Schema, timeline: Timeline,
                report: Report) -> Iterator[pa.RecordBatch]:
        with random_access(file) as memory:
            held = _opened(memory, None).schema.names
            memory.seek(0)
            reader = _opened(memory, [held.index(name) for name in fields.names])
            whole = isinstance(reader, ipc.RecordBatchFileReader)
            found = map(reader.get_batch, range(reader.num_record_batches)) if whole else iter(reader)
            for batch in found:
                rows = batch.select(fields.names)
                for first in range(0, rows.num_rows, BATCH_ROWS):
                    yield rows.slice(first, BATCH_ROWS)


def _opened(memory: pa.NativeFile, columns: list[int] | None) -> ipc.RecordBatchFileReader:
    options = ipc.IpcReadOptions(included_fields=columns)
    whole = memory.read(len(_MAGIC)) == _MAGIC
    memory.seek(0)
    return (ipc.open_file if whole else ipc.open_stream)(memory, options=options)
