"""Days and parts of the clock of many times in one pass.

Quotients are found in double precision and put right by one. This is exact for ticks within 2**52, and takes wide
registers, which have no division of integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def write_days(ticks: Array, last: int, day: float, out: Array) -> bool:
    """Write how many whole days of so many ticks have passed; whether all ticks are at most `last` from 0."""
    per_tick = 1.0 / day
    far = False
    for row in range(ticks.shape[0]):
        tick = ticks[row]
        far |= (tick < -last) | (tick > last)
        days = np.floor(np.float64(tick) * per_tick)
        rest = np.float64(tick) - days * day
        days = days - 1.0 if rest < 0.0 else days
        days = days + 1.0 if rest >= day else days
        out[row] = np.int32(days)
    return not far


def write_parts(ticks: Array, last: int, larger: float, smaller: float, out: Array) -> bool:
    """Write how many whole smaller parts of the larger one have passed; whether all ticks are at most `last` from 0."""
    per_larger, per_smaller = 1.0 / larger, 1.0 / smaller
    far = False
    for row in range(ticks.shape[0]):
        tick = ticks[row]
        far |= (tick < -last) | (tick > last)
        rest = np.float64(tick)
        rest -= np.floor(rest * per_larger) * larger
        rest = rest + larger if rest < 0.0 else rest
        rest = rest - larger if rest >= larger else rest
        parts = np.floor(rest * per_smaller)
        left = rest - parts * smaller
        parts = parts - 1.0 if left < 0.0 else parts
        parts = parts + 1.0 if left >= smaller else parts
        out[row] = np.int64(parts)
    return not far
