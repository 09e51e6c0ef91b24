"""JSON objects, one per message."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyarrow import json

from whimbrel.connect.feeds.formats.decode import Format, Index
from whimbrel.connect.feeds.formats.malformed import UnreadableError

_OPEN, _CLOSE = ord("{"), ord("}")
_NOT_UTF8 = re.compile(r"In column (\d+): .*UTF8")


class Json(Format):
    """Reads objects with Arrow's parser; names that the schema does not have are left out, missing ones are null.

    A number where the schema has a timestamp counts the timestamp's unit since 1970.

    Examples
    --------
    >>> schema = pa.schema({"at": pa.timestamp("ms"), "x": pa.int64()})
    >>> rows, each = Json().parse([b'{"at": 1000, "x": 1}', b'{"at": 2000, "y": 2}'], schema)
    >>> rows.to_pylist()[1]
    {'at': datetime.datetime(1970, 1, 1, 0, 0, 2), 'x': None}
    """

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        _check_are_objects(sample)
        fields = _read(sample, None).schema
        return pa.schema([_as_time(field, sample) if pa.types.is_string(field.type) else field for field in fields])

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        _check_are_objects(messages)
        try:
            table = _read(messages, schema)
        except pa.ArrowInvalid as error:
            times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
            if not any(f"Column(/{name}) changed from string to number" in str(error) for name in times):
                raise
            counting = pa.schema([pa.field(field.name, pa.int64() if field.name in times else field.type)
                                  for field in schema])
            table = _read(messages, counting).cast(schema)
        if table.num_rows != len(messages):
            raise UnreadableError("not one JSON object")
        rows = table.combine_chunks().to_batches()[0]
        _check_texts(rows)
        return rows, np.ones(len(messages), np.int64)


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


def _as_time(field: pa.Field, sample: Sequence[bytes]) -> pa.Field:
    """A column of texts that are all times; the parser itself looks for whole seconds only."""
    for unit in ("ms", "us", "ns"):
        try:
            return _read(sample, pa.schema([pa.field(field.name, pa.timestamp(unit))])).schema.field(0)
        except pa.ArrowInvalid:
            continue
    return field


def _read(messages: Sequence[bytes], schema: pa.Schema | None) -> pa.Table:
    text = b"\n".join(messages)
    return json.read_json(
        pa.BufferReader(text), read_options=json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=json.ParseOptions(explicit_schema=schema, newlines_in_values=True,
                                        unexpected_field_behavior="infer" if schema is None else "ignore"))
