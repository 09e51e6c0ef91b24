"""Rows of files of JSON lines, and their malformed lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from whimbrel.connect.feeds.formats.json_format import Json
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.connect.file_formats.file_format import COMPRESSED, FileFormat, Report
from whimbrel.connect.file_formats.text_blocks import first_lines, lines_of, text_blocks
from whimbrel.connect.file_formats.timed_rows import rows_of_lines
from whimbrel.connect.files.data_file import DataFile


class JsonFiles(FileFormat):
    """Files with one JSON object a line.

    Parameters
    ----------
    given : pyarrow.Schema
        Types of some columns, instead of those of the first rows.
    """

    title = "JSON lines"
    endings = tuple(f"{ending}{packed}" for packed in COMPRESSED for ending in (".jsonl", ".ndjson", ".json"))
    has_open_columns = True

    def __init__(self, given: pa.Schema) -> None:
        self._given = given

    def schema(self, file: DataFile) -> pa.Schema:
        rows = [row for row in map(_object, first_lines(file)) if row is not None]
        if not rows:
            raise UnreadableError("it has no JSON object")
        given = {field.name: field.type for field in self._given}
        names = {name: None for row in rows for name in row}
        others = [json.dumps({name: row[name] for name in row if name not in given}).encode() for row in rows]
        found = {field.name: _wide(field.type) for field in Json().infer(others)} if names.keys() - given else {}
        return pa.schema([(name, given.get(name, found.get(name))) for name in names | given])

    def batches(self, file: DataFile, fields: pa.Schema, time: str, report: Report) -> Iterator[pa.RecordBatch]:
        format_ = Json()
        for number, text in text_blocks(file, report):
            lines = [(number + at, line) for at, line in lines_of(text)]
            yield from rows_of_lines(format_, lines, fields, time, report).to_batches()


def _object(line: bytes) -> dict[str, Any] | None:
    """The object of a line; None if it is another value, or none."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _wide(type_: pa.DataType) -> pa.DataType:
    """The type of a sample, wide enough for later values, which may have fractions of seconds."""
    return pa.timestamp("us", type_.tz) if pa.types.is_timestamp(type_) and type_.unit in ("s", "ms") else type_
