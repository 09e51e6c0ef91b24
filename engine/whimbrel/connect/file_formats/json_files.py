"""Rows of files of JSON lines, and the lines that are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from whimbrel.connect.feeds.formats.decode import UNREADABLE, decode
from whimbrel.connect.feeds.formats.json_format import Json
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.connect.file_formats.file_format import COMPRESSED, FileFormat, MalformedLine, Refused
from whimbrel.connect.file_formats.text_blocks import first_lines, lines_of, text_blocks


class JsonFiles(FileFormat):
    """Files with one JSON object a line.

    Parameters
    ----------
    given : pyarrow.Schema
        Types of some columns, instead of those of the first rows.
    """

    title = "JSON lines"
    endings = tuple(f"{ending}{packed}" for packed in COMPRESSED for ending in (".jsonl", ".ndjson", ".json"))

    def __init__(self, given: pa.Schema) -> None:
        self._given = given

    def schema(self, file: Path) -> pa.Schema:
        found: pa.Schema = pa.schema([])
        lines = first_lines(file)
        while lines:
            try:
                found = Json().infer(lines)
                break
            except UNREADABLE:
                objects = [line for line in lines if _is_object(line)]
                if len(objects) == len(lines):
                    raise
                lines = objects
        types = {field.name: field.type for field in found} | {field.name: field.type for field in self._given}
        if not types:
            raise UnreadableError("it has no JSON object")
        return pa.schema([(name, pa.string() if pa.types.is_null(type_) else type_) for name, type_ in types.items()])

    def batches(self, file: Path, fields: pa.Schema, refused: Refused) -> Iterator[pa.RecordBatch]:
        format_ = Json()
        for number, text in text_blocks(file, refused):
            lines = lines_of(text)
            found = decode(format_, [line for _, line in lines], fields)
            for index, why in found.malformed:
                at, line = lines[index]
                refused(MalformedLine(number + at, why, line))
            yield from found.rows.to_batches()


def _is_object(line: bytes) -> bool:
    try:
        Json().infer([line])
    except UNREADABLE:
        return False
    return True
