"""Resolution of paths, directories and patterns to files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.files.hive_partitions import names_columns
from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.errors import SourceError, near_match

FilePath = str | os.PathLike[str]

PARQUET = (".parquet",)
"""Endings of the files that a directory stands for."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/{1,2}(?=[^/])|file:/")
"""Beginning of an address; pathlib removes one slash."""


def data_files(path: FilePath | Iterable[FilePath], *, where: str, endings: Sequence[str] = PARQUET) -> list[Path]:
    """List the files of a path, a list of paths, a directory or a glob pattern.

    Files of a directory or pattern are in natural order, part-2 before part-10. A list keeps its order.

    Parameters
    ----------
    path : str, path or iterable of them
        A directory stands for all files with these endings, at any depth; names that begin with ``.`` or ``_`` are
        ignored.
    where : str
        The user's call, for the error.
    endings : sequence of str
        Endings of names in a directory.

    Raises
    ------
    SourceError
        If no file exists, for an address such as ``s3://bucket/log.parquet``, or if a directory in a list names
        columns in its folders.
    """
    if not isinstance(path, (str, os.PathLike, Iterable)):
        raise SourceError(f"path must be a path or a list of paths, got {path!r}.", where=where,
                          hint="Use a file, a folder, a pattern, or a list of these.")
    if not isinstance(path, (str, os.PathLike)):
        files = [file for each in path for file in _without_folder_columns(each, where, endings)]
        if not files:
            raise SourceError("The list of files is empty.", where=where, hint="Use a list with at least one file.")
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
        matches = sorted((match for match in matches if match.is_file()), key=natural_path)
        if matches:
            return matches
        raise SourceError(f"No file matches {text!r}.", where=where,
                          hint=f"Check the pattern; it is relative to {Path.cwd()}.")
    raise SourceError(f"There is no file {text!r}.", where=where, hint=_nearby(file))


def check_on_this_machine(path: object, *, where: str) -> None:
    """Refuse addresses of other machines, unless a local file has this name."""
    if isinstance(path, (str, os.PathLike)) and _ADDRESS.match(os.fspath(path)) and not Path(path).exists():
        raise SourceError(f"path must be a file of this machine, got the address {without_secrets(os.fspath(path))!r}.",
                          where=where, hint="Copy the file, or use wb.from_arrow(pyarrow.parquet.read_table(...), ...) "
                                            "or wb.from_spark(...).")


def shown_apart(one: Path, other: Path) -> tuple[str, str]:
    """Names of two files for errors; their paths if the names are equal."""
    return (str(one), str(other)) if one.name == other.name else (one.name, other.name)


def _in_directory(directory: Path, where: str, endings: Sequence[str]) -> list[Path]:
    files = [file for file in sorted(directory.rglob("*"), key=natural_path)
             if file.name.endswith(tuple(endings)) and file.is_file()
             and not any(part[0] in "._" for part in file.relative_to(directory).parts)]
    if not files:
        raise SourceError(f"There is no {endings[0]} file in {str(directory)!r}.", where=where,
                          hint=_nearby(directory / "*"))
    return files


def _without_folder_columns(path: FilePath, where: str, endings: Sequence[str]) -> list[Path]:
    files, directory = data_files(path, where=where, endings=endings), Path(path).expanduser()
    if directory.is_dir() and names_columns(directory, files[0]):
        raise SourceError(f"{str(directory)!r} has columns in the names of its folders ({files[0].parent.name}), which "
                          "a list of paths cannot read.", where=where,
                          hint=f"Use {where.partition('(')[0]}(\"folder\", ...).")
    return files


def _nearby(file: Path) -> str:
    folder = file.parent
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r} either (looked from {Path.cwd()})"
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    return near_match(file.name, names, noun="file")
