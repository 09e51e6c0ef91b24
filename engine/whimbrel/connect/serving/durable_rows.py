"""Served rows that outlive their process."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyarrow import ipc

from whimbrel.connect.files.disk_sync import sync_to_disk
from whimbrel.connect.serving.broadcast_sink import Published
from whimbrel.connect.sinks.committed_files import RowsFile, file_name, rows_files
from whimbrel.errors import SinkError
from whimbrel.plan.sink import Token

_ENDING = ".arrow"
_NUMBERING = "numbering"


class DurableRows(Published):
    """Settled rows that readers get when a checkpoint contains them, each once.

    A checkpoint makes one file of rows. It is hidden until the checkpoint is written. A run that resumes reads the
    files of the rows that it retains, and numbers its rows as before. Rows that were not in a checkpoint are made
    again. They may be other rows then, and no reader has seen them.

    If the newest checkpoints are damaged and an older one is used, readers may have rows that it does not contain. Rows
    then get other numbers, and these readers get an error.

    Parameters
    ----------
    folder : path
        For these rows alone.
    keep_rows : int
        Rows that are retained for readers, at least.
    """

    guarantee: Literal["exactly once", "at least once"] = "exactly once"

    def __init__(self, folder: Path, keep_rows: int) -> None:
        super().__init__(keep_rows, whole=True)
        self.folder = folder
        self._written = 0
        self._waiting: list[pa.RecordBatch] = []
        self._hidden: dict[str, list[pa.RecordBatch]] = {}

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._waiting, self._hidden, self._written = [], {}, rows
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            retained = self._retained(rows, token)
            super().open(schema, rows if not retained else retained[0].first, self._numbering())
            self._batches.clear()
            for file in retained:
                for batch in _read(file):
                    super().write(batch)
        except OSError as error:
            raise self._failed(error) from error

    def _retained(self, rows: int, token: Token) -> list[RowsFile]:
        """Take over the files of the first rows, and remove all others; the files that follow each other up to them."""
        self._show(token or ())
        files = rows_files(self.folder, _ENDING)
        later = [file for file in files if file.stop > rows]
        if token is None or later or not self._numbering():
            self._renumber()  # first: readers may have what is removed
        for path in [*self.folder.glob(f".rows-*{_ENDING}"), *(file.path for file in later)]:
            path.unlink()
        retained: list[RowsFile] = []
        for file in reversed([] if token is None else files):
            if file.stop == (retained[0].first if retained else rows):
                retained.insert(0, file)
        return retained

    def _numbering(self) -> str:
        path = self.folder / _NUMBERING
        return path.read_text() if path.exists() else ""

    def _renumber(self) -> None:
        new = self.folder / f".{_NUMBERING}"
        new.write_text(secrets.token_hex(8))
        sync_to_disk(new)
        new.rename(self.folder / _NUMBERING)
        sync_to_disk(self.folder)

    def write(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)

    def prepare(self) -> Token:
        if self._waiting:
            stop = self._written + sum(batch.num_rows for batch in self._waiting)
            name = file_name(self._written, stop, _ENDING)
            path = self.folder / f".{name}"
            try:
                with ipc.new_file(str(path), self._waiting[0].schema) as file:
                    for batch in self._waiting:
                        file.write_batch(batch)
                sync_to_disk(path)
            except OSError as error:
                raise self._failed(error) from error
            self._hidden[name], self._waiting, self._written = self._waiting, [], stop
        return list(self._hidden)

    def commit(self, token: Any) -> None:
        try:
            self._show(token)
        except OSError as error:
            raise self._failed(error) from error
        for name in token:
            for batch in self._hidden.pop(name, ()):
                super().write(batch)
        for file in rows_files(self.folder, _ENDING):
            if file.stop <= self.first:
                file.path.unlink()

    def _show(self, token: Any) -> None:
        """Make hidden files visible."""
        for name in token:
            with suppress(FileNotFoundError):  # it is visible, or was evicted
                (self.folder / f".{name}").rename(self.folder / name)
        sync_to_disk(self.folder)

    def _failed(self, error: OSError) -> SinkError:
        return SinkError(f"Cannot write {str(self.folder)!r}: {error.strerror or error}.",
                         where="serve(..., checkpoints=...)", hint=f"Free some disk space. {self.again}")


def _read(file: RowsFile) -> list[pa.RecordBatch]:
    """The rows of a file; an error that names a damaged one."""
    why = ""
    try:
        with pa.OSFile(str(file.path)) as source:
            table = ipc.open_file(source).read_all()
        if table.num_rows != file.stop - file.first:
            why = f"has {table.num_rows:,} rows"
    except (pa.ArrowInvalid, OSError):
        why = "cannot be read"
    if why:
        lost = f"Rows {file.first:,} to {file.stop - 1:,} of the low level are missing"
        raise SinkError(f"{lost}: {file.path.name} {why}.",
                        where="serve(..., checkpoints=...)",
                        hint="Restore the file from a copy, or start with new checkpoints in all processes.")
    batches: list[pa.RecordBatch] = table.to_batches()
    return batches
