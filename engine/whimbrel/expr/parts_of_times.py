"""Find parts of many times and dates by NumPy.

Arrow walks through the calendar for each row. Here it is asked once for each day, for a table of days. Parts of the
clock are found by division: of times within a century of 1970 by a compiled loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import frozen
from whimbrel.clock import ticks_per_second
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.temporal.clock_parts import write_days, write_parts

Array = np.ndarray[Any, Any]

DAY_PARTS: Final[dict[str, Callable[[Any], Any]]] = {
    "year": pc.year, "quarter": pc.quarter, "month": pc.month, "day": pc.day, "day_of_year": pc.day_of_year,
    "weekday": pc.day_of_week, "week": pc.iso_week, "iso_year": pc.iso_year,
    "is_weekend": lambda x: pc.greater_equal(pc.day_of_week(x), 5),
}
"""Parts that all times of one day have."""
_CLOCK_PARTS: Final = {"hour": (3600, 24), "minute": (60, 60), "second": (1, 60)}
"""Seconds of each part, and how many of them the next larger part has."""
CALENDAR_S: Final = 32_700 * 365 * 86_400
"""Arrow counts years in 16 bits: so many seconds from 1970 they suffice."""
_DAYS: Final = 4096
_FAR_DAYS: Final = 16 * _DAYS
"""Days before and after 1970 that are ever in a table: 1790 to 2149."""
_BLOCK_ROWS: Final = 1 << 16
"""Rows whose numbers stay in the cache from one call to the next; of fewer, the calls take longer than the work."""

_WORTH_COMPILING_ROWS: Final = 4_096
"""Rows from which on a loop gains more than asking whether it is ready costs."""
_EXACT: Final = 2**52
"""Ticks before and after 1970 that the loops divide in double precision."""
_days, _parts = Compiled(write_days), Compiled(write_parts)


def part_of_times(part: str, ticks: Array, type_: pa.DataType, out: Array | None = None) -> Array | None:
    """A part of times or dates as NumPy has them, in `out` if there is one; None where Arrow has to find it.

    Examples
    --------
    >>> part_of_times("month", np.array([0, -1]), pa.timestamp("s")).tolist()
    [1, 12]
    """
    second: int | None = None
    if t.is_timestamp(type_) and type_.tz in (None, "UTC"):
        second = ticks_per_second(type_.unit) or 1
    elif not t.is_date32(type_) or part not in DAY_PARTS:
        return None
    if out is None:
        out = np.empty(len(ticks), {"is_weekend": np.bool_, "date": np.int32}.get(part, np.int64))
    for at in range(0, len(ticks), _BLOCK_ROWS):
        given, made = ticks[at : at + _BLOCK_ROWS], out[at : at + _BLOCK_ROWS]
        if second is not None and _by_loop(part, given, second, made):
            continue
        bounds = int(given.min()), int(given.max())
        if second is None:
            done = _of_days(part, given, bounds, made)
        elif second != 10**9 and (bounds[0] < -CALENDAR_S * second or bounds[1] > CALENDAR_S * second):
            done = False
        elif part in DAY_PARTS:
            day = 86_400 * second
            done = _of_days(part, given // np.int64(day), (bounds[0] // day, bounds[1] // day), made)
        else:
            done = _of_clock(part, given, bounds, second, made)
        if not done:
            return None
    return out


def _by_loop(part: str, ticks: Array, second: int, out: Array) -> bool:
    """Find a part by one compiled pass; False where it is not ready, or a time is too far from 1970 for doubles."""
    if len(ticks) < _WORTH_COMPILING_ROWS or second == 10**9 or part == "time":
        return False
    ticks, last, day = frozen(ticks), min(_EXACT, CALENDAR_S * second), 86_400.0 * second
    if part in _CLOCK_PARTS:
        seconds, count = _CLOCK_PARTS[part]
        step = float(seconds * second)
        return _parts.ready(ticks, last, count * step, step, out) and bool(
            _parts(ticks, last, count * step, step, out))
    days = out if part == "date" else np.empty(len(ticks), np.int32)
    if not (_days.ready(ticks, last, day, days) and _days(ticks, last, day, days)):
        return False
    return part == "date" or _of_days(part, days, (int(days.min()), int(days.max())), out)


def _of_days(part: str, days: Array, bounds: tuple[int, int], out: Array) -> bool:
    first, last = bounds
    if first < -_FAR_DAYS or last >= _FAR_DAYS:
        return False
    low, high = -_FAR_DAYS, _FAR_DAYS
    if first // _DAYS == last // _DAYS:
        low = first // _DAYS * _DAYS
        high = low + _DAYS
    np.take(_table(part, low, high), days - days.dtype.type(low), mode="clip", out=out)
    return True


@functools.cache
def _table(part: str, low: int, high: int) -> Array:
    """The part of each day. At most 32 small tables are kept for each part, and a large one."""
    found = DAY_PARTS[part](pa.array(np.arange(low, high, dtype=np.int32)).view(pa.date32()))
    if t.is_boolean(found.type):
        return np.asarray(found.cast(pa.uint8())).view(np.bool_)
    return np.asarray(found.cast(pa.int64()))


def _of_clock(part: str, ticks: Array, bounds: tuple[int, int], second: int, out: Array) -> bool:
    day = np.int64(86_400 * second)
    if part == "date":
        out[:] = ticks // day
    elif part == "time":
        np.subtract(ticks, ticks // day * day, out=out)
        if second < 10**6:
            out *= 10**6 // second
    else:
        seconds, count = _CLOCK_PARTS[part]
        step = seconds * second
        whole = ticks // np.int64(step) if step > 1 else ticks
        if bounds[0] // step >= -(2**31) and bounds[1] // step < 2**31:  # NumPy divides these far faster
            whole = whole.astype(np.int32)
        above = whole // whole.dtype.type(count)
        above *= whole.dtype.type(count)
        out[:] = whole - above
    return True
