"""Folders of state files that appear atomically."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from whimbrel.connect.files.disk_sync import sync_to_disk
from whimbrel.errors import CheckpointError, DamagedCheckpointError
from whimbrel.run.state_file import read_state, write_state

_SUMS = "sums.json"
_DAMAGED = "Restore an older checkpoint, or run the query from the start: this one is damaged."


def write_folder(folder: Path, states: Mapping[str, Any], first: str, where: str) -> None:
    """Write states as files of a folder; it replaces an existing one when it is complete.

    Parameters
    ----------
    folder : Path
    states : mapping of str to state
        By the name of the file.
    first : str
        The file by which such a folder is known.
    where : str
        The user's call, for errors.

    Raises
    ------
    CheckpointError
        When the folder holds something else, or cannot be written.
    """
    if folder.exists() and not (folder / first).is_file():
        raise CheckpointError(f"{str(folder)!r} exists and does not hold a checkpoint.", where=where,
                              hint="Use a folder that does not exist, or the checkpoint to replace.")
    try:
        _write(folder, states)
    except OSError as error:
        shutil.rmtree(_sibling(folder, "partial"), ignore_errors=True)
        raise CheckpointError(f"Cannot write {str(folder)!r}: {error.strerror or error}.", where=where,
                              hint="Use a folder that can be created, on a disk with free space.") from error


def _write(folder: Path, states: Mapping[str, Any]) -> None:
    fresh, previous = _sibling(folder, "partial"), _sibling(folder, "previous")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name, state in states.items():
        write_state(fresh / name, state)
    sums = {file.name: _sum(file) for file in sorted(fresh.iterdir())}
    (fresh / _SUMS).write_text(json.dumps(sums), encoding="utf-8")
    for file in (*fresh.iterdir(), fresh):
        sync_to_disk(file)
    shutil.rmtree(previous, ignore_errors=True)
    if folder.exists():
        folder.rename(previous)
    fresh.rename(folder)
    sync_to_disk(folder.parent)
    shutil.rmtree(previous, ignore_errors=True)


def found_folder(folder: Path, first: str, where: str) -> Path:
    """The folder, or that which it was to replace when the machine went down.

    Raises
    ------
    DamagedCheckpointError
        When there is none.
    """
    found = folder if folder.exists() else _sibling(folder, "previous")  # the machine went down between two renames
    if not (found / first).is_file():
        raise DamagedCheckpointError(f"There is no checkpoint in {str(folder)!r}.", where=where,
                                     hint="Write one with run.checkpoint(path).")
    return found


def has_sums(folder: Path) -> bool:
    """Whether sums of its files stand in it."""
    return (folder / _SUMS).is_file()


def check_sums(folder: Path, where: str) -> None:
    """Hold each file against what was written, so that no bit of it is believed that has changed."""
    try:
        sums = json.loads((folder / _SUMS).read_text(encoding="utf-8"))
        changed = [name for name, known in sums.items() if _sum(folder / name) != known]
    except (OSError, ValueError, AttributeError) as error:
        raise DamagedCheckpointError(f"Cannot read {str(folder)!r}: {' '.join(str(error).split())[:120]}",
                                     where=where, hint=_DAMAGED) from error
    if changed:
        raise DamagedCheckpointError(f"{changed[0]} in {str(folder)!r} has changed since it was written.", where=where,
                                     hint=_DAMAGED)


def read_file(file: Path, where: str) -> Any:
    """The state of a file.

    Raises
    ------
    DamagedCheckpointError
    """
    try:
        return read_state(file)
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise DamagedCheckpointError(f"Cannot read {str(file)!r}: {' '.join(str(error).split())[:120]}", where=where,
                                     hint=_DAMAGED) from error


def _sum(file: Path) -> str:
    with file.open("rb") as text:
        return hashlib.file_digest(text, "sha256").hexdigest()


def _sibling(folder: Path, word: str) -> Path:
    return folder.with_name(f".{folder.name}.{word}")
