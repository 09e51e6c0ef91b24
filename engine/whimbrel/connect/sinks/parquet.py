"""Directory of Parquet files as a sink."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.sinks.committed_files import damage, write_rows
from whimbrel.connect.sinks.folder_sink import BufferedFolderSink


class ParquetSink(BufferedFolderSink):
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

    def write_file(self, path: Path, rows: pa.Table) -> None:
        write_rows(path, rows)

    def damage(self, path: Path, rows: int) -> str:
        why = damage(path, rows)
        return why or ("has other columns" if parquet.read_schema(path).names != self._schema.names else "")
