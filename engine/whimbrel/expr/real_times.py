"""Check the times that the C library reads of texts.

It takes days that a month lacks, and years of few digits.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.expr.time_texts import time_texts

_LONG_FORMS: Final = {"%D": "%m/%d/%y", "%F": "%Y-%m-%d", "%R": "%H:%M", "%T": "%H:%M:%S", "%e": "%d", "%h": "%b"}
_FULL_YEAR: Final = 1000


def doubtful_times(found: Any, form: str) -> Any:
    """A mask of times whose texts may be none of the format: early years, and days after those that a month lacks.

    >>> doubtful_times(pa.array(["2024-03-01", "2024-03-05", "0024-03-05"]).cast(pa.timestamp("s")), "%F").to_pylist()
    [True, False, True]
    """
    day, month = pc.day(found), pc.month(found)
    if re.search("%[zj]", form):  # times in UTC may lie a day earlier or later; a year may lack its day 366
        doubtful = pc.less_equal(day, 3)
    else:
        doubtful = pc.and_(pc.is_in(month, pa.array([3, 5, 7, 10, 12])),
                           pc.less_equal(day, pc.if_else(pc.equal(month, 3), 3, 1)))
    return pc.fill_null(pc.or_(doubtful, pc.less(pc.year(found), _FULL_YEAR)), pa.scalar(value=False))


def are_real(texts: Any, found: Any, form: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether texts are times of a format as the standard library reads it, where the C library found these.

    >>> texts = pa.array(["30.02.2024", "3.1.2024", "3.1.24"])
    >>> are_real(texts, pc.strptime(texts, "%d.%m.%Y", "s"), "%d.%m.%Y").tolist()
    [False, True, False]
    """
    whole = found.cast(pa.timestamp("s", found.type.tz), safe=False)
    alike = np.array(pc.equal(time_texts(whole, form), texts.cast(pa.string())))
    for row in np.flatnonzero(~alike).tolist():
        alike[row] = read_time(texts[row].as_py(), form) is not None
    return alike


def read_time(text: str, form: str) -> datetime | None:
    """The time of a text as the standard library reads it; None where it reads none."""
    for short, long in _LONG_FORMS.items():
        form = form.replace(short, long)
    try:
        return datetime.strptime(text.strip(), form)  # noqa: DTZ007 - its type has the zone
    except ValueError:
        return None
