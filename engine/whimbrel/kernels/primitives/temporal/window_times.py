"""Find times at which events enter or leave one window."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.clock.ticks import INF
from whimbrel.kernels.primitives.hashing.hash_table import index
from whimbrel.kernels.primitives.temporal.event_positions import advance, first_after
from whimbrel.kernels.primitives.temporal.function_times import FULL

Array = np.ndarray[Any, Any]


def window_change_times(starts: Array, ends: Array, lasts: int, begins: Array, lag: int, late: int, since: int,
                        limit: int, known: int, at: Array, until: Array, entered: Array, left: Array, marks: Array,
                        closing: Array, following: Array) -> int:
    """Write a row from each time at which an event enters or leaves to the next one; return the number.

    Parameters
    ----------
    starts, ends, lasts, begins, since, limit, known, at, until, marks, closing, following : array or int
        As in :func:`~whimbrel.kernels.primitives.temporal.function_times.change_times`.
    lag, late : int
        Events enter so many ticks after they start, and leave so many ticks after they end.
    entered, left : array of int64
        For each row the position after the last event that has entered, and after the last that has left.
    """
    rows, one = 0, begins.shape[0] == 2
    for key in range(begins.shape[0] - 1):
        begin, stop = begins[key], begins[key + 1]
        enter = index(first_after(starts, begin, stop, since - 1 - lag))
        leave = index(first_after(ends, begin, stop, since - 1 - late - lasts))
        entering, leaving = later(starts, enter, stop, lag), later(ends, leave, stop, late + lasts)
        marks[key], closing[key], is_open = rows, INF, False
        time = min(entering, leaving)
        while time < limit:
            if rows == at.shape[0]:
                if not one:
                    return FULL
                break
            enter, leave = index(enter + int(entering == time)), index(leave + int(leaving == time))
            entering, leaving = later(starts, enter, stop, lag), later(ends, leave, stop, late + lasts)
            if is_open:
                until[index(rows - 1)] = time
            elif closing[key] == INF:
                closing[key] = time
            is_open = enter > leave
            if is_open:
                at[index(rows)], entered[index(rows)], left[index(rows)] = time, enter, leave
                rows += 1
            time = min(entering, leaving)
        if is_open:
            until[rows - 1] = time if time < known else INF
        following[key] = time
    marks[begins.shape[0] - 1] = rows
    return rows


def window_multiples(starts: Array, ends: Array, lasts: int, begins: Array, lag: int, late: int, since: int, limit: int,
                     every: int, offset: int, at: Array, entered: Array, left: Array, marks: Array, following: Array
                     ) -> int:
    """Write the multiples of a duration at which an event is in the window; return the number.

    Parameters
    ----------
    starts, ends, lasts, begins, since, limit, every, offset, at, marks, following : array or int
        As in :func:`~whimbrel.kernels.primitives.temporal.function_times.multiples`.
    lag, late, entered, left : array or int
        As in :func:`window_change_times`.
    """
    rows, one = 0, begins.shape[0] == 2
    for key in range(begins.shape[0] - 1):
        begin, stop = begins[key], begins[key + 1]
        time = since + (offset - since) % every
        enter = first_after(starts, begin, stop, time - lag)
        leave = first_after(ends, begin, stop, time - late - lasts)
        marks[key] = rows
        while time < limit:
            enter = advance(starts, enter, stop, time - lag)
            leave = advance(ends, leave, stop, time - late - lasts)
            if enter > leave:
                if rows == at.shape[0]:
                    if not one:
                        return FULL
                    break
                at[index(rows)], entered[index(rows)], left[index(rows)] = time, enter, leave
                rows += 1
                time += every
            elif enter < stop:
                time = starts[enter] + lag
                time += (offset - time) % every
            else:
                time = INF
        following[key] = time
    marks[begins.shape[0] - 1] = rows
    return rows


def later(times: Array, event: int, stop: int, ticks: int) -> int:
    """So many ticks after the time of an event; INF for none."""
    if event >= stop or times[event] == INF:
        return INF
    return times[event] + ticks
