"""Instants as axis positions and as words."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whimbrel_workbench.frames.values import floats


def positions(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Axis positions of instants: milliseconds of wall-clock time, or the plain integers; null is NaN.

    Zoned instants are placed by the clock on the wall of their zone, as a reader expects to see them.
    """
    kind = column.type
    if not pa.types.is_timestamp(kind):
        return floats(column)
    if kind.tz is not None:
        column = pc.local_timestamp(column)
    per_ms = {"s": 1e-3, "ms": 1.0, "us": 1e3, "ns": 1e6}[kind.unit]
    return floats(column.cast(pa.int64())) / per_ms


def tick_at(position: float, kind: pa.DataType) -> int:
    """The tick of a column that stands at an axis position: where :func:`positions` would put it.

    >>> tick_at(90_000.0, pa.timestamp("s")), tick_at(3_600_000.0, pa.timestamp("s", "Europe/Berlin"))
    (90, 0)
    """
    if not pa.types.is_timestamp(kind):
        return round(position)
    ticks = round(position * {"s": 1e-3, "ms": 1.0, "us": 1e3, "ns": 1e6}[kind.unit])
    wall = pa.scalar(ticks, pa.timestamp(kind.unit))
    if kind.tz is not None:
        wall = pc.assume_timezone(wall, kind.tz, ambiguous="earliest", nonexistent="earliest")
    return int(wall.cast(pa.int64()).as_py())


def span_words(seconds: float) -> str:
    """A span of time in its two largest units; below a minute, in seconds.

    >>> span_words(0.25), span_words(59), span_words(3_700), span_words(200_000), span_words(-90)
    ('0.25 s', '59 s', '1 h 1 min', '2 d 7 h', '-1 min 30 s')
    """
    size = abs(seconds)
    sign = "-" if seconds < 0 else ""
    if size < 60:
        return f"{seconds:.3g} s"
    for (unit, seconds_of), (smaller, smaller_s) in pairwise((("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))):
        if size >= seconds_of:
            whole, rest = divmod(size, seconds_of)
            return f"{sign}{whole:,.0f} {unit}" + (f" {rest // smaller_s:.0f} {smaller}" if rest >= smaller_s else "")
    raise AssertionError(seconds)


def words(instant: datetime | int | None) -> str:
    """An instant as short as it can be read without doubt.

    >>> words(datetime(2013, 5, 4, 10, 30)), words(datetime(2013, 5, 4, 10, 30, 5)), words(1200), words(None)
    ('2013-05-04 10:30', '2013-05-04 10:30:05', '1,200', 'none yet')
    """
    match instant:
        case None:
            return "none yet"
        case datetime(second=0, microsecond=0):
            return f"{instant:%Y-%m-%d %H:%M}"
        case datetime():
            return f"{instant:%Y-%m-%d %H:%M:%S}"
        case _:
            return f"{instant:,}"
