"""Read integers and times of the bytes of a string column.

A loop decides on most texts and leaves the others open, which a slower function reads. Positions are unsigned: of
others numba asks whether they count from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

YES, NO, OPEN = 1, 0, 2
"""A value was read, the text has none, and somebody else must read it."""
SAFE_DIGITS = 18
"""Digits of which every integer is an int64."""

LITERAL, YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, FRACTION, OFFSET = 0, 256, 257, 258, 259, 260, 261, 262, 263
"""Steps of a format: numbers below 256 are bytes as they stand there."""


def read_integers(data: Array, offsets: Array, values: Array, state: Array) -> int:
    """Write decimal integers with or without a sign; returns how many texts are open."""
    left = 0
    for row in range(values.shape[0]):
        at, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        negative = at < stop and data[np.uint64(at)] == 45
        if at < stop and (data[np.uint64(at)] == 45 or data[np.uint64(at)] == 43):
            at += 1
        digits, value, worst = stop - at, np.uint64(0), np.uint64(0)
        while at < stop:
            digit = np.uint64(data[np.uint64(at)]) - np.uint64(48)
            worst = max(worst, digit)
            value = value * np.uint64(10) + digit
            at += 1
        values[row] = -np.int64(value) if negative else np.int64(value)
        if digits == 0 or worst > np.uint64(9):
            state[row] = NO
        elif digits > SAFE_DIGITS:
            state[row] = OPEN
            left += 1
        else:
            state[row] = YES
    return left


def read_times(data: Array, offsets: Array, steps: Array, per_second: int, years: Array, ticks: Array,
               state: Array) -> int:
    """Write the ticks since 1970 of texts in which each field has its full width; returns how many texts are open.

    Parameters
    ----------
    steps : array of int64
        Bytes and fields of the format.
    per_second : int
        Ticks of a second.
    years : array of int64
        The first and the last year that is read here.
    """
    left = 0
    for row in range(ticks.shape[0]):
        at, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        year, month, day = np.int64(1970), np.int64(1), np.int64(1)
        hour, minute, second, nanos, shift = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        right: Any = True
        for number in range(steps.shape[0]):
            step = steps[number]
            if step < 256:
                if at >= stop or data[np.uint64(at)] != step:
                    right = False
                    break
                at += 1
            elif step == FRACTION:
                digits = 0
                while at < stop and digits < 9 and 48 <= data[np.uint64(at)] <= 57:
                    nanos = nanos * 10 + np.int64(data[np.uint64(at)]) - 48
                    at += 1
                    digits += 1
                if digits == 0:
                    right = False
                    break
                while digits < 9:
                    nanos *= 10
                    digits += 1
            elif step == OFFSET:
                if at + 5 > stop or (data[np.uint64(at)] != 43 and data[np.uint64(at)] != 45):
                    right = False
                    break
                colon = 1 if data[np.uint64(at + 3)] == 58 else 0
                if at + 5 + colon > stop:
                    right = False
                    break
                hours, minutes = two_digits(data, at + 1), two_digits(data, at + 3 + colon)
                if not (0 <= hours <= 13 and 0 <= minutes <= 59):
                    right = False
                    break
                shift = (hours * 60 + minutes) * (60 if data[np.uint64(at)] == 43 else -60)
                at += 5 + colon
            else:
                width = 4 if step == YEAR else 2
                if at + width > stop:
                    right = False
                    break
                value = two_digits(data, at)
                if step == YEAR:
                    later = two_digits(data, at + 2)
                    value = value * 100 + later if value >= 0 and later >= 0 else -1
                at += width
                if value < 0:
                    right = False
                    break
                if step == YEAR:
                    year = value
                elif step == MONTH:
                    month = value
                elif step == DAY:
                    day = value
                elif step == HOUR:
                    hour = value
                elif step == MINUTE:
                    minute = value
                else:
                    second = value
        right = (right and at == stop and years[0] <= year <= years[1] and 1 <= month <= 12 and day >= 1
                 and hour < 24 and minute < 60 and second < 60)
        if right and day > 28:
            right = day <= days_of_month(year, month)
        if right:
            seconds = (days_since_1970(year, month, day) * 24 + hour) * 3600 + minute * 60 + second - shift
            ticks[row] = seconds * per_second + nanos * per_second // 1_000_000_000
            state[row] = YES
        else:
            ticks[row], state[row] = 0, OPEN
            left += 1
    return left


def two_digits(data: Array, at: Any) -> Any:
    """The number of two digits; below 0 where a byte is none."""
    tens, ones = np.int64(data[np.uint64(at)]) - 48, np.int64(data[np.uint64(at + 1)]) - 48
    return tens * 10 + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else np.int64(-1000)


def days_of_month(year: Any, month: Any) -> int:
    """How many days a month has."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def days_since_1970(year: Any, month: Any, day: Any) -> Any:
    """Days of the Gregorian calendar since 1970, for years from 0.

    The year is counted from March, so that its last day is the one that only leap years have.
    """
    if month <= 2:
        year -= 1
        month += 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719_469
