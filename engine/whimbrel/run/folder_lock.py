"""A file lock that reserves a folder for one run."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import IO

from whimbrel.errors import CheckpointError

_NAME = ".lock"


def run_of(lock: IO[bytes]) -> str:
    """The name of the run whose folder it is, which outlives its process; made up when the folder is new.

    Raises
    ------
    CheckpointError
        When it cannot be written.
    """
    lock.seek(0)
    name = lock.read().decode(errors="replace")
    if not name:
        name = secrets.token_hex(8)
        try:
            os.write(lock.fileno(), name.encode())  # past the buffer, which would be tried again when it is closed
            os.fsync(lock.fileno())
        except OSError as error:
            folder = str(Path(lock.name).parent)
            raise CheckpointError(f"Cannot write {folder!r}: {error.strerror or error}.",
                                  where=f"Checkpoints({folder!r})",
                                  hint="Use a writable folder on a disk with free space.") from error
    return name


def locked(folder: Path) -> IO[bytes]:
    """Lock a folder, created if needed, until the lock is closed or the process ends.

    It holds the name of the run: see :func:`run_of`.

    Raises
    ------
    CheckpointError
        When another run holds it, in this process or another, the folder cannot be written to, or the system has no
        such locks.
    """
    where = f"Checkpoints({str(folder)!r})"
    try:
        import fcntl
    except ImportError:
        raise CheckpointError("This system has no POSIX file locks, which reserve a folder for one run.",
                              where=where, hint="Use Linux or macOS for checkpoints, or WSL on Windows.") from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / _NAME).open("a+b")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise
    except BlockingIOError:
        raise CheckpointError("Another run uses these checkpoints.", where=where,
                              hint="Stop that run with stop() and wait(), or use another folder.") from None
    except OSError as error:
        raise CheckpointError(f"Cannot lock {str(folder)!r}: {error.strerror or error}.", where=where,
                              hint="Use a writable folder on a disk that supports locks.") from error
    return lock
