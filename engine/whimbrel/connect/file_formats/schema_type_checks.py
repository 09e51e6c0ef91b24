"""Refuse types in `schema=` that no text of a format gives."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyarrow import csv, json

from whimbrel.connect.feeds.formats.text_values import parsed_type
from whimbrel.errors import SchemaError


def check_csv_types(given: pa.Schema, where: str) -> None:
    """Refuse types that Arrow's parser of CSV lacks."""
    _check(given, _parse_csv, "CSV", where)


def check_json_types(given: pa.Schema, where: str) -> None:
    """Refuse types that neither Arrow's parser of JSON nor a conversion gives."""
    _check(given, _parse_json, "JSON", where)


def _check(given: pa.Schema, parse: Callable[[pa.Field], None], title: str, where: str) -> None:
    for field in given:
        try:
            parse(field)
        except pa.ArrowNotImplementedError:
            raise SchemaError(f"{title} has no values of the type of column {field.name!r}, {field.type}.",
                              where=where, hint=_hint(field)) from None


def _parse_csv(field: pa.Field) -> None:
    csv.read_csv(pa.BufferReader(b"x\n"), read_options=csv.ReadOptions(use_threads=False),
                 convert_options=csv.ConvertOptions(column_types={"x": field.type}))


def _parse_json(field: pa.Field) -> None:
    schema = pa.schema([pa.field("x", parsed_type(field.type, moments=False))])
    json.read_json(pa.BufferReader(b"{}\n"), read_options=json.ReadOptions(use_threads=False),
                   parse_options=json.ParseOptions(explicit_schema=schema))


def _hint(field: pa.Field) -> str:
    type_ = field.type
    if pa.types.is_duration(type_):
        return f'Use schema={{{field.name!r}: "int64"}}, or the type of the numbers.'
    if pa.types.is_float16(type_):
        return f'Use schema={{{field.name!r}: "float"}}.'
    if pa.types.is_decimal(type_):
        return f"Use schema={{{field.name!r}: pa.decimal128({min(type_.precision, 38)}, {min(type_.scale, 38)})}}."
    if pa.types.is_dictionary(type_):
        return f"Use schema={{{field.name!r}: pa.dictionary(pa.int32(), pa.string())}}."
    if pa.types.is_map(type_):
        return f"Use schema={{{field.name!r}: pa.struct(...)}} with the names of its keys, or text in the file."
    return f'Use schema={{{field.name!r}: "string"}}, or leave the column out.'
