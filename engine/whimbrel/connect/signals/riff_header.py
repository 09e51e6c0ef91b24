"""Length of a WAV file, compared with its header."""

from __future__ import annotations

import struct
from pathlib import Path

_STREAMED = (0, 0xFFFFFFFF)
"""Lengths that a writer leaves who does not know the length."""


def missing_bytes(path: Path) -> int:
    """How many bytes of samples a WAV file lacks; 0 for complete files, and for other formats.

    libsndfile reads a truncated file without an error.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(4) != b"RIFF" or file.seek(8) != 8 or file.read(4) != b"WAVE":
            return 0
        while len(head := file.read(8)) == 8:
            name, length = struct.unpack("<4sI", head)
            if name == b"data":
                return 0 if length in _STREAMED else max(0, file.tell() + length - size)
            file.seek(length + length % 2, 1)
    return 0
