"""Files of this machine, of object stores and of web servers."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from pyarrow import fs

_SECOND_NS = 1_000_000_000
_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4", ".br": "brotli"}


class RemoteFile:
    """A file or directory of a file system of Arrow.

    Its text has no users, passwords or query values, so it may stand in plans, errors and checkpoints.

    Parameters
    ----------
    system : pyarrow.fs.FileSystem
    key : str
        Its path in the file system.
    shown : str
        Its address without secrets.
    status : (int, int), optional
        Its size and time of the last change, from a listing.

    Examples
    --------
    >>> from pyarrow import fs
    >>> file = RemoteFile(fs.LocalFileSystem(), "logs/day=1/a.parquet", "s3://logs/day=1/a.parquet")
    >>> file, file.stem, file.relative_to(RemoteFile(file.system, "logs", "s3://logs")).parts
    (s3://logs/day=1/a.parquet, 'a', ('day=1', 'a.parquet'))
    """

    def __init__(self, system: fs.FileSystem, key: str, shown: str, status: tuple[int, int] | None = None) -> None:
        self.system, self.key, self.shown, self.status = system, key, shown, status

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return self.shown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteFile) and (self.key, self.shown) == (other.key, other.shown)

    def __hash__(self) -> int:
        return hash((self.key, self.shown))

    @cached_property
    def _path(self) -> PurePosixPath:
        return PurePosixPath(self.shown.partition("?")[0].partition("://")[2].lstrip("/"))

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self._path.name

    @property
    def stem(self) -> str:
        """Its name without the suffix."""
        return self._path.stem

    @property
    def suffix(self) -> str:
        """The end of its name, from the last dot on."""
        return self._path.suffix

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its path, from the bucket or server on."""
        return self._path.parts

    @property
    def parent(self) -> PurePosixPath:
        """The path of its directory, without the scheme."""
        return self._path.parent

    def relative_to(self, directory: RemoteFile | Path) -> PurePosixPath:
        """Path from a directory to the file."""
        assert isinstance(directory, RemoteFile)
        return self._path.relative_to(directory._path)  # noqa: SLF001 - of the same class


DataFile: TypeAlias = Path | RemoteFile
"""A file with rows."""


def status_of(info: fs.FileInfo) -> tuple[int, int]:
    """Size and time of the last change, in whole seconds: a listing of S3 is finer than the status of an object."""
    return info.size or 0, (info.mtime_ns or 0) // _SECOND_NS


def written(file: DataFile) -> tuple[int, int] | None:
    """Size of a file and time of its last change; None if it does not exist or the server does not answer."""
    try:
        if isinstance(file, RemoteFile):
            info = file.system.get_file_info(file.key)
            return status_of(info) if info.is_file else None
        status = file.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def is_removed(file: DataFile, error: Exception) -> bool:
    """Whether a file could not be read because it does not exist."""
    if isinstance(error, FileNotFoundError) or not isinstance(file, RemoteFile):
        return isinstance(error, FileNotFoundError)
    from pyarrow import fs

    try:
        return bool(file.system.get_file_info(file.key).type == fs.FileType.NotFound)
    except OSError:
        return False


def written_at_first(file: DataFile) -> tuple[int, int] | None:
    """The same, of a remote file as its listing said."""
    return file.status if isinstance(file, RemoteFile) else written(file)


def byte_stream(file: DataFile) -> pa.NativeFile:
    """Bytes of a file from its beginning, decompressed if its name ends with that of a codec."""
    codec = _CODECS.get(file.suffix.lower())
    if not isinstance(file, RemoteFile):
        return pa.input_stream(str(file), compression=codec)
    stream = file.system.open_input_stream(file.key, compression=None)
    return stream if codec is None else pa.CompressedInputStream(stream, codec)


def random_access(file: DataFile) -> pa.NativeFile:
    """Bytes of a file from any position; a local file is mapped to memory."""
    return file.system.open_input_file(file.key) if isinstance(file, RemoteFile) else pa.memory_map(str(file))
