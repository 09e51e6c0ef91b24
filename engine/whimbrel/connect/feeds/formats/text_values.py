"""Times, dates and other values from texts that Arrow cannot parse."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_DAY = "1970-01-01T"
_ZONE = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"
_CLOCK = r"^\d\d:\d\d(:\d\d(\.\d+)?)?$"


def times_of_texts(texts: pa.Array | pa.ChunkedArray, type_: pa.DataType, *,
                   any_zone: bool = False) -> pa.Array | pa.ChunkedArray:
    """Texts in ISO 8601 as timestamps, dates or times of day. Zeros after the digits of the unit are no loss.

    With `any_zone`, a time without a zone is in UTC, and one with a zone is a moment also for a type without one.

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
        if not any_zone:
            return _moments(texts, type_)
        has_zone = pc.match_substring_regex(texts, _ZONE)
        zoned, bare = pc.if_else(has_zone, texts, None), pc.if_else(has_zone, None, texts)
        utc = pa.timestamp(type_.unit, "UTC")
        return pc.coalesce(_moments(zoned, utc), _moments(bare, pa.timestamp(type_.unit)).cast(utc)).cast(type_)
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


def parsed_type(type_: pa.DataType, *, moments: bool) -> pa.DataType:
    """The type with which Arrow's parser of JSON reads values of a type, before :func:`converted`.

    With `moments`, it parses timestamps itself.

    >>> parsed_type(pa.struct({"d": pa.date32(), "h": pa.large_list(pa.float16())}), moments=True)
    StructType(struct<d: string, h: list<item: float>>)
    """
    if pa.types.is_timestamp(type_):
        return type_ if moments else pa.string()
    if pa.types.is_date(type_) or pa.types.is_time(type_):
        return pa.string()
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(parsed_type(field.type, moments=moments)) for field in type_])
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(parsed_type(type_.value_type, moments=moments)))
    if pa.types.is_dictionary(type_):
        return parsed_type(type_.value_type, moments=moments)
    if pa.types.is_fixed_size_binary(type_):
        return pa.binary()
    return pa.float32() if pa.types.is_float16(type_) else type_


def converted(values: pa.Array, type_: pa.DataType, *, any_zone: bool = False) -> pa.Array:
    """Values of a :func:`parsed_type` as those of the type; `any_zone` as in :func:`times_of_texts`.

    Raises
    ------
    pyarrow.ArrowInvalid
        For a text that is no time, or a list of another length.
    """
    if values.type == type_:
        return values
    if pa.types.is_string(values.type) and pa.types.is_temporal(type_):
        return times_of_texts(values, type_, any_zone=any_zone)
    if pa.types.is_struct(values.type):
        parts = [converted(part, field.type, any_zone=any_zone)
                 for part, field in zip(values.flatten(), type_, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=[*type_], mask=values.is_null())
    if pa.types.is_list(values.type):
        within = converted(values.values, type_.value_type, any_zone=any_zone)
        same = pa.list_(type_.value_field)
        return pa.ListArray.from_arrays(values.offsets, within, type=same, mask=values.is_null()).cast(type_)
    if pa.types.is_dictionary(type_):
        return converted(values, type_.value_type, any_zone=any_zone).dictionary_encode().cast(type_)
    return values.cast(type_)
