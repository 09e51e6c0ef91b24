"""From messages to rows: the contract of formats, and how a bad message is found among good ones."""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.connect.feeds.formats.exact_times import exact_time, holds_times
from whimbrel.connect.feeds.formats.malformed import UnreadableError

Index = np.ndarray[Any, np.dtype[np.int64]]
Malformed = list[tuple[int, str]]

UNREADABLE = (ValueError, KeyError, TypeError, LookupError, ArithmeticError, EOFError, OSError, RecursionError,
              struct.error, pa.ArrowException)
"""What formats raise for a message that is not what they read; Arrow calls one that was cut short an OSError."""

_VALUE = re.compile(r"(?<=couldn't parse:).*|(?<=Could not convert ).*(?= with type )|(?<=Row #)\d+"
                    r"|(?<![\w<])(?<!class )(?!'utf-8')(?:'.*'|\".*\")|(?<![\w#.-])-?(?:0x[\da-f]+|\d[\d.]*)\b")
"""What libraries repeat of a message when they say what is wrong with it."""


@dataclass(frozen=True)
class Decoded:
    """Rows made of messages.

    Attributes
    ----------
    rows : pyarrow.Table
        In as many pieces as they came in: they are put together where they are handed on.
    each : array of int
        Of each message: how many rows it gave.
    malformed : list of (int, str)
        Numbers of messages that are no rows, and why.
    """

    rows: pa.Table
    each: Index
    malformed: Malformed

    @property
    def message(self) -> Index:
        """Of each row: the number of its message."""
        return np.repeat(np.arange(len(self.each)), self.each)


class Format(ABC):
    """How values are written."""

    @abstractmethod
    def infer(self, sample: Sequence[Any]) -> pa.Schema:
        """The schema of some messages; a ValueError where they have none."""

    @abstractmethod
    def parse(self, messages: Sequence[Any], schema: pa.Schema) -> tuple[pa.RecordBatch | pa.Table, Index]:
        """Rows of messages, and how many each gave.

        Raises
        ------
        Exception
            One of :data:`UNREADABLE`, when one of them is not what the schema says; whoever calls tries fewer.
        """


def decode(format_: Format, messages: Sequence[Any], schema: pa.Schema) -> Decoded:
    """Rows of messages. Those that cannot be read are found by halving, so good ones stay fast."""
    parts: list[pa.Table] = []
    counts = np.zeros(len(messages), np.int64)
    malformed: Malformed = []
    left = [(0, len(messages))] if messages else []
    while left:  # a function that calls itself would hold the rows until garbage is collected
        start, stop = left.pop()
        try:
            rows, counts[start:stop] = format_.parse(messages[start:stop], schema)
        except UNREADABLE as error:
            if stop - start == 1:
                malformed.append((start, reason(error)))
            else:
                middle = (start + stop) // 2
                left += (middle, stop), (start, middle)
        else:
            parts.append(rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows]))
    return Decoded(pa.concat_tables(parts) if parts else schema.empty_table(), counts, malformed)


def reason(error: Exception) -> str:
    """What is wrong, without the value: many letters share it.

    >>> reason(pa.ArrowInvalid("Failed to parse string: 'abc' as a scalar of type int64"))
    'Failed to parse string: … as a scalar of type int64'
    """
    if isinstance(error, KeyError):
        return f"no {error}"[:120]
    text = (str(error).strip().splitlines() or [type(error).__name__])[0].split(" in row ")[0]
    return (text if isinstance(error, UnreadableError) else _VALUE.sub("…", text))[:120]


def rows_of(values: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Records as rows; names that the schema does not know are left out."""
    arrays = [_array([value.get(field.name) for value in values], field) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    if holds_times(field.type):
        values = [None if value is None else exact_time(value, field.type, field.name) for value in values]
    array = pa.array(values, field.type)
    if (pa.types.is_integer(field.type) and not {int, type(None)}.issuperset(map(type, values))
            and array.to_pylist() != values):  # Arrow leaves fractions out
        raise UnreadableError(f"{field.name!r} must be an integer")
    return array
