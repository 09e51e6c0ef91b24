"""Rows of CSV files, and their malformed lines."""

from __future__ import annotations

import csv as python_csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import compress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from whimbrel.batch import Mask
from whimbrel.connect.feeds.formats.decode import UNREADABLE, Format, Index, decode
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.connect.file_formats.csv_dialect import CsvDialect, wrong_number
from whimbrel.connect.file_formats.csv_records import RecordSplitter
from whimbrel.connect.file_formats.file_format import COMPRESSED, FileFormat, HintedError, MalformedLine, Report
from whimbrel.connect.file_formats.inferred_types import common_time_type, has_large, is_time_type, whole_type
from whimbrel.connect.file_formats.text_blocks import first_text, text_blocks
from whimbrel.connect.file_formats.text_encoding import (
    UTF_8,
    EncodingError,
    check_encoding,
    is_utf8,
    utf8_lines,
)
from whimbrel.connect.file_formats.text_times import ISO_TIMES
from whimbrel.connect.file_formats.timed_rows import timed
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.paths import has_ending
from whimbrel.connect.tables.lifetime_columns import Timeline

_NONE = r"^$"
_WHOLE = re.compile(rb"-?\d+")
_WITH_TABS = tuple(f".tsv{packed}" for packed in COMPRESSED)
_DELIMITERS = (";", "\t", "|", ",")
_NOT_ONE = "not one line: a quote is open"
_DIGITS = {8: 2, 16: 4, 32: 9, 64: 18}


class CsvFiles(FileFormat):
    """CSV files: one row a line, and a header line unless the columns are named.

    Parameters
    ----------
    dialect : CsvDialect
    names : sequence of str, optional
        Names of the columns of files without a header.
    given : pyarrow.Schema
        Types of some columns, instead of those of the first rows.
    by_ending : bool
        Whether a tab is the delimiter of ``.tsv`` files.
    encoding : str
    skip_rows : int
        Number of lines before the header.
    """

    title = "CSV"
    endings = tuple(f"{ending}{packed}" for packed in COMPRESSED for ending in (".csv", ".tsv"))
    text_for_all = True

    def __init__(self, dialect: CsvDialect, names: Sequence[str] | None, given: pa.Schema, *, by_ending: bool,
                 encoding: str = UTF_8, skip_rows: int = 0) -> None:
        self._dialect, self._names, self.given, self._by_ending = dialect, names, given, by_ending
        self._encoding, self._skip_rows = encoding, skip_rows

    @property
    def stated_time_type(self) -> pa.DataType | None:
        times = self._dialect.times
        return pa.timestamp("us", times.zone) if times.format or times.zone else None

    def time_hint(self, name: str) -> str:
        return (f'Use schema={{"{name}": "timestamp[us]"}}, and time_format= unless times are in ISO 8601. '
                "Times that are numbers must be whole.")

    def schema(self, file: DataFile, times: Collection[str]) -> pa.Schema:
        dialect = self._of(file)
        text = first_text(file, self._encoding)
        has_bytes = any(map(pa.types.is_binary, self.given.types))
        if not has_bytes:
            check_encoding(text, self._encoding)
        names, number, text = self._begun(text, dialect)
        self._check_delimiter(names, times)
        if not has_bytes and text.strip():
            text = utf8_lines(text)
            if not text.strip():
                raise EncodingError(f"it is not {self._encoding.upper()}, for the first time in line {number}",
                                    "latin-1")
        sample = _CsvSample(text, names, dialect)
        types = {field.name: field.type for field in self.given if field.name in names}
        try:
            found = sample.read(types) if text else pa.table(
                {name: pa.nulls(0, types.get(name)) for name in names})
        except (UnreadableError, pa.ArrowInvalid):  # values that do not fit a given type
            found = sample.read({})
        return pa.schema([(name, types.get(name) or sample.type_of(name, found.column(name), is_time=name in times))
                          for name in names])

    def _check_delimiter(self, names: Sequence[str], times: Collection[str]) -> None:
        """Refuse a header that is one column, while another delimiter makes columns of times of it."""
        if self._names is not None or len(names) != 1 or names[0] in times:
            return
        other = next((mark for mark in _DELIMITERS if not {*times}.isdisjoint(names[0].split(mark))), None)
        if other is not None:
            raise HintedError(f"its header line is one column, {names[0]!r}", f"Use delimiter={other!r}.")

    def why_without_values(self, file: DataFile, name: str) -> HintedError | None:
        names, _, text = self._begun(first_text(file, self._encoding), self._of(file))
        if not text.strip():
            return HintedError(f"{file.name!r} has a header line and no rows",
                               f'Use schema={{"{name}": "timestamp[us]"}}, or "int64" if times are numbers.')
        found = _CsvSample(text, names, self._of(file)).other_number()
        return HintedError(f"the rows of {file.name!r} have {found} values for {len(names)} columns",
                           "Check the delimiter and the header of the file.") if found else None

    def batches(self, file: DataFile, fields: pa.Schema, timeline: Timeline,
                report: Report) -> Iterator[pa.RecordBatch]:
        dialect = self._of(file)
        lines: _CsvLines | None = None
        begun, left, line = b"", b"", 1
        for number, block in text_blocks(file, report, encoding=self._encoding):
            text = block
            if lines is None:
                begun += block
                if not self._after_skipped(begun).strip():
                    continue
                names, line, text = self._begun(begun, dialect)
                lines = _CsvLines(names, dialect)
            elif not left:
                line = number
            text = left + text
            rows, taken = lines.rows(text, line, fields, timeline, report, ends=False)
            yield from rows.to_batches()
            left, line = text[taken:], line + text.count(b"\n", 0, taken)
        if left and lines is not None:
            rows, _ = lines.rows(left, line, fields, timeline, report, ends=True)
            yield from rows.to_batches()

    def _begun(self, text: bytes, dialect: CsvDialect) -> tuple[list[str], int, bytes]:
        """Names of the columns, the number of the first line after the header, and the text from there on."""
        number, first, text = 1 + self._skip_rows, 0, self._after_skipped(text)
        if self._names is not None:
            return list(self._names), number, text
        while first < len(text) and not text[first : text.index(b"\n", first)].strip():
            first = text.index(b"\n", first) + 1
            number += 1
        if first == len(text):
            raise UnreadableError("it has no header line" + f" after {self._skip_rows} lines" * (self._skip_rows > 0))
        end = text.index(b"\n", first)
        header = text[first:end].removesuffix(b"\r")
        if not is_utf8(header):
            raise EncodingError(f"its header line is not {self._encoding.upper()}", "latin-1")
        if b"\r" in header and end + 1 == len(text):
            raise HintedError("its lines end with CR alone", "Write the file again with LF at the end of lines.")
        try:
            names = next(python_csv.reader([header.decode()], delimiter=dialect.delimiter), [])
        except python_csv.Error:
            raise UnreadableError("its header line is not CSV") from None
        twice = next((name for name, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            raise UnreadableError(f"its header names the column {twice!r} twice")
        return names, number + 1, text[end + 1:]

    def _after_skipped(self, text: bytes) -> bytes:
        parts = text.split(b"\n", self._skip_rows)
        return parts[-1] if len(parts) > self._skip_rows else b""

    def _of(self, file: DataFile) -> CsvDialect:
        has_tabs = self._by_ending and has_ending(file.name, _WITH_TABS)
        return replace(self._dialect, delimiter="\t") if has_tabs else self._dialect


class _CsvSample:
    """The first rows of a file, for their types."""

    def __init__(self, text: bytes, names: Sequence[str], dialect: CsvDialect) -> None:
        self._text, self._names, self._dialect = text, names, dialect

    def read(self, types: dict[str, pa.DataType]) -> pa.Table:
        """Rows with these types of some columns, and inferred ones of the others."""
        skip: list[csv.InvalidRow] = []
        found = None
        with suppress(*UNREADABLE):
            found = self._dialect.read(self._text, self._names, types, skip)
        if found is not None and found.num_rows + len(skip) == self._text.count(b"\n"):
            return found
        splitter = RecordSplitter(self._dialect.delimiter, len(self._names))
        rows, taken = splitter.split(self._text, ends=False)
        if 2 * taken < len(self._text):  # a quote that is not closed
            rows, _ = splitter.split(self._text, ends=True)
        whole = b"".join([row.text + b"\n" for row in rows if splitter.is_whole(row.text)])
        return self._dialect.read(whole or b"\n", self._names, types, [], together=True)

    def other_number(self) -> int:
        """How many values the first row has, if no row has as many as there are columns; else 0."""
        skip: list[csv.InvalidRow] = []
        with suppress(*UNREADABLE):
            if self._dialect.read(self._text, self._names, dict.fromkeys(self._names, pa.binary()), skip).num_rows:
                return 0
        return skip[0].actual_columns if skip else 0

    def type_of(self, name: str, inferred: pa.ChunkedArray, *, is_time: bool) -> pa.DataType:
        """The type of a column; that of most values if it is a time, which text cannot be."""
        type_ = _wide(inferred)
        if is_time:
            fits = is_time_type(type_) or pa.types.is_null(type_)
            return type_ if fits else common_time_type(self._values(name), self._type_of_value) or type_
        if not pa.types.is_floating(type_) or not has_large(inferred):
            return type_
        values = self._values(name)
        return whole_type([*map(int, values)]) or pa.string() if all(map(_WHOLE.fullmatch, values)) else type_

    def _values(self, name: str) -> list[bytes]:
        texts = self.read(dict.fromkeys(self._names, pa.binary())).column(name).to_pylist()
        nulls = {None, *(word.encode() for word in self._dialect.null_words)}
        return [text for text in texts if text not in nulls]

    def _type_of_value(self, value: bytes) -> pa.DataType:
        quoted = b'"%b"\n' % value.replace(b'"', b'""')
        return _wide(self._dialect.read(quoted, ["value"], {}, together=True).column(0))


class _CsvLines(Format):
    """Lines of a CSV file with these columns."""

    def __init__(self, names: Sequence[str], dialect: CsvDialect) -> None:
        self._names, self._dialect = names, dialect
        self._records = RecordSplitter(dialect.delimiter, len(names))
        self._end = dialect.delimiter.encode() * (len(names) - 1) + b"\n"  # an open quote takes in the next line

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        return self._dialect.read(b"\n".join(sample) + b"\n", self._names, {}, []).schema

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.Table, Index]:
        text = b"\n".join(messages) + b"\n"
        together = text.count(b"\n") > len(messages)
        return self._block(text, len(messages), schema, together=together), np.ones(len(messages), np.int64)

    def rows(self, text: bytes, number: int, schema: pa.Schema, timeline: Timeline, report: Report, *,
             ends: bool) -> tuple[pa.Table, int]:
        """Rows of complete lines, and how many bytes of them were taken.

        They are parsed together if each line is a row. Else malformed lines are left out. A row that is open at the end
        is left for the next text, if there is one.
        """
        try:
            rows = self._block(text, text.count(b"\n"), schema)
        except UNREADABLE:
            numbered, taken = self._records.split(text, ends=ends)
        else:
            return self._timed(rows, text, number, timeline, report), len(text)
        lines = [line for _, line in numbered]
        if not lines:
            return schema.empty_table(), taken
        suspect, wrong = self._suspect(lines, schema)
        good, rest = np.flatnonzero(~suspect), np.setdiff1d(np.flatnonzero(suspect), [*wrong])
        try:
            rows, _ = self.parse([lines[index] for index in good], schema) if len(good) else (schema.empty_table(), 0)
        except UNREADABLE:
            good, rest, rows, wrong = good[:0], np.arange(len(lines)), schema.empty_table(), {}
        found = decode(self, [lines[index] for index in rest], schema)
        malformed = [MalformedLine(number + numbered[index].line, why, numbered[index].text)
                     for index, why in [*((rest[index], why) for index, why in found.malformed), *wrong.items()]]
        of = np.concatenate([good, rest[found.each > 0]])
        order = np.argsort(of, kind="stable")
        rows, without = timed(pa.concat_tables([rows, found.rows]).take(order), timeline,
                              lambda row: (number + numbered[of[order[row]]].line, numbered[of[order[row]]].text))
        for each in sorted(malformed + without, key=lambda each: each.line):
            report(each)
        return rows.combine_chunks(), taken

    def _timed(self, rows: pa.Table, text: bytes, number: int, timeline: Timeline,
               report: Report) -> pa.Table:
        """Rows with a lifetime, of a text in which each line is a row."""
        lines = cache(lambda: text.split(b"\n"))
        rows, without = timed(rows, timeline, lambda row: (number + row, lines()[row].removesuffix(b"\r")))
        for each in without:
            report(each)
        return rows

    def _block(self, text: bytes, lines: int, schema: pa.Schema, *, together: bool = False) -> pa.Table:
        types = {field.name: field.type for field in schema}
        alone = len(self._names) == 1  # an empty line is a value then
        rows = self._dialect.read(text if alone else text + self._end, self._names, types, together=together)
        if rows.num_rows != lines + (not alone):
            raise UnreadableError(_NOT_ONE)
        return rows.slice(0, lines).select(schema.names)

    def _suspect(self, lines: Sequence[bytes], schema: pa.Schema) -> tuple[Mask, dict[int, str]]:
        """Which lines may be malformed, and those that surely are for their number of values, with the reasons.

        The others surely are not, unless a time is none. A quote that is open would take in the lines after it.
        """
        skip: list[csv.InvalidRow] = []
        types = dict.fromkeys(self._names, pa.binary())
        closed = [*map(self._records.is_closed, lines)]
        clear, suspect = np.flatnonzero(closed), ~np.array(closed)
        text = b"\n".join(compress(lines, closed)) + b"\n" + self._end
        try:
            values = self._dialect.read(text, self._names, types, skip, together=True) if len(clear) else None
        except pa.ArrowException:
            values = None
        if values is None or values.num_rows + len(skip) != len(clear) + 1:
            return np.ones(len(lines), np.bool_), {}
        wrong = {int(clear[row.number - 1]): wrong_number(row.actual_columns, row.expected_columns) for row in skip}
        suspect[[*wrong]] = True
        whole = np.flatnonzero(~suspect)
        if not is_utf8(text):
            suspect[[not is_utf8(line) for line in lines]] = True
        for field in schema:
            is_iso = self._dialect.times == ISO_TIMES
            pattern = _sure(field.type, self._dialect.decimal) if is_iso or not _is_time(field.type) else _NONE
            if pattern:
                sure = pc.match_substring_regex(values.column(field.name), pattern=pattern)
                suspect[whole[~pc.fill_null(sure, True).to_numpy()[: len(whole)]]] = True  # null is sure
        return suspect, wrong


def _is_time(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_))


def _sure(type_: pa.DataType, decimal: str) -> str:
    """A pattern of texts that surely are values of a type; empty for text."""
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return ""
    if pa.types.is_signed_integer(type_):
        return rf"^(-?\d{{1,{_DIGITS[type_.bit_width]}}})?$"
    if pa.types.is_floating(type_):
        return rf"^(-?\d+([{decimal}]\d+)?([eE][-+]?\d{{1,2}})?)?$"
    if pa.types.is_timestamp(type_) and type_.tz is None:
        return r"^(\d{4}-[01]\d-[0-3]\d[ T][0-2]\d:[0-5]\d(:[0-5]\d)?(\.\d{3}(\d{3})?)?)?$"
    return _NONE


def _wide(values: pa.ChunkedArray) -> pa.DataType:
    """The type of a sample, wide enough for later values, which may have fractions of seconds."""
    type_ = values.type
    if not pa.types.is_timestamp(type_) or type_.unit == "us":
        return type_
    wide = pa.timestamp("us", type_.tz)
    if type_.unit == "ns":
        try:
            values.cast(wide)
        except pa.ArrowInvalid:
            return type_
    return wide
