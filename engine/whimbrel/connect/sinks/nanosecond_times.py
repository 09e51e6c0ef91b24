"""Conversion of nanosecond times, which Python's datetime cannot represent."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def with_exact_times(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Replace times finer than microseconds with strings, and durations with seconds.

    Otherwise Arrow needs pandas to convert them to Python values.

    Examples
    --------
    >>> spans, times = pa.array([1_500], pa.duration("ns")), pa.array([1], pa.timestamp("ns", "Europe/Berlin"))
    >>> with_exact_times(pa.record_batch({"at": times, "took": spans})).to_pylist()
    [{'at': '1970-01-01T01:00:00.000000001+01:00', 'took': 1.5e-06}]
    """
    return pa.RecordBatch.from_arrays([_readable(column) for column in rows.columns], names=rows.schema.names)


def _readable(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_list(kind):
        within = _readable(column.values)
        return column if within is column.values else pa.ListArray.from_arrays(
            column.offsets, within, mask=column.is_null() if column.null_count else None)
    if getattr(kind, "unit", None) != "ns":
        return column
    if pa.types.is_duration(kind):
        return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), 1e9)
    try:
        return column.cast(pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.time64("us"))
    except pa.ArrowInvalid:  # digits would be lost
        texts = pc.replace_substring(column.cast(pa.string()), " ", "T")
        return pc.replace_substring_regex(texts, r"([+-]\d\d)(\d\d)$", r"\1:\2")
