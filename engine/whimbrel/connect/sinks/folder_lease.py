"""Which run a folder of rows belongs to, so that no other adds to them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from whimbrel.errors import SinkError

_NAME = ".run"


def owned(folder: Path, run: str, *, begins: bool, has_rows: bool) -> IO[bytes]:
    """The file that says whose folder it is, locked until it is closed or its process has ended.

    Parameters
    ----------
    folder : path
    run : str
    begins : bool
        Whether the run has no rows yet.
    has_rows : bool
        Whether the folder has.

    Raises
    ------
    SinkError
        When another run goes on in the folder, or wrote its rows; or when this run wrote its own somewhere else.
    """
    file = (folder / _NAME).open("a+b")
    alone = _locked(file)
    file.seek(0)
    owner = file.read().decode(errors="replace")
    why = _against(owner == run, alone=alone, begins=begins, has_rows=has_rows, owned=bool(owner))
    if why is not None:
        file.close()
        raise SinkError(why[0], where=f"sinks.parquet({str(folder)!r})", hint=why[1])
    if owner != run:
        try:
            file.truncate(0)
            os.write(file.fileno(), run.encode())  # past the buffer, which would be tried again when it is closed
            os.fsync(file.fileno())
        except OSError:
            file.close()
            raise
    return file


def _against(ours: bool, *, alone: bool, begins: bool, has_rows: bool, owned: bool) -> tuple[str, str] | None:
    """What speaks against writing there, and what to do."""
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
    """Whether nobody else holds it; so it is where a system has no such locks, and no checkpoints therefore."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
