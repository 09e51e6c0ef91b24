"""Contract of message formats, and decoding that isolates malformed messages."""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import InexactError, exact_value, may_lose
from whimbrel.connect.feeds.formats.malformed import UnreadableError

Index = np.ndarray[Any, np.dtype[np.int64]]
Malformed = list[tuple[int, str]]

UNREADABLE = (ValueError, KeyError, TypeError, LookupError, ArithmeticError, EOFError, OSError, RecursionError,
              struct.error, pa.ArrowException)
"""Exceptions of formats for a malformed message; Arrow raises OSError for a truncated one."""

_VALUE = re.compile(r"(?<=couldn't parse:).*|(?<=Could not convert ).*(?= with type )|(?<=Row #)\d+"
                    r"|(?<![\w<])(?<!class )(?!'utf-8')(?:'.*'|\".*\")|(?<![\w#.-])-?(?:0x[\da-f]+|\d[\d.]*)\b")
"""Values of a message that libraries repeat in their errors."""


@dataclass(frozen=True)
class Decoded:
    """Rows decoded from messages.

    Attributes
    ----------
    rows : pyarrow.Table
        The rows, in several chunks.
    each : array of int
        Number of rows of each message.
    malformed : list of (int, str)
        Indices of malformed messages, with the reasons.
    """

    rows: pa.Table
    each: Index
    malformed: Malformed

    @property
    def message(self) -> Index:
        """Index of the message of each row."""
        return np.repeat(np.arange(len(self.each)), self.each)


class Format(ABC):
    """A format of messages."""

    @abstractmethod
    def infer(self, sample: Sequence[Any]) -> pa.Schema:
        """Infer the schema of some messages; a ValueError if they have none."""

    @abstractmethod
    def parse(self, messages: Sequence[Any], schema: pa.Schema) -> tuple[pa.RecordBatch | pa.Table, Index]:
        """Decode messages to rows.

        Return the rows, and the number of rows of each message.

        Raises
        ------
        Exception
            One of :data:`UNREADABLE` if any message is malformed; the caller then tries fewer messages.
        """


def decode(format_: Format, messages: Sequence[Any], schema: pa.Schema) -> Decoded:
    """Decode messages. Bisection finds malformed messages, so valid ones are decoded in large parts."""
    parts: list[pa.Table] = []
    counts = np.zeros(len(messages), np.int64)
    malformed: Malformed = []
    left = [(0, len(messages))] if messages else []
    while left:  # a recursive function would keep the rows alive until garbage collection
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
    """Reason of an error without values of the message, so that dead letters can be counted by reason.

    >>> reason(pa.ArrowInvalid("Failed to parse string: 'abc' as a scalar of type int64"))
    'Failed to parse string: … as a scalar of type int64'
    """
    if isinstance(error, KeyError):
        return f"no {error}"[:120]
    text = (str(error).strip().splitlines() or [type(error).__name__])[0].split(" in row ")[0]
    return (text if isinstance(error, UnreadableError) else _VALUE.sub("…", text))[:120]


def rows_of(values: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Convert dicts to rows; names that are not in the schema are ignored."""
    arrays = [_array([value.get(field.name) for value in values], field) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    type_ = field.type
    plain = pa.types.is_integer(type_) and {int, type(None)}.issuperset(map(type, values))  # the common case
    if not plain and may_lose(type_):
        try:
            values = [exact_value(value, type_) for value in values]
        except InexactError as error:
            raise UnreadableError(f"{field.name!r} {error}") from None
    try:
        if pa.types.is_dictionary(type_):  # Arrow makes dictionaries of few types
            return pa.array(values, type_.value_type).dictionary_encode().cast(type_)
        return pa.array(values, type_)
    except UNREADABLE as error:
        if plain or isinstance(error, OverflowError):
            raise UnreadableError(f"{field.name!r} does not fit in {type_}") from None
        raise UnreadableError(f"{field.name!r} must be {type_}: {reason(error)}") from None
