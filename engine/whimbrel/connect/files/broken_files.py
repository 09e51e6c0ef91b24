"""Errors for files that are cut, damaged or have another format."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import NamedTuple

from whimbrel.connect.files.data_file import DataFile, RemoteFile
from whimbrel.connect.files.remote_failures import remote_failure
from whimbrel.errors import SourceError

_CUT = "Copy or write the file again: a part of it is missing."
_AGAIN = "Copy or write the file again."
_MARKS = {"Parquet": b"PAR1", "Arrow IPC": b"ARROW1"}
"""How files of a format begin and end."""
_STREAM = b"\xff\xff\xff\xff"
_DAMAGE = re.compile(r"magic bytes|Not an Arrow file|file footer|footer's|metadata bytes|message body|schema message"
                     r"|thrift|File is too small|Corrupt|flatbuffer|end of stream|decompress|inflate")
"""Causes by the messages of Arrow."""
_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".lz4": "LZ4", ".br": "Brotli"}


class _Other(NamedTuple):
    """Another format: how its files begin, what they are, and what to do."""

    mark: bytes
    what: str
    hint: str
    ending: str = ""


_OTHERS = (
    _Other(b"PAR1", "it is a Parquet file", "Use wb.read_parquet()."),
    _Other(b"ARROW1", "it is an Arrow IPC file", "Use wb.read_ipc()."),
    _Other(b"SQLite format 3", "it is a database of SQLite", 'Use wb.from_sql(query, "sqlite:///file").'),
    _Other(b"PK\x03\x04", "it is a zip archive", "Unpack it first."),
    _Other(b"\x1f\x8b", "it is compressed with gzip", "Rename the file: let its name end with .gz.", ".gz"),
    _Other(b"\x28\xb5\x2f\xfd", "it is compressed with zstd", "Rename the file: let its name end with .zst.", ".zst"),
    _Other(b"BZh", "it is compressed with bzip2", "Rename the file: let its name end with .bz2.", ".bz2"),
)


def broken_file(file: DataFile, error: Exception, *, title: str, where: str, what: str = "",
                hint: str = "") -> SourceError:
    """Error for a file that cannot be read: what it is instead, or what is missing.

    Parameters
    ----------
    file : DataFile
    error : Exception
        The error of the parser.
    title : str
        The format.
    where : str
        The user's call.
    what, hint : str, optional
        What is wrong, if it is known.
    """
    if isinstance(file, RemoteFile) and (failed := remote_failure(str(file), error, where)) is not None:
        return failed
    if (known := _known(file, error, title)) is not None:
        what, hint = known
    what = what or " ".join(str(error).split())[:160]
    return SourceError(f"{str(file)!r} cannot be read as {title}: {what.rstrip('.')}.", where=where,
                       hint=hint or f"Check that the file is complete and has the {title} format.")


def _known(file: DataFile, error: Exception, title: str) -> tuple[str, str] | None:
    begin, end = _ends(file)
    mark = _MARKS.get(title)
    codec = "" if mark else _CODECS.get(file.suffix.lower(), "")
    for other in _OTHERS:
        if begin.startswith(other.mark) and other.mark != mark and not (codec and file.suffix.lower() == other.ending):
            return other.what, other.hint
    cause = str(error)
    if "Truncated compressed" in cause:
        return "it ends in the middle of its compressed data", _CUT
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower(), "Check the file and its permissions."
    if not _DAMAGE.search(cause):
        return None
    if codec:
        return f"its data is damaged, or not that of {codec}", f"Write it again, or rename it if it is not {codec}."
    if begin and mark and not begin.startswith((mark, _STREAM)):
        return f"it does not begin as {title} files do", ""
    if begin and mark and (begin.startswith(_STREAM) or not end.endswith(mark)):
        return "its end is missing", _CUT
    return ("its data is damaged", _AGAIN) if begin else ("it is damaged, or has another format", "")


def _ends(file: DataFile) -> tuple[bytes, bytes]:
    """The first and the last bytes of a file of this machine."""
    begin = end = b""
    if not isinstance(file, RemoteFile):
        with suppress(OSError), file.open("rb") as stream:
            begin = stream.read(16)
            stream.seek(max(0, file.stat().st_size - 6))
            end = stream.read()
    return begin, end
