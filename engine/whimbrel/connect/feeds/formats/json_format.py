"""JSON objects, one per message."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from json import loads
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import json

from whimbrel.connect.feeds.formats.decode import Format, Index
from whimbrel.connect.feeds.formats.malformed import UnreadableError, misfit
from whimbrel.connect.feeds.formats.text_values import converted, parsed_type

_OPEN, _CLOSE = ord("{"), ord("}")
_COLUMN = re.compile(r"Column\(/(.*?)\) (?:changed|was)")
_UNPARSED = re.compile(r"Failed to convert JSON to ([^,]+(?:, [^,]+)*?), couldn't parse:")
_SYNTAX = re.compile(r"JSON parse error: ([A-Z][^.]*)")
"""Errors of Arrow's parser."""
_NOT_UTF8 = re.compile(r"In column (\d+): .*UTF8")


class Json(Format):
    """Reads objects with Arrow's parser; names that the schema does not have are left out, missing ones are null.

    A number where the schema has a timestamp counts the timestamp's unit since 1970, unless the type was inferred from
    texts: then it is malformed. A text where it has one is a time in ISO 8601, and one without a zone is in UTC.

    Parameters
    ----------
    strict_zones : bool, default False
        Whether a time must have a zone exactly if its column has one.
    on_unknown : callable, optional
        It is called with the first name that the schema does not have.
    texts : collection of str
        Columns of times whose values are texts, and numbers malformed.

    Examples
    --------
    >>> schema = pa.schema({"at": pa.timestamp("ms"), "x": pa.int64()})
    >>> rows, each = Json().parse([b'{"at": 1000, "x": 1}', b'{"at": 2000, "y": 2}'], schema)
    >>> rows.to_pylist()[1]
    {'at': datetime.datetime(1970, 1, 1, 0, 0, 2), 'x': None}
    """

    def __init__(self, *, strict_zones: bool = False, on_unknown: Callable[[str], None] | None = None,
                 texts: Collection[str] = ()) -> None:
        self._strict_zones, self._on_unknown, self._texts = strict_zones, on_unknown, frozenset(texts)

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        _check_are_objects(sample)
        found = pa.schema([field.with_type(_with_times(field, sample)) for field in _read(sample, None).schema])
        self._texts = frozenset(field.name for field in found if pa.types.is_temporal(field.type))
        return found

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        _check_are_objects(messages)
        try:
            table = self._table(messages, schema, report=self._on_unknown)
        except pa.ArrowInvalid as error:
            field = self._misfit(messages[0], schema) if len(messages) == 1 and not _COLUMN.search(str(error)) else None
            why = _why(str(error), schema) if field is None else f"{field.name!r} must be {field.type}"
            raise UnreadableError(why) from None
        if table.num_rows != len(messages):
            raise UnreadableError("not one JSON object")
        rows = table.combine_chunks().to_batches()[0]
        _check_texts(rows)
        return rows, np.ones(len(messages), np.int64)

    def _table(self, messages: Sequence[bytes], schema: pa.Schema, counted: frozenset[str] = frozenset(), *,
               report: Callable[[str], None] | None) -> pa.Table:
        """Rows of messages; `counted` are columns of times that are numbers."""
        types = pa.schema([field.with_type(_count(field.type)) if field.name in counted else field for field in schema])
        try:
            rows = _read_all(messages, types, "ignore" if report is None else "error", strict_zones=self._strict_zones)
            return rows.cast(schema) if counted else rows
        except pa.ArrowInvalid as error:
            if report is not None and "unexpected field" in str(error):
                report(next(filter(None, (_unknown(_loaded(each), schema) for each in messages)), ""))
                self._on_unknown = None
                return self._table(messages, schema, counted, report=None)
            numbers = {field.name for field in schema
                       if pa.types.is_temporal(field.type) and field.name not in self._texts
                       and f"Column(/{field.name}) changed from string to number" in str(error)}
            if not numbers - counted:
                raise
            return self._table(messages, schema, counted | numbers, report=report)

    def _misfit(self, message: bytes, schema: pa.Schema) -> pa.Field | None:
        """The column that a message does not fit, found by halves; None where the message is not JSON."""
        if not self._fits(message, []):
            return None
        fields = list(schema)
        while len(fields) > 1:
            half = fields[: len(fields) // 2]
            fields = fields[len(half):] if self._fits(message, half) else half
        return fields[0] if fields and not self._fits(message, fields) else None

    def _fits(self, message: bytes, fields: Sequence[pa.Field]) -> bool:
        try:
            self._table([message], pa.schema(fields), report=None)
        except (pa.ArrowInvalid, UnreadableError):
            return False
        return True


def _count(type_: pa.DataType) -> pa.DataType:
    """The type of numbers that count the unit of a time; other types are themselves."""
    if not pa.types.is_temporal(type_) or pa.types.is_interval(type_):
        return type_
    return pa.int32() if type_.bit_width == 32 else pa.int64()


def _why(error: str, schema: pa.Schema) -> str:
    """Why messages are malformed, from an error of the parser; without their values.

    >>> _why("JSON parse error: Column(/x) changed from number to string in row 0", pa.schema({"x": pa.int64()}))
    "'x' must be int64"
    >>> _why("JSON parse error: Invalid value. in row 0", pa.schema([]))
    'not JSON: invalid value'
    """
    if (found := _COLUMN.search(error)) is not None:
        path = found[1] + "/"
        name = max((name for name in schema.names if path.startswith(f"{name}/")), key=len, default=None)
        if "specified twice" in error:
            if name == found[1]:
                return f"{name!r} occurs twice"
            return "a name occurs twice" if name is None else f"a name occurs twice in {name!r}"
        return "a value has the wrong type" if name is None else f"{name!r} must be {schema.field(name).type}"
    if (found := _UNPARSED.match(error)) is not None:
        return f"a value must be {found[1]}"
    if (found := _SYNTAX.match(error)) is not None:
        return f"not JSON: {found[1][0].lower()}{found[1][1:]}"
    return "not JSON"


def _check_are_objects(messages: Sequence[bytes]) -> None:
    """Of others, such as null, the parser may make rows without columns, or end the process."""
    for message in messages:
        bare = message.strip()
        if not bare or bare[0] != _OPEN or bare[-1] != _CLOSE:
            raise UnreadableError("not a JSON object")


def _check_texts(rows: pa.RecordBatch) -> None:
    """The parser takes texts that are not UTF-8."""
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid as error:
        if (found := _NOT_UTF8.match(str(error))) is not None:
            raise UnreadableError(f"{rows.schema.names[int(found[1])]!r} is not UTF-8") from None
        raise


def _with_times(field: pa.Field, sample: Sequence[bytes]) -> pa.DataType:
    """The type of an inferred column, with zones and fractions of seconds: the parser itself knows neither.

    Times of which only some have a zone are texts.
    """
    types = [field.type]
    if pa.types.is_string(field.type):
        types = [pa.timestamp(unit) for unit in ("ms", "us", "ns")]
    elif _as_texts(field.type) == field.type:
        return field.type
    texts = field.with_type(_as_texts(field.type))
    values = _read(sample, pa.schema([texts])).column(0)
    for type_ in types:
        for candidate in (type_, _replaced(type_, lambda time: pa.timestamp(time.unit, "UTC"))):
            try:
                values.cast(candidate)
            except pa.ArrowInvalid:
                continue
            return candidate
    return texts.type


def _as_texts(type_: pa.DataType) -> pa.DataType:
    """A type with texts in place of times."""
    return _replaced(type_, lambda _: pa.string())


def _replaced(type_: pa.DataType, replacement: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with others in place of the timestamps in it."""
    if pa.types.is_timestamp(type_):
        return replacement(type_)
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_replaced(field.type, replacement)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_replaced(type_.value_type, replacement)))
    return type_


def _unknown(value: Any, type_: Any) -> str | None:
    """The path of a name in a value that a struct or a schema does not have.

    >>> _unknown({"a": 1, "v": [{"b": 2}]}, pa.schema({"a": pa.int64(), "v": pa.list_(pa.struct({"a": pa.int64()}))}))
    'v.b'
    """
    if isinstance(value, list) and isinstance(type_, pa.DataType) and pa.types.is_list(type_):
        return next(filter(None, (_unknown(each, type_.value_type) for each in value)), None)
    if not isinstance(value, dict) or not (isinstance(type_, pa.Schema) or pa.types.is_struct(type_)):
        return None
    types = {field.name: field.type for field in type_}
    for name, inner in value.items():
        if name not in types:
            return str(name)
        if (found := _unknown(inner, types[name])) is not None:
            return f"{name}.{found}"
    return None


def _loaded(message: bytes) -> Any:
    try:
        return loads(message)
    except (ValueError, RecursionError):
        return None


def _read_all(messages: Sequence[bytes], schema: pa.Schema, unknown: str, *, strict_zones: bool) -> pa.Table:
    """Read types that the parser lacks as others, and then convert them. It drops zones of times that are no texts."""
    if not strict_zones:
        try:
            return _converted(messages, schema, unknown, moments=True)
        except pa.ArrowInvalid as error:
            if (found := _UNPARSED.match(str(error))) is None or not found[1].startswith("timestamp"):
                raise
    return _converted(messages, schema, unknown, any_zone=not strict_zones)


def _converted(messages: Sequence[bytes], schema: pa.Schema, unknown: str, *, moments: bool = False,
               any_zone: bool = False) -> pa.Table:
    """Rows; with `moments` the parser reads times itself, and with `any_zone` times need no zone and may have one."""
    parsed = pa.schema([field.with_type(parsed_type(field.type, moments=moments)) for field in schema])
    table = _read(messages, parsed, unknown)
    for index, field in enumerate(schema):
        if field.type != table.schema.field(index).type:
            values = table.column(index)
            try:
                chunks = [converted(chunk, field.type, any_zone=any_zone) for chunk in values.chunks]
            except pa.ArrowInvalid as error:
                raise UnreadableError(misfit(field.name, str(field.type), error)) from None
            table = table.set_column(index, field, pa.chunked_array(chunks, field.type))
    return table


def _read(messages: Sequence[bytes], schema: pa.Schema | None, unknown: str = "ignore") -> pa.Table:
    text = b"\n".join(messages)
    return json.read_json(
        pa.BufferReader(text), read_options=json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=json.ParseOptions(explicit_schema=schema, newlines_in_values=True,
                                        unexpected_field_behavior="infer" if schema is None else unknown))
