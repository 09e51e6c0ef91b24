"""Base class of sinks that write files to a folder, exactly once."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa

from whimbrel.connect.files.disk_sync import sync_to_disk
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.files.written_schema import write_schema
from whimbrel.connect.sinks.committed_files import check_kept, file_name, rows_files
from whimbrel.connect.sinks.folder_lease import owned
from whimbrel.connect.validation import check_path
from whimbrel.errors import SinkError
from whimbrel.plan.sink import Sink, Token

_MAX_ROWS = 1 << 20
"""Rows of a file."""


class FolderSink(Sink):
    """Sink of files in a folder.

    Files are written under a hidden name and renamed when a checkpoint contains them. If the newest checkpoints are
    damaged and an older one is used, files disappear and are written again.

    Parameters
    ----------
    folder : str or path
    call : str
        The function that users call, for errors.
    """

    guarantee: Literal["exactly once", "at least once"] = "exactly once"
    ending: str = ".parquet"

    def __init__(self, folder: FilePath, call: str) -> None:
        check_path("folder", folder, where=f"{call}(...)")
        self.folder, self.name, self.call = Path(folder), str(folder), call
        self._files: list[str] = []
        self._rows = 0
        self._owner: IO[bytes] | None = None

    @property
    def where(self) -> str:
        """The user's call, for errors."""
        return f"{self.call}({self.name!r})"

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SinkError(f"Cannot create the folder {self.name!r}: {error.strerror or error}.", where=self.where,
                            hint="Use the path of a folder.") from error
        self._rows, self._files = rows, []
        if token is None and self._has_rows():
            raise SinkError(f"A new run needs an empty folder, but {self.name!r} has rows.", where=self.where,
                            hint="Resume from the checkpoints of the run that wrote them, or use an empty folder.")
        try:
            self._take_over(rows, token)
        except OSError as error:
            self.close()
            raise self._unwritten(error, "Use a writable folder on a disk with free space.") from error
        except SinkError:
            self.close()  # the run may be started again in this process after a repair
            raise

    def _has_rows(self) -> bool:
        return any(self.folder.glob(f"rows-*{self.ending}"))

    def _take_over(self, rows: int, token: Token) -> None:
        """Lease the folder, and remove files that were written after the checkpoint."""
        self._owner = owned(self.folder, self.run, begins=rows == 0, has_rows=self._has_rows(), call=self.call)
        if token is not None:
            self.commit(token)
        check_kept(self.folder, rows, self.damage, ending=self.ending, call=self.call)  # first: a refused folder stays
        for file in [*self.folder.glob(f".rows-*{self.ending}"),
                     *(file.path for file in rows_files(self.folder, self.ending) if file.first >= rows)]:
            file.unlink()
        sync_to_disk(self.folder)

    @abstractmethod
    def damage(self, path: Path, rows: int) -> str:
        """Damage of a file of so many rows.

        It is empty if the file is complete.
        """

    def _unwritten(self, error: OSError, hint: str) -> SinkError:
        return SinkError(f"Cannot write to {self.name!r}: {error.strerror or error}.", where=self.where, hint=hint)

    def _written(self, name: str, rows: int) -> None:
        """Note a durable hidden file with the next rows."""
        self._files.append(name)
        self._rows += rows

    def prepare(self) -> Token:
        return list(self._files)

    def commit(self, token: Any) -> None:
        for name in token:
            hidden = self.folder / f".{name}"
            if hidden.exists():
                hidden.rename(self.folder / name)
        self._files = [name for name in self._files if name not in token]
        sync_to_disk(self.folder)

    def close(self) -> None:
        if self._owner is not None:
            self._owner.close()


class BufferedFolderSink(FolderSink):
    """Sink of files that are written whole, from rows that it buffers.

    Parameters
    ----------
    folder : str or path
    call : str
        The function that users call, for errors.
    """

    def __init__(self, folder: FilePath, call: str) -> None:
        super().__init__(folder, call)
        self._parts: list[pa.RecordBatch] = []
        self._buffered = 0

    @abstractmethod
    def write_file(self, path: Path, rows: pa.Table) -> None:
        """Write a durable file of these rows.

        Raises
        ------
        OSError
        """

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._parts, self._buffered, self._schema = [], 0, schema
        super().open(schema, rows, token)

    def _take_over(self, rows: int, token: Token) -> None:
        super()._take_over(rows, token)
        write_schema(self.folder, self._schema, self.ending)

    def write(self, rows: pa.RecordBatch) -> None:
        self._parts.append(rows)
        self._buffered += rows.num_rows
        if self._buffered >= _MAX_ROWS:
            self._write()

    def _write(self) -> None:
        if not self._buffered:
            return
        name = file_name(self._rows, self._rows + self._buffered, self.ending)
        try:
            self.write_file(self.folder / f".{name}", pa.Table.from_batches(self._parts))
        except OSError as error:
            raise self._unwritten(error, f"Free some disk space. {self.again}") from error
        self._written(name, self._buffered)
        self._parts, self._buffered = [], 0

    def prepare(self) -> Token:
        self._write()
        return super().prepare()

    def close(self) -> None:
        self._parts = []
        super().close()
