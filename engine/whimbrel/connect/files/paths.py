"""Resolution of paths, directories and patterns to files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.errors import SourceError, near_match

FilePath = str | os.PathLike[str]

PARQUET = (".parquet",)
"""Endings of the files that a directory stands for."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/{1,2}(?=[^/])|file:/")
"""Beginning of an address; pathlib removes one slash."""


def no_files(where: str) -> SourceError:
    """The error for an empty list of files."""
    return SourceError("The list of files is empty.", where=where, hint="Use a list with at least one file.")


def data_files(path: FilePath | Iterable[FilePath], *, where: str, endings: Sequence[str] = PARQUET) -> list[Path]:
    """List the files of a path, a list of paths, a directory or a glob pattern.

    Files of a directory or pattern are in natural order, part-2 before part-10. A list keeps its order.

    Parameters
    ----------
    path : str, path or iterable of them
        A directory stands for all files with these endings, at any depth; names that begin with ``.`` or ``_`` are
        ignored. So does a directory that a pattern matches, if the pattern matches no file.
    where : str
        The user's call, for the error.
    endings : sequence of str
        Endings of names in a directory, in letters of any case.

    Raises
    ------
    SourceError
        If no file exists, or for an address such as ``s3://bucket/log.parquet``.
    """
    if not isinstance(path, (str, os.PathLike, Iterable)):
        raise SourceError(f"path must be a path or a list of paths, got {path!r}.", where=where,
                          hint="Use a file, a folder, a pattern, or a list of these.")
    if not isinstance(path, (str, os.PathLike)):
        if not (files := [file for each in path for file in data_files(each, where=where, endings=endings)]):
            raise no_files(where)
        return files
    check_on_this_machine(path, where=where)
    file = Path(path).expanduser()
    text = str(file)
    if file.is_dir():
        return _in_directory(file, where, endings)
    if file.exists():
        return [file]
    if glob.has_magic(text):
        matches = [Path(match) for match in glob.glob(text, recursive=True)]  # noqa: PTH207 - from any root
        found = {match for match in matches if match.is_file()} or {
            inside for match in matches if match.is_dir() for inside in _with_endings(match, endings)}
        if found:
            return sorted(found, key=natural_path)
        raise SourceError(f"No file matches {text!r}.", where=where,
                          hint=f"Check the pattern; it is relative to {Path.cwd()}.")
    raise SourceError(f"There is no file {text!r}.", where=where, hint=_nearby(file))


def check_on_this_machine(path: object, *, where: str) -> None:
    """Refuse addresses of other machines, unless a local file has this name."""
    if (address := address_of(path)) is not None:
        raise SourceError(f"path must be a file of this machine, got the address {without_secrets(address)!r}.",
                          where=where, hint="Copy the file to this machine first.")


def address_of(path: object) -> str | None:
    """The address that a path is, such as ``s3://bucket/log``; None for paths of this machine.

    >>> address_of("s3://bucket/log"), address_of(Path("s3://bucket/log")), address_of("logs/a.csv")
    ('s3://bucket/log', 's3://bucket/log', None)
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
    if not _ADDRESS.match(text) or Path(text).exists():
        return None
    return re.sub(r":/{1,2}(?=[^/])", "://", text, count=1)


def directory_of(path: FilePath | Iterable[FilePath]) -> Path | None:
    """The directory of a path to one, or above the first part of a pattern that varies; else None.

    >>> directory_of("logs/day=*/*.csv"), directory_of("logs/day=1/a.csv")
    (PosixPath('logs'), None)
    """
    if not isinstance(path, (str, os.PathLike)):
        return None
    directory = Path(path).expanduser()
    if directory.is_dir():
        return directory
    if directory.exists() or not glob.has_magic(str(directory)):
        return None
    return Path(*takewhile(lambda part: not glob.has_magic(part), directory.parts))


def name_of(path: FilePath | Iterable[FilePath], files: Sequence[DataFile]) -> str:
    """Name of a source of these files, without a suffix."""
    return Path(path).stem if isinstance(path, (str, Path)) and Path(path).exists() else files[0].stem


def shown_apart(one: DataFile, other: DataFile) -> tuple[str, str]:
    """Names of two files for errors; their paths if the names are equal."""
    return (str(one), str(other)) if one.name == other.name else (one.name, other.name)


def has_ending(name: str, endings: Sequence[str]) -> bool:
    """Whether a name ends with one of these, in letters of any case.

    >>> has_ending("A.CSV.gz", (".csv", ".csv.gz")), has_ending("a.txt", (".csv",))
    (True, False)
    """
    return name.lower().endswith(tuple(endings))


def _in_directory(directory: Path, where: str, endings: Sequence[str]) -> list[Path]:
    if not (files := sorted(_with_endings(directory, endings), key=natural_path)):
        raise SourceError(f"There is no {endings[0]} file in {str(directory)!r}.", where=where,
                          hint=_nearby(directory / "*"))
    return files


def _with_endings(directory: Path, endings: Sequence[str]) -> list[Path]:
    return [file for file in directory.rglob("*") if has_ending(file.name, endings) and file.is_file()
            and not any(part[0] in "._" for part in file.relative_to(directory).parts)]


def _nearby(file: Path) -> str:
    folder = file.parent
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r} either (looked from {Path.cwd()})"
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    return near_match(file.name, names, noun="file")
