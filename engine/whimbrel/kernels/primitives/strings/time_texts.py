"""Write the texts of times whose fields have fixed widths."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.strings.text_parsers import (
    DAY,
    FRACTION,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    YEAR,
)

Array = np.ndarray[Any, Any]


def write_times(ticks: Array, per_second: int, steps: Array, texts: Array) -> None:
    """Write a text of the same width for each time, end to end, for years of four digits.

    Parameters
    ----------
    ticks : array of int64
        Times since 1970 on the clock to be written.
    per_second : int
        Ticks of a second.
    steps : array of int64
        Bytes and fields of the format, as :func:`~.text_values.read_times` takes them; a fraction has six digits.
    texts : array of uint8
    """
    at = 0
    known = np.int64(-1) << np.int64(62)
    year, month, day = np.int64(0), np.int64(0), np.int64(0)
    for row in range(ticks.shape[0]):
        seconds = ticks[row] // per_second
        rest = ticks[row] - seconds * per_second
        days = seconds // 86_400
        second = seconds - days * 86_400
        if days != known:
            known = days
            year, month, day = date_of(days)
        for number in range(steps.shape[0]):
            step = steps[number]
            if step < 256:
                texts[np.uint64(at)] = step
                at += 1
            elif step == YEAR:
                put_digits(texts, at, year // 100)
                put_digits(texts, at + 2, year % 100)
                at += 4
            elif step == FRACTION:
                micros = rest * 1_000_000 // per_second
                put_digits(texts, at, micros // 10_000)
                put_digits(texts, at + 2, micros // 100 % 100)
                put_digits(texts, at + 4, micros % 100)
                at += 6
            else:
                value = month
                if step == DAY:
                    value = day
                elif step == HOUR:
                    value = second // 3600
                elif step == MINUTE:
                    value = second // 60 % 60
                elif step == SECOND:
                    value = second % 60
                put_digits(texts, at, value)
                at += 2


def date_of(days: Any) -> Any:
    """The year, month and day of a day since 1970, for years from 0.

    Days are counted in years from March, so that the last day of a year is the one that only leap years have.
    """
    later = days + 719_468
    eras = later // 146_097
    rest = later - eras * 146_097
    years = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    rest -= 365 * years + years // 4 - years // 100
    months = (5 * rest + 2) // 153
    month = months + 3 if months < 10 else months - 9
    year = years + eras * 400 + (1 if month <= 2 else 0)
    return year, month, rest - (153 * months + 2) // 5 + 1


def put_digits(texts: Array, at: Any, number: Any) -> None:
    """Write a number below 100 as two digits."""
    tens = np.uint64(number) * np.uint64(205) >> np.uint64(11)
    texts[np.uint64(at)] = np.uint64(48) + tens
    texts[np.uint64(at + 1)] = np.uint64(48) + np.uint64(number) - tens * np.uint64(10)


WIDTHS = {YEAR: 4, MONTH: 2, DAY: 2, HOUR: 2, MINUTE: 2, SECOND: 2, FRACTION: 6}
"""Bytes of each field."""
