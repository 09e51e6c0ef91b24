"""Convert instants to axis positions and text."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whimbrel_workbench.frames.arrow_values import floats, integers


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


def ticks(table: pa.Table, name: str = "start") -> NDArray[np.int64]:
    """When rows start, in ticks, or another of their times: instants, where a position is by the clock on the wall."""
    column = table.column(name)
    return integers(pc.cast(column.combine_chunks(), pa.int64()), 0)  # NumPy's own conversion would load pandas


def instants(table: pa.Table, name: str = "start") -> list[str]:
    """The same as texts: a page's numbers do not hold all ticks.

    >>> instants(pa.table({"start": pa.array([2**62], pa.timestamp("ns", "Europe/Berlin"))}))
    ['4611686018427387904']
    """
    return list(map(str, ticks(table, name).tolist()))


def tick_at(position: float, kind: pa.DataType, *, last: bool = False) -> int:
    """The tick of a column that stands at an axis position: where :func:`positions` would put it.

    Of two, in an hour that comes twice, the first one or the `last`.

    >>> tick_at(90_000.0, pa.timestamp("s")), tick_at(3_600_000.0, pa.timestamp("s", "Europe/Berlin"))
    (90, 0)
    """
    if not pa.types.is_timestamp(kind):
        return round(position)
    tick = round(position * {"s": 1e-3, "ms": 1.0, "us": 1e3, "ns": 1e6}[kind.unit])
    wall = pa.scalar(tick, pa.timestamp(kind.unit))
    if kind.tz is not None:
        wall = pc.assume_timezone(wall, kind.tz, ambiguous="latest" if last else "earliest", nonexistent="earliest")
    return int(wall.cast(pa.int64()).as_py())


def instant_text(instant: datetime | int | None) -> str:
    """An instant as short as it can be read without doubt.

    >>> instant_text(datetime(2013, 5, 4, 10, 30)), instant_text(datetime(2013, 5, 4, 10, 30, 5))
    ('2013-05-04 10:30', '2013-05-04 10:30:05')
    >>> instant_text(1200), instant_text(None)
    ('1,200', 'none yet')
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
