"""Every way to write a duration, for every unit of a stream: exact ticks, or an error that says why."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from whimbrel.clock import duration_seconds, duration_ticks
from whimbrel.errors import PlanError, WhimbrelError

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

EXACT: list[tuple[Any, Fraction]] = [
    ("90s", Fraction(90)), ("1h30m", Fraction(5400)), ("-2m", Fraction(-120)), ("1w", Fraction(604_800)),
    ("1500ns", Fraction(1500, 10**9)), ("1.5us", Fraction(1500, 10**9)), ("0.25s", Fraction(1, 4)), ("0s", Fraction(0)),
    (timedelta(days=1, microseconds=5), 86_400 + Fraction(5, 10**6)), (timedelta(-1), Fraction(-86_400)),
    *((np.timedelta64(3, unit), 3 * seconds) for unit, seconds in (
        ("W", Fraction(604_800)), ("D", Fraction(86_400)), ("h", Fraction(3_600)), ("m", Fraction(60)),
        ("s", Fraction(1)), ("ms", Fraction(1, 10**3)), ("us", Fraction(1, 10**6)), ("ns", Fraction(1, 10**9)),
        ("ps", Fraction(1, 10**12)), ("as", Fraction(1, 10**18)))),
    (np.timedelta64(4_000, "ps"), Fraction(4, 10**9)), (np.array([4], "m8[25s]")[0], Fraction(100)),
    (np.timedelta64(3_600 * 10**9, "ns"), Fraction(3_600)),
    (pd.Timedelta(1500, "ns"), Fraction(1500, 10**9)), (pd.Timedelta("1h"), Fraction(3_600)),
    (pd.Timedelta("2s").as_unit("s"), Fraction(2)), (pd.Timedelta(-1, "ns"), Fraction(-1, 10**9)),
    *((pa.scalar(7, pa.duration(unit)), Fraction(7, per_second)) for unit, per_second in UNITS.items()),
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("value", "seconds"), EXACT, ids=lambda each: repr(each)[:40])
def test_a_duration_is_exact_or_refused(value: Any, seconds: Fraction, unit: Any) -> None:
    ticks = seconds * UNITS[unit]
    if ticks.denominator == 1:
        assert duration_ticks(value, unit) == ticks
        assert type(duration_ticks(value, unit)) is int
    else:
        with pytest.raises(PlanError, match="a whole number of ticks"):
            duration_ticks(value, unit)


@pytest.mark.parametrize("value", [value for value, _ in EXACT], ids=lambda each: repr(each)[:40])
def test_a_duration_with_a_unit_has_no_meaning_for_plain_integers(value: Any) -> None:
    with pytest.raises(PlanError, match="has integer times"):
        duration_ticks(value, None)


@pytest.mark.parametrize("unit", [*UNITS, None])
@pytest.mark.parametrize("value", [5, np.int64(5), np.int8(5), np.uint64(5), pa.scalar(5, pa.int32())])
def test_an_integer_is_in_ticks(value: Any, unit: Any) -> None:
    assert duration_ticks(value, unit) == 5


@pytest.mark.parametrize("unit", [*UNITS, None])
@pytest.mark.parametrize(("value", "part"), [
    (True, "got True"), (np.bool_(True), "must be"), (1.5, "got 1.5"), (np.float64(2), "must be"),
    (float("nan"), "must be"), (None, "got None"), ([1], "must be"), (pa.scalar(1.5), "must be"),
    (Fraction(1, 2), "must be"),
    (np.timedelta64("NaT", "s"), "missing"), (np.timedelta64("NaT"), "missing"), (pd.NaT, "must be|missing"),
    (pa.scalar(None, pa.duration("s")), "missing"), (pa.scalar(None, pa.int64()), "must be"),
    (np.timedelta64(5), "needs a unit"),
    (np.timedelta64(1, "M"), "must have a fixed length"), (np.timedelta64(1, "Y"), "must have a fixed length"),
    *((text, "must have a fixed length|has integer times")
      for text in ("1mo", "1 month", "2 months", "1y", "1 year", "3M", "1q", "Q", "YE")),
    *((text, "Cannot read|has integer times") for text in ("5 minutes", "", "1h 30", "--1h")),
    (2**63, r"below 2\*\*63 ticks"), (np.uint64(2**63), r"below 2\*\*63 ticks"),
], ids=repr)
def test_what_is_no_duration_is_refused_in_our_words(value: Any, part: str, unit: Any) -> None:
    with pytest.raises(PlanError, match=part) as caught:
        duration_ticks(value, unit, where="tumbling_window(...)")
    assert caught.value.hint
    assert caught.value.where == "tumbling_window(...)"


def test_too_long_for_the_unit() -> None:
    assert duration_ticks("100000w", "us") == 60_480_000_000 * 10**6
    with pytest.raises(PlanError, match=r"below 2\*\*63 ticks"):
        duration_ticks("100000w", "ns")


def test_months_and_years_come_with_what_works() -> None:
    with pytest.raises(PlanError) as caught:
        duration_ticks("1mo", "s")
    assert 'tumbling_window("1mo")' in caught.value.hint


@pytest.mark.parametrize(("value", "seconds"), [(2, 2.0), (0.5, 0.5), (np.float64(0.5), 0.5), ("50ms", 0.05),
                                                (timedelta(minutes=1), 60.0), (np.timedelta64(1, "h"), 3600.0),
                                                (pd.Timedelta(1500, "ns"), 1.5e-6)], ids=repr)
def test_waits_of_the_machine_are_durations_or_seconds(value: Any, seconds: float) -> None:
    assert duration_seconds(value) == seconds
    for wrong in (True, np.timedelta64(1, "M"), "soon", np.timedelta64("NaT")):
        with pytest.raises(WhimbrelError):
            duration_seconds(wrong)
