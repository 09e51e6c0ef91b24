"""Common columns of several files."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.connect.files.common_type import as_wider, wider_type
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.paths import shown_apart
from whimbrel.errors import SchemaError


def unified_fields(schemas: Mapping[DataFile, pa.Schema], *, text_for_all: bool, where: str,
                   times: Collection[str] = ()) -> pa.Schema:
    """Columns of all files, in the order in which they first appear.

    A column that a file lacks is null in its rows. Integers and floats become floats. Other types become the type
    that holds both exactly. If there is none, values of a text format stay text, but not those of the columns `times`.
    A column that is empty in the first rows of a file has no type there, and takes that of the others.

    Raises
    ------
    SchemaError
        For two types without a common one; it names both files.

    Examples
    --------
    >>> from pathlib import Path
    >>> files = {Path("a"): pa.schema({"x": pa.int64()}), Path("b"): pa.schema({"x": pa.float64(), "y": pa.string()})}
    >>> unified_fields(files, text_for_all=True, where="").types
    [DataType(double), DataType(string)]
    """
    types: dict[str, tuple[pa.DataType, DataFile]] = {}
    for file, schema in schemas.items():
        for field in schema:
            type_, first = types.get(field.name, (field.type, file))
            wider = _common(type_, field.type, text_for_all and field.name not in times)
            if wider is None:
                here, there = shown_apart(first, file)
                raise SchemaError(f"Column {field.name!r} is {type_} in {here!r} and {field.type} in {there!r}.",
                                  where=where, hint=f'Use schema={{"{field.name}": ...}} with one type for both.')
            types[field.name] = wider, file if pa.types.is_null(type_) else first
    return pa.schema([(name, type_) for name, (type_, _) in types.items()])


def _common(one: pa.DataType, other: pa.DataType, text_for_all: bool) -> pa.DataType | None:
    numbers = [type_ for type_ in (one, other) if pa.types.is_integer(type_) or pa.types.is_floating(type_)]
    if one != other and len(numbers) == 2 and any(map(pa.types.is_floating, numbers)):
        return pa.float64()
    wider = wider_type(one, other)  # a struct without fields is false
    return wider if wider is not None or not text_for_all else pa.string()


def with_fields(rows: pa.RecordBatch, fields: pa.Schema) -> pa.RecordBatch:
    """Rows with these columns and types; null where a column is missing.

    Raises
    ------
    pyarrow.ArrowInvalid
        For an integer that a float does not hold, or a time outside the range of a finer unit.
    """
    if rows.schema.equals(fields):
        return rows
    arrays = []
    for field in fields:
        if field.name not in rows.schema.names:
            arrays.append(pa.nulls(rows.num_rows, field.type))
            continue
        array = rows.column(field.name)
        to_float = pa.types.is_integer(array.type) and pa.types.is_floating(field.type)
        arrays.append(pc.cast(array, field.type) if to_float else as_wider(array, field.type))
    return pa.record_batch(arrays, names=fields.names)
