"""CSV lines, one per message.

The columns are in the order of the schema.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyarrow import csv

from whimbrel.connect.feeds.formats.decode import Format, Index
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.errors import PlanError

_NOT_ONE = "not one line: a quote is open, or it holds several"


class Csv(Format):
    """CSV format: lines, read with Arrow's parser.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the columns, where no schema is given.
    delimiter : str, default ","
        The character between two values.
    decimal : {".", ","}, default "."
        The character before the fraction of a number. Such lines mostly have ``delimiter=";"``.

    Examples
    --------
    >>> rows, each = Csv().parse([b"1,a", b"2,b"], pa.schema({"at": pa.int64(), "k": pa.string()}))
    >>> rows.to_pylist()
    [{'at': 1, 'k': 'a'}, {'at': 2, 'k': 'b'}]
    >>> rows, each = Csv(delimiter=";", decimal=",").parse([b"1;2,5"], pa.schema({"at": pa.int64(), "x": pa.float64()}))
    >>> rows.to_pylist()
    [{'at': 1, 'x': 2.5}]
    """

    def __init__(self, names: Sequence[str] | None = None, *, delimiter: str = ",", decimal: str = ".") -> None:
        check_marks(delimiter, decimal, where="Csv(...)")
        self.names, self.delimiter, self.decimal = names, delimiter, decimal

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        if self.names is None:
            raise UnreadableError("CSV lines without a header need a schema with the names of the columns")
        return self._read(sample, self.names, {}).schema

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        lines = [message.rstrip(b"\r\n") for message in messages]
        breaks = sum(line.count(b"\n") + line.count(b"\r") for line in lines) if len(lines) > 1 else 0
        rows = self.block(b"\n".join(lines), schema)
        if breaks or len(rows) != len(lines):
            raise UnreadableError(_NOT_ONE)
        return rows, np.ones(len(lines), np.int64)

    def block(self, text: bytes, schema: pa.Schema) -> pa.RecordBatch:
        """Parse rows of a text with no open quote at its end.

        The caller checks that each line is one row.
        """
        names = schema.names if self.names is None else self.names
        empty = self.delimiter.encode() * (len(names) - 1)  # an open quote takes in the next line, so there must be one
        types = {field.name: field.type for field in schema}
        rows = self._read([text, empty], names, types).combine_chunks().to_batches()[0]
        if any(column.null_count == 0 for column in rows.slice(len(rows) - 1).columns):
            raise UnreadableError(_NOT_ONE)
        return rows.slice(0, len(rows) - 1).select(schema.names)

    def parse_options(self) -> csv.ParseOptions:
        """Options of Arrow's parser, without rows of other lengths."""
        return csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=lambda _: "skip")

    def _read(self, messages: Sequence[bytes], names: Sequence[str], types: dict[str, pa.DataType]) -> pa.Table:
        text = b"\n".join(messages) + b"\n"
        try:
            return csv.read_csv(
                pa.BufferReader(text),
                read_options=csv.ReadOptions(column_names=list(names), use_threads=False, block_size=len(text) + 1),
                parse_options=csv.ParseOptions(delimiter=self.delimiter,
                                               ignore_empty_lines=len(names) > 1),  # where it is not an empty value
                convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""],
                                                   decimal_point=self.decimal))
        except pa.ArrowInvalid as error:
            if counts := re.search(r"Expected (\d+) columns, got (\d+)", str(error)):
                raise UnreadableError(f"{counts[2]} values for {counts[1]} columns") from error  # many share it
            raise


def check_marks(delimiter: str, decimal: str, *, where: str) -> None:
    """Refuse what cannot separate values, or the fraction of a number."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii():
        raise PlanError(f"delimiter must be one character of ASCII, got {delimiter!r}.", where=where,
                        hint='Use for example delimiter=";" or "\\t".')
    if decimal not in (".", ","):
        raise PlanError(f'decimal must be "." or ",", got {decimal!r}.', where=where,
                        hint='Use decimal="," for numbers such as 1,5.')
