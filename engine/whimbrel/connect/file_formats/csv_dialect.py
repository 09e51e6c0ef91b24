"""Forms of values in CSV text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from whimbrel.connect.feeds.formats.malformed import UnreadableError, misfit
from whimbrel.connect.feeds.formats.text_values import times_of_texts
from whimbrel.connect.file_formats.text_times import ISO_TIMES, TextTimes
from whimbrel.expr.real_times import are_real, doubtful_times

_CHUNK_BYTES = 1 << 20
_MISFIT = re.compile(r"In CSV column #(\d+):.*? CSV conversion error to (.+?):")
_COLUMN = re.compile(r"In CSV column #(\d+):")
_PADDED = re.compile(r"invalid value '[^']*:\d\d\.\d*0(?:[Z+-][^']*)?'")
_OTHER_NUMBER = re.compile(r"Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True, slots=True)
class CsvDialect:
    r"""How values stand in CSV text.

    Parameters
    ----------
    delimiter : str
    times : TextTimes
        How texts are times.
    nulls : sequence of str, optional
        Texts that are null in all columns, besides the empty one. Default: those of Arrow, in other
        columns than text.
    decimal : str
        The character before the fraction of a number.

    Examples
    --------
    >>> CsvDialect(";").read(b"1;a\n2;\n", ["x", "k"], {}).to_pylist()
    [{'x': 1, 'k': 'a'}, {'x': 2, 'k': None}]
    """

    delimiter: str
    times: TextTimes = ISO_TIMES
    nulls: tuple[str, ...] | None = None
    decimal: str = "."

    @property
    def null_words(self) -> list[str]:
        """Texts that are null in columns of numbers and times."""
        return csv.ConvertOptions().null_values if self.nulls is None else ["", *self.nulls]

    def read(self, text: bytes, names: Sequence[str], types: dict[str, pa.DataType],
             skip: list[csv.InvalidRow] | None = None, *, together: bool = False) -> pa.Table:
        """Parse lines; with `skip`, rows of other numbers of values are put there.

        With `together`, values in quotes may have line ends, which takes longer.
        """
        with_zones: set[str] = set()
        padded: set[str] = set()
        while True:
            written = {name: self.times.written(type_, with_zones=name in with_zones) for name, type_ in types.items()}
            try:
                rows = self._read(text, names, {**written, **dict.fromkeys(padded, pa.string())}, skip,
                                  together=together)
            except pa.ArrowInvalid as error:
                if (found := _MISFIT.search(str(error))) is not None:
                    name = names[int(found[1])]
                    if self.times.zone and "expected no zone offset" in str(error) and name not in with_zones:
                        with_zones.add(name)
                        continue
                    if name not in padded and _PADDED.search(str(error)) and pa.types.is_temporal(written[name]):
                        padded.add(name)
                        continue
                    raise UnreadableError(misfit(name, found[2], error)) from error
                if (found := _COLUMN.search(str(error))) is not None and (name := names[int(found[1])]) in written:
                    raise UnreadableError(misfit(name, str(written[name]), error)) from error
                if (found := _OTHER_NUMBER.search(str(error))) is not None:
                    raise UnreadableError(wrong_number(int(found[2]), int(found[1]))) from error
                raise
            for name in {} if self.times.format is None else {*written} - padded:
                self._check_times(rows.column(name).combine_chunks(), name, text, names, skip, together=together)
            return pa.table({name: self.times.in_zone(
                self._times(rows.column(name), name, written[name]) if name in padded
                else _without_empty(rows.column(name))) for name in rows.column_names})

    def _check_times(self, found: pa.Array, name: str, text: bytes, names: Sequence[str],
                     skip: list[csv.InvalidRow] | None, *, together: bool) -> None:
        """Refuse times that only the C library reads by the format, such as of February 30."""
        form = self.times.format
        if form is None or not pa.types.is_timestamp(found.type) or not pc.any(
                doubtful := doubtful_times(found, form)).as_py():
            return
        rows = self._read(text, names, {name: pa.string()}, skip, together=together, only=[name])
        few = rows.column(0).combine_chunks().filter(doubtful)
        wrong = ~are_real(few, found.filter(doubtful), form)
        if not all(map(_is_iso, few.filter(pa.array(wrong)).to_pylist())):
            raise UnreadableError(f"{name!r} must be {found.type}")

    def _times(self, texts: pa.ChunkedArray, name: str, type_: pa.DataType) -> pa.ChunkedArray:
        """Times whose fractions of seconds end with zeros beyond the unit."""
        try:
            return times_of_texts(pc.if_else(pc.is_in(texts, pa.array(self.null_words)), None, texts), type_)
        except pa.ArrowInvalid as error:
            raise UnreadableError(misfit(name, str(type_), error)) from error

    def _read(self, text: bytes, names: Sequence[str], types: dict[str, pa.DataType],
              skip: list[csv.InvalidRow] | None, *, together: bool, only: Sequence[str] = (),
              block_bytes: int = _CHUNK_BYTES) -> pa.Table:
        def skipped(row: csv.InvalidRow) -> str:
            assert skip is not None
            skip.append(row)
            return "skip"

        if skip is not None:
            skip.clear()
        try:
            return csv.read_csv(
                pa.BufferReader(text),
                read_options=csv.ReadOptions(column_names=list(names), use_threads=skip is None,
                                             block_size=block_bytes),
                parse_options=csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=together,
                                               ignore_empty_lines=len(names) > 1,
                                               invalid_row_handler=None if skip is None else skipped),
                convert_options=csv.ConvertOptions(timestamp_parsers=self.times.parsers, null_values=self.null_words,
                                                   strings_can_be_null=self.nulls is not None, column_types=types,
                                                   include_columns=list(only),
                                                   decimal_point=self.decimal))
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error) or block_bytes > len(text):
                raise
        # a row is longer than a block
        return self._read(text, names, types, skip, together=together, only=only, block_bytes=len(text) + 1)


def wrong_number(values: int, columns: int) -> str:
    """The reason why a line with this number of values is malformed."""
    return f"{values} values for {columns} columns"


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True


def _without_empty(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts with null in place of empty ones."""
    if pa.types.is_dictionary(values.type) and _is_text(values.type.value_type):
        empty = pc.equal(values.cast(values.type.value_type), "")
        return pc.if_else(empty, None, values.unify_dictionaries()) if pc.any(empty).as_py() else values
    if not _is_text(values.type):
        return values
    return pa.chunked_array([_nulled(chunk) for chunk in values.chunks], values.type)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _nulled(chunk: pa.Array) -> pa.Array:
    width = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
    ends = np.frombuffer(chunk.buffers()[1], width)[chunk.offset : chunk.offset + len(chunk) + 1]
    empty = ends[1:] == ends[:-1]
    return pc.if_else(pa.array(empty), pa.scalar(None, chunk.type), chunk) if empty.any() else chunk
