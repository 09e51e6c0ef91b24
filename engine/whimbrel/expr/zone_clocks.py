"""Show what clocks of time zones say, also after 2037."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.clock import ticks_per_second
from whimbrel.clock.calendar_grid import ARROW_UNTIL, instants, shown_by_clocks

_DAY: Final = 86_400
_LAST: Final = 2_932_896 * _DAY
"""Seconds from 1970 to the last day of the calendar of Python; later ones are left to Arrow."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def late_rows(times: Any) -> Any:
    """Rows of an array in a zone whose clock Arrow does not know, but Python does."""
    if times.type.tz in (None, "UTC") or not len(times):
        return np.empty(0, np.int64)
    seconds = _ticks(times) // (ticks_per_second(times.type.unit) or 1)
    return np.flatnonzero((seconds >= ARROW_UNTIL * _DAY) & (seconds < _LAST))


def local_times(times: Any) -> Any:
    """What the clock of the zone of a column shows, without a zone; a column without a zone as it is."""
    if not pa.types.is_timestamp(times.type) or times.type.tz is None:
        return times
    if isinstance(times, pa.Scalar):
        return local_times(pa.repeat(times, 1))[0]
    late = late_rows(times)
    shown = pc.local_timestamp(times)
    if not len(late):
        return shown
    unit = times.type.unit
    return _replaced(shown, late, shown_by_clocks(_ticks(times)[late], times.type.tz, unit))


def moments(walls: Any, zone: str, ambiguous: str) -> Any:
    """When clocks of a zone show times; the first moment after those that they skip."""
    if isinstance(walls, pa.Scalar):
        return moments(pa.repeat(walls, 1), zone, ambiguous)[0]
    found = pc.assume_timezone(walls, zone, ambiguous=ambiguous, nonexistent="latest")
    late = late_rows(found)
    if not len(late):
        return found
    unit = walls.type.unit
    shown = _ticks(walls)[late]
    first = instants(shown, zone, unit)
    if ambiguous == "latest":
        hour = np.int64((ticks_per_second(unit) or 1) * 3600)
        for later in (first + hour // 2, first + hour):
            first = np.where(shown_by_clocks(later, zone, unit) == shown, later, first)
    return _replaced(found, late, first)


def clock_moments(walls: Any, zone: str, ambiguous: str = "latest") -> Any:
    """When a clock of a zone shows times: of two moments the later one; one that it skips has the offset from before.

    This is the rule for all local times of users: of files, of SQL, and of expressions.

    >>> walls = pa.array([datetime(2024, 3, 31, 2, 30), datetime(2024, 10, 27, 2, 30)], pa.timestamp("s"))
    >>> print(pc.strftime(clock_moments(walls, "Europe/Berlin"), "%H:%M %Z").to_pylist())
    ['03:30 CEST', '02:30 CET']
    """
    if isinstance(walls, pa.Scalar):
        return clock_moments(pa.repeat(walls, 1), zone, ambiguous)[0]
    found = moments(walls, zone, ambiguous)
    at, shown = _ticks(found), _ticks(walls)
    skipped = np.flatnonzero(_ticks(local_times(found)) != shown)
    if not len(skipped):
        return found
    before = _ticks(local_times(pa.array(at[skipped] - 1).view(found.type)))
    return _replaced(found, skipped, at[skipped] + shown[skipped] - before - 1)


def written(times: Any, form: str, texts: Any) -> Any:
    """Texts of an array of times, of which those of late rows are written by the standard library, with a format."""
    texts = _with_seconds_of_offsets(times, form, texts)
    late = late_rows(times)
    if not len(late):
        return texts
    per_second, zone = ticks_per_second(times.type.unit) or 1, pa.lib.string_to_tzinfo(times.type.tz)
    seconds = (_ticks(times)[late] // per_second).tolist()
    made = pa.array([(_EPOCH + timedelta(seconds=each)).astimezone(zone).strftime(form) for each in seconds],
                    pa.string())
    mask = np.zeros(len(times), np.bool_)
    mask[late] = True
    return pc.replace_with_mask(texts, pa.array(mask), made)


def _with_seconds_of_offsets(times: Any, form: str, texts: Any) -> Any:
    """Texts of times in seconds whose ``%z`` has seconds, as in Python, where the offset has some."""
    parts = re.split("(%.)", form, flags=re.DOTALL)
    if "%z" not in parts:
        return texts
    offsets = _ticks(local_times(times)) - _ticks(times)
    for offset in np.unique(offsets[offsets % 60 != 0]).tolist():
        minutes, seconds = divmod(abs(offset), 60)
        shown = f"{'-' if offset < 0 else '+'}{minutes // 60:02}{minutes % 60:02}{seconds:02}"
        rows = offsets == offset
        made = pc.strftime(times.filter(pa.array(rows)), format="".join(shown if part == "%z" else part
                                                                        for part in parts))
        texts = pc.replace_with_mask(texts, pa.array(rows), made)
    return texts


def _ticks(times: Any) -> Any:
    return np.asarray(times.view(pa.int64()).fill_null(0))


def _replaced(times: Any, rows: Any, ticks: Any) -> Any:
    changed = _ticks(times).copy()
    changed[rows] = ticks
    return pc.if_else(times.is_valid(), pa.array(changed).view(times.type), pa.scalar(None, times.type))
