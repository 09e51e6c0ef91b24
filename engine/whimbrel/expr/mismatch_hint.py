"""Hint where the types of two operands do not go together."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import SegmentType
from whimbrel.expr.type_predicates import is_bytes, is_text


def mismatch_hint(left: pa.DataType, right: pa.DataType) -> str:
    """How to bring two operands together, by their types.

    >>> mismatch_hint(pa.bool_(), pa.int64())
    "Use .cast('int64') to count true as 1."
    """
    segments = [type_ for type_ in (left, right) if isinstance(type_, SegmentType)]
    if len(segments) == 2 and segments[0].timing != segments[1].timing:
        return "Bring the signals to one rate with resample(), and compute with samples before rewindow()."
    if segments:
        return "Compute with samples before rewindow(), or with wb.array_function."
    if t.is_boolean(left) or t.is_boolean(right):
        return "Use .cast('int64') to count true as 1."
    if is_bytes(left) or is_bytes(right):
        return "Compare bytes with bytes, such as b'a', or make texts of them: .cast('string')."
    if is_text(left) or is_text(right):
        return "Cast one of them with .cast('float64') or .cast('string')."
    if t.is_decimal(left) or t.is_decimal(right):
        return "Combine decimals with decimals, integers or floats: .cast('decimal(38, 2)')."
    if t.is_date(left) or t.is_date(right):
        return "Make times of dates: .cast('timestamp[s]')."
    return "Cast one of them to the type of the other."
