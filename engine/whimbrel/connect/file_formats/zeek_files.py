"""Rows of logs of Zeek, whose first lines name columns and types."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from whimbrel.connect.feeds.formats.decode import Format, Index
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.connect.file_formats.file_format import COMPRESSED, FileFormat, HintedError, Report
from whimbrel.connect.file_formats.text_blocks import first_lines, lines_of, text_blocks
from whimbrel.connect.file_formats.timed_rows import rows_of_lines
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.tables.lifetime_columns import Timeline

_LOG = logging.getLogger("whimbrel.files")
_TIME: Final = pa.timestamp("us", "UTC")
_TYPES: Final = {"time": _TIME, "interval": pa.float64(), "double": pa.float64(), "count": pa.int64(),
                 "int": pa.int64(), "port": pa.int32(), "bool": pa.bool_()}
"""Types by Zeek's names; all others, such as addresses and sets, are text."""
_MOST: Final = 2**63 - 1
_NAMED: Final = re.compile(r"#(\w+)\W(.*)")
_HEAD: Final = (b"#separator", b"#fields", b"#types", b"#unset_field", b"#empty_field")
_ESCAPED: Final = re.compile(rb"\\x([0-9A-Fa-f]{2})")


class ZeekFiles(FileFormat):
    """Logs of Zeek with lines of values: times in seconds since 1970, ``-`` for null.

    Counts are int64. One of 2**63 or more becomes null, and Python's log says how many there were.
    """

    title = "Zeek log"
    endings = tuple(f".log{packed}" for packed in COMPRESSED)

    def schema(self, file: DataFile, times: Collection[str]) -> pa.Schema:
        return _Head.of(file).fields

    def batches(self, file: DataFile, fields: pa.Schema, timeline: Timeline,
                report: Report) -> Iterator[pa.RecordBatch]:
        sections = _Sections()
        for number, text in text_blocks(file, report):
            for format_, lines in sections.of(number, text):
                yield from rows_of_lines(format_, lines, fields, timeline, report).to_batches()
        for name, number in sections.too_large.items():
            _LOG.warning("%s: counts above the largest int64 are null: %s of %r.", file.name, f"{number:,}", name)


class _Sections:
    """Lines with the head that holds for them: logs that were joined to one have several."""

    def __init__(self) -> None:
        self.too_large: Counter[str] = Counter()
        self._heads: list[bytes] = []
        self._format = _ZeekLines(None, self.too_large)
        self._changed = False

    def of(self, number: int, text: bytes) -> Iterator[tuple[_ZeekLines, list[tuple[int, bytes]]]]:
        """The lines of a block with values, numbered; `number` is that of the first line."""
        lines: list[tuple[int, bytes]] = []
        for at, line in lines_of(text):
            if line.startswith(b"#"):
                if line.startswith(_HEAD):
                    self._heads.append(line)
                    self._changed = True
                continue
            if self._changed:
                if lines:
                    yield self._format, lines
                lines, self._changed = [], False
                try:
                    self._format = _ZeekLines(_Head(self._heads), self.too_large)
                except UnreadableError:
                    self._format = _ZeekLines(None, self.too_large)
            lines.append((number + at, line))
        if lines:
            yield self._format, lines


class _Head:
    """What the first lines of a log say."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        named: dict[str, str] = {}
        for line in lines:
            if not line.startswith(b"#"):
                break
            if found := _NAMED.match(line.decode("utf-8", errors="replace")):
                named[found[1]] = found[2]
        self.separator = _unescaped(named.get("separator", r"\x09"))
        self.unset, self.empty = (named.get(name, default).strip(self.separator)
                                  for name, default in (("unset_field", "-"), ("empty_field", "(empty)")))
        names, types = (named.get(name, "").split(self.separator) for name in ("fields", "types"))
        if not names[0] or len(names) != len(types) or len(self.separator) != 1:
            raise UnreadableError("its first lines have no #fields and #types")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UnreadableError(f"its first lines name the column {twice!r} twice")
        self.fields = pa.schema([(name, _TYPES.get(type_, pa.string()))
                                 for name, type_ in zip(names, types, strict=True)])
        self.counts = [name for name, type_ in zip(names, types, strict=True) if type_ == "count"]

    @staticmethod
    def of(file: DataFile) -> _Head:
        lines = first_lines(file)
        if lines and lines[0].startswith(b"{"):
            raise HintedError("its lines are JSON", 'Use wb.read_json(path, time="ts").')
        return _Head(lines)


class _ZeekLines(Format):
    """Lines of a log with this head; None: it cannot be read. `too_large` gets the counts that int64 cannot hold."""

    def __init__(self, head: _Head | None, too_large: Counter[str]) -> None:
        self._head, self._too_large = head, too_large

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        return pa.schema([]) if self._head is None else self._head.fields

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.Table, Index]:
        head = self._head
        if head is None:
            raise UnreadableError("after a head without #fields and #types")
        for field in schema:
            if field.name not in head.fields.names:
                raise UnreadableError(f"after a head without column {field.name!r}")
            if head.fields.field(field.name).type != field.type:
                raise UnreadableError(f"after a head that gives column {field.name!r} another type")
        types = {field.name: pa.float64() if field.type == _TIME else field.type for field in head.fields}
        too_large: Counter[str] = Counter()
        try:
            rows = self._rows(messages, head, types, schema)
        except pa.ArrowInvalid:
            if not head.counts:
                raise
            rows = self._rows(messages, head, types | dict.fromkeys(head.counts, pa.uint64()), schema)
            for place, field in enumerate(schema):
                if field.name in head.counts:
                    fits = pc.less_equal(rows.column(field.name), pa.scalar(_MOST, pa.uint64()))
                    too_large[field.name] = pc.sum(pc.invert(fits)).as_py() or 0
                    values = pc.if_else(fits, rows.column(field.name), None).cast(pa.int64())
                    rows = rows.set_column(place, field, values)
        if rows.num_rows != len(messages):
            raise UnreadableError("not one line")
        columns = [_converted(rows.column(field.name), field.type, head.empty) for field in schema]
        self._too_large += too_large
        return pa.table(columns, schema=schema), np.ones(len(messages), np.int64)

    @staticmethod
    def _rows(messages: Sequence[bytes], head: _Head, types: dict[str, pa.DataType], schema: pa.Schema) -> pa.Table:
        return csv.read_csv(
            pa.BufferReader(b"\n".join(messages) + b"\n"),
            read_options=csv.ReadOptions(column_names=head.fields.names),
            parse_options=csv.ParseOptions(delimiter=head.separator, quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=types, null_values=[head.unset], true_values=["T"], false_values=["F"],
                strings_can_be_null=True, include_columns=schema.names))


def _converted(values: pa.ChunkedArray, type_: pa.DataType, empty: str) -> pa.ChunkedArray:
    if type_ == _TIME:  # microseconds since 1970 are exact in floats
        return pc.round(pc.multiply(values, 1e6)).cast(pa.int64()).cast(_TIME)
    if not pa.types.is_string(type_):
        return values
    values = pc.if_else(pc.equal(values, empty), "", values)
    if not pc.any(pc.match_substring(values, "\\x")).as_py():
        return values
    return pa.chunked_array([pa.array([None if text is None else _unescaped(text) for text in values.to_pylist()],
                                      pa.string())])


def _unescaped(text: str) -> str:
    r"""Text with characters in place of their codes, such as ``\x09``; bytes that are not UTF-8 stay codes.

    >>> _unescaped(r"a\x2cb\xff")
    'a,b\\xff'
    """
    plain = _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), text.encode())
    return plain.decode(errors="backslashreplace")
