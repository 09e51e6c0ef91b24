"""Resolution of paths and addresses to files."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa

from whimbrel.connect.addresses import shown_address
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.hive_partitions import below, names_columns
from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.connect.files.paths import FilePath, address_of, data_files, directory_of, name_of, no_files
from whimbrel.connect.files.remote_files import remote_files
from whimbrel.connect.files.written_schema import written_schema
from whimbrel.errors import SourceError

_FILE_OF_A_SINK = f"rows-{0:015}-{0:015}"
"""What the name of a file of a sink looks like, without its ending."""


class LocatedFiles(NamedTuple):
    """Files in the order of reading, the directory above them, and a name for the source.

    The directory is that of a path to one, or above the first part of a pattern that varies. Folders in it name
    columns. A folder that a sink of a result without rows wrote has no files, but their schema.
    """

    files: Sequence[DataFile]
    directory: DataFile | None
    name: str
    schema: pa.Schema | None = None


def located_files(path: FilePath | Iterable[FilePath], *, where: str, endings: Sequence[str],
                  filesystem: Any = None) -> LocatedFiles:
    """List the files of paths and addresses.

    Parameters
    ----------
    path : str, path or iterable of them
        As in :func:`~whimbrel.connect.files.paths.data_files`, or addresses such as ``s3://bucket/folder``.
    where : str
        The user's call, without secrets.
    endings : sequence of str
        Endings of names in a directory.
    filesystem : pyarrow.fs.FileSystem or fsspec.AbstractFileSystem, optional
        Where all paths are. Default: this machine, or the file system of an address.

    Raises
    ------
    SourceError
    """
    if not isinstance(path, (str, os.PathLike)) and isinstance(path, Iterable):
        each = [located_files(one, where=where, endings=endings, filesystem=filesystem) for one in path]
        for found in each:
            if found.directory is not None and found.files and names_columns(found.directory, found.files[0]):
                folder = below(found.directory, found.files[0]).parent.name
                raise SourceError(f"{str(found.directory)!r} has columns in the names of its folders ({folder}), which "
                                  "a list of paths cannot read.", where=where,
                                  hint=f"Use {where.partition('(')[0]}(\"folder\", ...).")
        if not each:
            raise no_files(where)
        return LocatedFiles([file for found in each for file in found.files], None, "", each[0].schema)
    address = address_of(path)
    if address is not None and filesystem is None and address.startswith("file:"):
        path, address = url2pathname(urlsplit(address).path), None
    if filesystem is not None and isinstance(path, (str, os.PathLike)):
        address = address or os.fspath(path)
    if address is not None:
        return LocatedFiles(*remote_files(address, where=where, endings=endings, filesystem=filesystem))
    try:
        local = data_files(path, where=where, endings=endings)
    except SourceError:
        if not isinstance(path, (str, os.PathLike)):
            raise
        for empty in _folders_without_files(Path(path).expanduser(), endings):
            if (schema := written_schema(empty, endings)) is not None:
                return LocatedFiles([], None, empty.name, schema)
        raise
    return LocatedFiles(local, directory_of(path), name_of(path, local))


def _folders_without_files(path: Path, endings: Sequence[str]) -> Sequence[Path]:
    """Folders that a path or pattern is, and such as have no files of a sink although their names fit its last part."""
    if not glob.has_magic(str(path)):
        return [path]
    patterns = [str(path)]
    if any(fnmatch(f"{_FILE_OF_A_SINK}{ending}", path.name) for ending in endings):
        patterns.append(str(path.parent))
    found = {Path(match) for pattern in patterns for match in glob.glob(pattern, recursive=True)}  # noqa: PTH207
    return sorted((each for each in found if each.is_dir()), key=natural_path)


def shown_path(path: FilePath | Iterable[FilePath]) -> str:
    """A path for errors, without secrets.

    >>> shown_path("s3://key:secret@logs/a.csv?region=eu-west-1"), shown_path(["a", "b"])
    ("'s3://logs/a.csv'", '...')
    """
    if not isinstance(path, (str, Path)):
        return "..."
    address = address_of(path)
    return repr(str(path) if address is None else shown_address(address))
