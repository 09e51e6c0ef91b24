"""Times, dates and other values from texts that Arrow cannot parse."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_DAY = "1970-01-01T"
_CLOCK = r"^\d\d:\d\d(:\d\d(\.\d+)?)?$"


def times_of_texts(texts: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Texts in ISO 8601 as timestamps, dates or times of day. Zeros after the digits of the unit are no loss.

    Raises
    ------
    pyarrow.ArrowInvalid
        For a text that is none.

    Examples
    --------
    >>> times_of_texts(pa.array(["01:02:03.500000"]), pa.time32("ms")).to_pylist()
    [datetime.time(1, 2, 3, 500000)]
    """
    if pa.types.is_date(type_):
        return texts.cast(type_)
    if not pa.types.is_time(type_):
        return _moments(texts, type_)
    if not pc.all(pc.match_substring_regex(texts, _CLOCK), min_count=0).as_py():
        raise pa.ArrowInvalid("not a time of day")
    moments = pa.timestamp(type_.unit)
    return _moments(pc.binary_join_element_wise(_DAY, texts, ""), moments).cast(type_)


def _moments(texts: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array | pa.ChunkedArray:
    try:
        return texts.cast(type_)
    except pa.ArrowInvalid:
        digits = _DIGITS[type_.unit]
        kept = rf"(:\d\d\.\d{{{digits}}})0+" if digits else r"(:\d\d)\.0+"
        return pc.replace_substring_regex(texts, rf"{kept}([Z+-].*)?$", r"\1\2").cast(type_)
