"""Exclusive lease of a folder for one run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from whimbrel.errors import SinkError

_NAME = ".run"


def owned(folder: Path, run: str, *, begins: bool, has_rows: bool, call: str = "sinks.parquet") -> IO[bytes]:
    """Lock the file with the run id of a folder; closing it, or the end of the process, releases the lock.

    Parameters
    ----------
    folder : path
    run : str
    begins : bool
        Whether the run has no rows yet.
    has_rows : bool
        Whether the folder has rows.
    call : str
        The user's call, for errors.

    Raises
    ------
    SinkError
        If another run uses the folder or wrote its rows, or if this run wrote its rows to another folder.
    """
    file = (folder / _NAME).open("a+b")
    alone = _locked(file)
    file.seek(0)
    owner = file.read().decode(errors="replace")
    why = _against(owner == run, alone=alone, begins=begins, has_rows=has_rows, owned=bool(owner))
    if why is not None:
        file.close()
        raise SinkError(why[0], where=f"{call}({str(folder)!r})", hint=why[1])
    if owner != run:
        try:
            file.truncate(0)
            os.write(file.fileno(), run.encode())  # unbuffered: a failed buffer would be written again at close
            os.fsync(file.fileno())
        except OSError:
            file.close()
            raise
    return file


def _against(ours: bool, *, alone: bool, begins: bool, has_rows: bool, owned: bool) -> tuple[str, str] | None:
    """Reason and hint if the run may not write to the folder, else None."""
    if not alone:
        return "Another run is writing to this folder.", "Use a folder of its own for each run and each query."
    if has_rows and owned and not ours:
        return ("The folder has rows of another run.",
                "Resume from the checkpoints of that run, or use an empty folder.")
    if not begins and not has_rows and not ours:
        return ("The run resumes from a checkpoint, but the folder has none of its rows.",
                "Use the folder that the run wrote to, or new checkpoints to start again.")
    return None


def _locked(file: IO[bytes]) -> bool:
    """Whether the lock was acquired; True on systems without fcntl, which have no checkpoints either."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
