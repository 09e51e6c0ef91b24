"""Which files a user's path means."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from whimbrel.connect.folder_columns import names_columns
from whimbrel.errors import SourceError, near_match

FilePath = str | os.PathLike[str]


def parquet_files(path: FilePath | Iterable[FilePath], *, where: str) -> list[Path]:
    """The files of a path, a list of paths, a directory or a glob pattern, in the order of their names.

    Parameters
    ----------
    path : str, path or iterable of them
        Of a directory, all ``.parquet`` files at any depth; names that begin with ``.`` or ``_`` are left out.
    where : str
        The user's call, for the error.

    Raises
    ------
    SourceError
        When there is no such file, or one directory of several keeps columns in its folders' names.
    """
    if not isinstance(path, (str, os.PathLike, Iterable)):
        raise SourceError(f"{path!r} is not a path.", where=where, hint="give a file, a folder, a pattern, or a list")
    if not isinstance(path, (str, os.PathLike)):
        files = [file for each in path for file in _without_folder_columns(each, where)]
        if not files:
            raise SourceError("The list of files is empty.", where=where, hint="name at least one file")
        return files
    file = Path(path).expanduser()
    text = str(file)
    if file.is_dir():
        return _in_directory(file, where)
    if file.exists():
        return [file]
    if glob.has_magic(text):
        matches = [Path(match) for match in sorted(glob.glob(text, recursive=True))]  # noqa: PTH207 - from any root
        matches = [match for match in matches if match.is_file()]
        if matches:
            return matches
        raise SourceError(f"No file matches {text!r}.", where=where, hint=f"looked from {Path.cwd()}")
    raise SourceError(f"There is no file {text!r}.", where=where, hint=_nearby(file))


def _in_directory(directory: Path, where: str) -> list[Path]:
    files = [file for file in sorted(directory.rglob("*.parquet"))
             if file.is_file() and not any(part[0] in "._" for part in file.relative_to(directory).parts)]
    if not files:
        raise SourceError(f"There is no .parquet file in {str(directory)!r}.", where=where,
                          hint=_nearby(directory / "*"))
    return files


def _without_folder_columns(path: FilePath, where: str) -> list[Path]:
    files, directory = parquet_files(path, where=where), Path(path).expanduser()
    if directory.is_dir() and names_columns(directory, files[0]):
        raise SourceError(f"{str(directory)!r} keeps columns in the names of its folders ({files[0].parent.name}).",
                          where=where, hint="read it alone, not in a list: read_parquet(\"folder\", ...)")
    return files


def _nearby(file: Path) -> str:
    folder = file.parent
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r} either (looked from {Path.cwd()})"
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    return near_match(file.name, names, noun="file")
