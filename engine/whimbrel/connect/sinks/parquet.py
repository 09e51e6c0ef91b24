"""Directory of Parquet files as a sink."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.sinks.committed_files import damage, file_name, write_rows
from whimbrel.connect.sinks.folder_sink import FolderSink
from whimbrel.plan.sink import Token

_MAX_ROWS = 1 << 20


class ParquetSink(FolderSink):
    """Sink of Parquet files in a directory.

    Files of settled rows appear when they are complete and durable.

    Exactly once: files are written under a hidden name and renamed when a checkpoint contains them. A reader of
    ``rows-*.parquet`` sees each row once. If the newest checkpoints are damaged and an older one is used, files
    disappear and are written again.

    A resumed run verifies its files by their names and footers, and the pages of files that were changed or copied
    since they were written. If rows are missing or damaged, it fails with a SinkError that names them.

    Parameters
    ----------
    folder : str or path
        The folder, which is created if it does not exist. A new run needs a folder without rows. A folder belongs to
        one run, whose id is in its file ``.run``.
    """

    def __init__(self, folder: FilePath) -> None:
        super().__init__(folder, "sinks.parquet")
        self._parts: list[pa.RecordBatch] = []
        self._held = 0

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._schema = schema
        self._parts, self._held = [], 0
        super().open(schema, rows, token)

    def write(self, rows: pa.RecordBatch) -> None:
        self._parts.append(rows)
        self._held += rows.num_rows
        if self._held >= _MAX_ROWS:
            self._write()

    def _write(self) -> None:
        if not self._held:
            return
        name = file_name(self._rows, self._rows + self._held)
        try:
            write_rows(self.folder / f".{name}", pa.Table.from_batches(self._parts, self._schema))
        except OSError as error:
            raise self._unwritten(error, f"Free some disk space. {self.again}") from error
        self._written(name, self._held)
        self._parts, self._held = [], 0

    def prepare(self) -> Token:
        self._write()
        return super().prepare()

    def damage(self, path: Path, rows: int) -> str:
        why = damage(path, rows)
        return why or ("has other columns" if parquet.read_schema(path).names != self._schema.names else "")

    def close(self) -> None:
        self._parts = []
        super().close()
