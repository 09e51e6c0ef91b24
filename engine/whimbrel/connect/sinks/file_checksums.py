"""Checksums of the files of a folder, for formats without their own."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_NAME = ".checksums"


def write_durably(path: Path, data: bytes) -> None:
    """Write a durable file, and note its size, time and checksum in a hidden file of the folder."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    note = {"file": path.name.removeprefix("."), "bytes": len(data), "written_ns": path.stat().st_mtime_ns,
            "checksum": hashlib.blake2b(data, digest_size=16).hexdigest()}
    with (path.parent / _NAME).open("ab") as notes:
        notes.write(json.dumps(note).encode() + b"\n")
        notes.flush()
        os.fsync(notes.fileno())


def checksums_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Notes of a folder by the names of files, the last one of each: a file may be written again after a crash."""
    try:
        lines = (folder / _NAME).read_bytes().splitlines()
    except OSError:
        return {}
    notes: dict[str, dict[str, Any]] = {}
    for line in lines:
        with suppress(ValueError):  # a crash may have cut it
            note = json.loads(line)
            notes[note["file"]] = note
    return notes


def changed_since_written(path: Path, notes: Mapping[str, Mapping[str, Any]]) -> str:
    """Damage of a file that :func:`write_durably` wrote; empty if it is as it was written.

    A file with its size and time is not read.
    """
    note = notes.get(path.name.removeprefix("."))
    if note is None:
        return "has no checksum"
    try:
        status = path.stat()
        if status.st_size != note["bytes"]:
            return "was cut" if status.st_size < note["bytes"] else "was changed"
        if status.st_mtime_ns == note["written_ns"]:
            return ""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError:
        return "cannot be read"
    return "" if digest == note["checksum"] else "was changed"
