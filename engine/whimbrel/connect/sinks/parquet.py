"""Directory of Parquet files as a sink."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa
from pyarrow import parquet

from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.sinks.committed_files import check_kept, file_name, rows_files
from whimbrel.connect.sinks.folder_lease import owned
from whimbrel.connect.validation import check_path
from whimbrel.errors import SinkError
from whimbrel.plan.sink import Sink, Token

_MAX_ROWS = 1 << 20


class ParquetSink(Sink):
    """Sink of Parquet files in a directory.

    Files of settled rows appear when they are complete and durable.

    Exactly once: files are written under a hidden name and renamed when a checkpoint contains them. A reader of
    ``rows-*.parquet`` sees each row once. If the newest checkpoints are damaged and an older one is used, files
    disappear and are written again.

    A resumed run verifies its files by their names and footers. If rows are missing, it fails with a SinkError that
    names them.

    Parameters
    ----------
    folder : str or path
        The folder, which is created if it does not exist. A new run needs a folder without rows. A folder belongs to
        one run, whose id is in its file ``.run``.
    """

    guarantee: Literal["exactly once", "at least once"] = "exactly once"

    def __init__(self, folder: FilePath) -> None:
        check_path("folder", folder, where="sinks.parquet(...)")
        self.folder = Path(folder)
        self.name = str(folder)
        self._parts: list[pa.RecordBatch] = []
        self._files: list[str] = []
        self._rows = self._held = 0
        self._owner: IO[bytes] | None = None

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SinkError(f"Cannot create the folder {self.name!r}: {error.strerror or error}.",
                            where=f"sinks.parquet({self.name!r})", hint="Use the path of a folder.") from error
        self._schema, self._rows = schema, rows
        self._parts, self._files, self._held = [], [], 0
        if token is None and any(self.folder.glob("rows-*.parquet")):
            raise SinkError(f"A new run needs an empty folder, but {self.name!r} has rows.",
                            where=f"sinks.parquet({self.name!r})",
                            hint="Resume from the checkpoints of the run that wrote them, or use an empty folder.")
        try:
            self._take_over(rows, token)
        except OSError as error:
            raise self._unwritten(error, "Use a writable folder on a disk with free space.") from error
        except SinkError:
            self.close()  # the run may be started again in this process after a repair
            raise

    def _take_over(self, rows: int, token: Token) -> None:
        """Lease the folder, and remove files that were written after the checkpoint."""
        self._owner = owned(self.folder, self.run, begins=rows == 0, has_rows=any(self.folder.glob("rows-*.parquet")))
        if token is not None:
            self.commit(token)
        check_kept(self.folder, rows, self._schema.names)  # first: a refused folder must not change
        for file in [*self.folder.glob(".rows-*.parquet"), *(file.path for file in rows_files(self.folder)
                                                             if file.first >= rows)]:
            file.unlink()
        self._sync()

    def _unwritten(self, error: OSError, hint: str) -> SinkError:
        return SinkError(f"Cannot write to {self.name!r}: {error.strerror or error}.",
                         where=f"sinks.parquet({self.name!r})", hint=hint)

    def write(self, rows: pa.RecordBatch) -> None:
        self._parts.append(rows)
        self._held += rows.num_rows
        if self._held >= _MAX_ROWS:
            self._write()

    def _write(self) -> None:
        if not self._held:
            return
        name = file_name(self._rows, self._rows + self._held)
        path = self.folder / f".{name}"
        try:
            with path.open("wb") as file:
                parquet.write_table(pa.Table.from_batches(self._parts, self._schema), file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritten(error, f"Free some disk space. {self.again}") from error
        self._files.append(name)
        self._rows += self._held
        self._parts, self._held = [], 0

    def prepare(self) -> Token:
        self._write()
        return list(self._files)

    def commit(self, token: Any) -> None:
        for name in token:
            hidden = self.folder / f".{name}"
            if hidden.exists():
                hidden.rename(self.folder / name)
        self._files = [name for name in self._files if name not in token]
        self._sync()

    def _sync(self) -> None:
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def close(self) -> None:
        self._parts = []
        if self._owner is not None:
            self._owner.close()
