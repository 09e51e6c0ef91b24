"""Hints for durations, calendar spans and time zones that are written as in other tools."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import WhimbrelError

LOG = wb.from_arrow({"at": [datetime(2024, 1, 1), datetime(2024, 1, 2)]}, time="at")
TICKS = wb.from_arrow({"at": [1, 2]}, time="at")
NO_UNIT = "Use an int, in ticks, or a time column of type timestamp."


@pytest.mark.parametrize(("call", "what", "hint"), [
    *((lambda size=size: LOG.tumbling_window(size), f"Cannot read '{size}'", f'Use "{near}".')
      for size, near in (("1month", "1mo"), ("1M", "1mo"), ("month", "1mo"), ("2 quarters", "2q"), ("1YE", "1y"),
                         ("1D", "1d"), ("1 day", "1d"), ("1 Hour 30 minutes", "1h30m"), ("5 mintues", "5m"),
                         ("10min", "10m"), ("90sec", "90s"), ("1week", "1w"))),
    (lambda: LOG.tumbling_window("5 parsecs"), "Cannot read '5 parsecs'", 'Use a number with a unit, such as "250ms"'),
    (lambda: LOG.tumbling_window("1mo1d"), "Cannot read '1mo1d'", "Use a number with a unit"),
    (lambda: LOG.tumbling_window("-1mo"), "must be positive, got '-1mo'", 'Use "1mo".'),
    (lambda: LOG.sliding_window("0mo"), "must be positive, got '0mo'", 'Use "1mo".'),
    (lambda: LOG.hopping_window("1.5 years", "1mo"), "must be whole, got '1.5 years'", 'Use "1y".'),
    (lambda: LOG.hopping_window("1month", "1d"), "Cannot read '1month'", 'Use "1mo".'),
    (lambda: LOG.sliding_window("1month"), "Cannot read '1month'", 'Use "1mo".'),
    (lambda: LOG.session_window("1month"), "must have a fixed length", "Use days"),
    (lambda: LOG.select(y=col.at.dt.floor("month")), "Cannot read 'month'", 'Use "1mo".'),
    (lambda: LOG.select(y=col.at.dt.floor("1 day")), "Cannot read '1 day'", 'Use "1d".'),
    (lambda: TICKS.sliding_window("1mo"), "has integer times", NO_UNIT),
    (lambda: TICKS.session_window("1mo"), "has integer times", NO_UNIT),
    (lambda: TICKS.tumbling_window("1month"), "has integer times", NO_UNIT),
    (lambda: LOG.tumbling_window("1d", timezone="Europe/Berln"), "'Europe/Berln'", 'Use "Europe/Berlin".'),
    (lambda: LOG.select(y=col.at.dt.to_timezone("berlin")), "'berlin'", 'Use "Europe/Berlin".'),
    (lambda: LOG.select(y=col.at.dt.replace_timezone("New York")), "'New York'", 'Use "America/New_York".'),
    (lambda: LOG.select(y=col.at.cast("timestamp[us, tz=Asia/Tokio]")), "'Asia/Tokio'", 'Use "Asia/Tokyo".'),
    (lambda: LOG.tumbling_window("1d", timezone="Mars"), "'Mars'", "Use a name of the IANA database"),
])
def test_a_near_name_is_in_the_hint(call: Callable[[], Any], what: str, hint: str) -> None:
    with pytest.raises(WhimbrelError) as caught:
        call()
    assert what in caught.value.what
    assert caught.value.hint.startswith(hint)
