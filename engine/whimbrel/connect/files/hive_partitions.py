"""Hive partitioning: columns in the names of folders, such as ``day=2024-01-02``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.connect.files.data_file import DataFile, RemoteFile
from whimbrel.connect.files.natural_sort import natural, natural_path
from whimbrel.errors import SchemaError, SourceError

_NULL = "__HIVE_DEFAULT_PARTITION__"


class FolderColumns:
    """Columns from the folders of files, as Hive, Spark and Arrow write them.

    A column has integers or dates if all its values are such, else strings, unless its type is given.

    Parameters
    ----------
    directory : DataFile
        The directory above the first folders that name a column.
    files : sequence of DataFile
        Files at any depth in it.
    where : str
        The user's call, for errors.
    given : mapping of str to pyarrow.DataType, optional
        Types of some columns.

    Attributes
    ----------
    fields : sequence of pyarrow.Field
        Columns, from the outermost folder on; empty if folders name no columns.

    Raises
    ------
    SourceError
        If the folders of some files name other columns.
    SchemaError
        If a value is not of the given type.

    Examples
    --------
    >>> folders = FolderColumns(Path("log"), [Path("log/day=10/a.parquet"), Path("log/day=9/a.parquet")], where="")
    >>> folders.fields, [file.parent.name for file in folders.in_order()]
    ([pyarrow.Field<day: int64>], ['day=9', 'day=10'])
    """

    def __init__(self, directory: DataFile, files: Sequence[DataFile], *, where: str,
                 given: Mapping[str, pa.DataType] = MappingProxyType({})) -> None:
        values_of = {file: _folder_values(below(directory, file).parent.parts) for file in files}
        names = list(values_of[files[0]])
        for file, values in values_of.items():
            if list(values) != names:
                raise SourceError(f"All folders must name the same columns; those of {str(file)!r} name "
                                  f"{_listed(values)}, others {_listed(names)}.", where=where,
                                  hint="Read each set of columns with a call of its own.")
        parsed = {}
        for name in names:
            texts = [values[name] for values in values_of.values()]
            parsed[name] = _typed(name, texts, given[name], where) if name in given else _parsed(texts)
        self.fields = [pa.field(name, type_) for name, (type_, _) in parsed.items()]
        self._values = {file: {name: values[number] for name, (_, values) in parsed.items()}
                        for number, file in enumerate(values_of)}

    def in_order(self) -> list[DataFile]:
        """The files in natural order of these values, nulls last, and then of their names."""
        def sort_key(file: DataFile) -> tuple[Any, ...]:
            values = ((value, natural(value) if isinstance(value, str) else value)
                      for value in self._values[file].values())
            return (*((value is None, 0 if value is None else key) for value, key in values), natural_path(file))

        return sorted(self._values, key=sort_key)

    def ends(self, file: DataFile, name: str) -> Column | None:
        """Smallest and largest value of a column in a file; None for other columns, or null."""
        for field in self.fields:
            if field.name == name and self._values[file][name] is not None:
                return Column.from_arrow(pa.array([self._values[file][name]] * 2, field.type))
        return None

    def added(self, file: DataFile, rows: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        """Add these columns to the rows of a file."""
        known = {field.name: field.type for field in self.fields if field.name in columns}
        if not known:
            return rows
        return pa.record_batch([_repeated(self._values[file][name], known[name], len(rows)) if name in known
                                else rows.column(name) for name in columns], names=list(columns))


def below(directory: DataFile, file: DataFile) -> PurePath:
    """Path from a directory to a file in it."""
    if isinstance(file, RemoteFile):
        return file.relative_to(directory)
    assert isinstance(directory, Path)
    return file.relative_to(directory)


def names_columns(directory: DataFile, file: DataFile) -> bool:
    """Whether the folders of a file name columns."""
    return bool(_folder_values(below(directory, file).parent.parts))


def _folder_values(folders: Iterable[str]) -> Mapping[str, str | None]:
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return {unquote(name): None if value == _NULL else unquote(value) for name, value in pairs}


def _parsed(texts: Sequence[str | None]) -> tuple[pa.DataType, list[Any]]:
    present = [text for text in texts if text is not None]
    if present and all(re.fullmatch(r"-?\d{1,18}", text) for text in present):
        return pa.int64(), [None if text is None else int(text) for text in texts]
    try:
        if present and all(re.fullmatch(r"\d{4}-\d\d-\d\d", text) for text in present):
            return pa.date32(), [None if text is None else date.fromisoformat(text) for text in texts]
    except ValueError:
        pass
    return pa.string(), list(texts)


def _typed(name: str, texts: Sequence[str | None], type_: pa.DataType, where: str) -> tuple[pa.DataType, list[Any]]:
    try:
        return type_, pa.array(texts, pa.string()).cast(type_).to_pylist()
    except pa.ArrowException as error:
        raise SchemaError(f"schema has {type_} for {name!r}, but the folders have other values: "
                          f"{str(error).splitlines()[0]}", where=where,
                          hint=f'Use schema={{"{name}": "string"}}, or leave the column out.') from None


def _repeated(value: Any, type_: pa.DataType, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, type_)
    if pa.types.is_string(type_):
        return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([value]))
    return pa.repeat(pa.scalar(value, type_), rows)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "no columns"
