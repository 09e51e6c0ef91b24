"""Times of samples: exact both ways, for any rate, for centuries, and as arrays."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from whimbrel.clock import INF, MIN_TIME, Timebase
from whimbrel.errors import PlanError

CENTURY_S = 100 * 366 * 86_400
RATES = {
    "44.1 kHz in ns": Fraction(10**9, 44_100),
    "24000/1001 Hz in ns": Fraction(10**9 * 1_001, 24_000),
    "24 MHz/1.001 in ns": Fraction(10**9 * 1_001, 24_000_000),
    "360 Hz in us": Fraction(10**6, 360),
    "48 kHz in us": Fraction(10**6, 48_000),
    "a measured rate, in ns": Fraction(10**13, 440_999_871),
    "parts per billion, in ns": Fraction(10**9, 44_100) * Fraction(10**9 + 7, 10**9),
    "one tick": Fraction(1),
    "a little more than one tick": 1 + Fraction(1, 10**17),
    "a year of ns, in thirds": Fraction(366 * 86_400 * 10**9 + 1, 3),
}


def exact_time(timebase: Timebase, sample: int) -> int:
    return floor(timebase.phase + sample * timebase.period + Fraction(1, 2))


@pytest.mark.parametrize("period", RATES.values(), ids=RATES)
@pytest.mark.parametrize("phase", [Fraction(0), Fraction(1, 3), Fraction(-7, 2), Fraction(10**18 + 1, 7)], ids=str)
def test_a_century_is_exact_both_ways(period: Fraction, phase: Fraction) -> None:
    timebase = Timebase(period, phase, "device")
    last = timebase.first_sample(CENTURY_S * 10**9)
    samples = np.unique(np.linspace(-last // 2, last, 997).astype(np.int64))
    times = timebase.times(samples)
    assert times.dtype == np.int64
    assert times.tolist() == [exact_time(timebase, sample) for sample in samples.tolist()]
    assert times.tolist() == [timebase.time(sample) for sample in samples.tolist()]
    assert timebase.first_samples(times).tolist() == samples.tolist()
    later = timebase.first_samples(times + 1)
    assert later.tolist() == [timebase.first_sample(time + 1) for time in times.tolist()]
    assert (later == samples + 1).all()


fractions = st.builds(Fraction, st.integers(-(2**62), 2**62), st.integers(1, 2**62))
periods = st.one_of(
    st.builds(lambda whole, part: whole + part, st.integers(1, 2**40), st.fractions(0, 1)),
    st.builds(lambda number, parts: max(Fraction(1), Fraction(number, parts)), st.integers(1, 2**90),
              st.integers(1, 2**70)))


@given(periods, fractions, st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
@example(Fraction(1), Fraction(1, 2), [0, INF - 2])
@example(1 + Fraction(1, 2**49), Fraction(0), [2**61, -(2**61)])
def test_times_are_those_of_fractions(period: Fraction, phase: Fraction, samples: list[int]) -> None:
    timebase = Timebase(period, phase, "device")
    wanted = {sample: exact_time(timebase, sample) for sample in samples}
    fit = [sample for sample in samples if MIN_TIME < wanted[sample] < INF]
    assert timebase.times(np.array(fit, np.int64)).tolist() == [timebase.time(sample) for sample in fit]
    assert [timebase.time(sample) for sample in fit] == [wanted[sample] for sample in fit]
    for sample in samples:
        if not MIN_TIME < wanted[sample] < INF:
            with pytest.raises(PlanError, match="must fit in int64"):
                timebase.times(np.array([sample]))


@given(periods, fractions, st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
@example(Fraction(10**13, 440_999_871), Fraction(0), [0, 1, 2**62, -(2**62)])
def test_the_first_sample_is_not_before_and_the_one_before_is(period: Fraction, phase: Fraction,
                                                             times: list[int]) -> None:
    timebase = Timebase(period, phase, "device")
    wanted = {time: ceil((time - phase - Fraction(1, 2)) / period) for time in times}
    fit = [time for time in times if MIN_TIME < wanted[time] < INF]
    found = timebase.first_samples(np.array(fit, np.int64)).tolist()
    assert found == [timebase.first_sample(time) for time in fit] == [wanted[time] for time in fit]
    for time, sample in zip(fit, found, strict=True):
        assert exact_time(timebase, sample) >= time > exact_time(timebase, sample - 1)


@given(periods, fractions, st.integers(-(10**6), 10**6))
def test_no_two_samples_share_a_tick(period: Fraction, phase: Fraction, sample: int) -> None:
    timebase = Timebase(period, phase, "device")
    assert exact_time(timebase, sample + 1) > exact_time(timebase, sample)


def test_halves_round_up() -> None:
    assert [Timebase(Fraction(5, 2), Fraction(0), "").time(sample) for sample in (-1, 0, 1, 2, 3)] == [-2, 0, 3, 5, 8]


def test_no_samples_have_no_times() -> None:
    timebase, none = Timebase(Fraction(5, 2), Fraction(0), ""), np.array([], np.int64)
    assert timebase.times(none).tolist() == timebase.first_samples(none).tolist() == []


def test_it_is_a_value() -> None:
    one, same = (Timebase(period, Fraction(0), "a") for period in (Fraction(4, 2), Fraction(2)))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Timebase(Fraction(2), Fraction(0), "b")
    with pytest.raises(AttributeError):
        one.period = Fraction(3)  # type: ignore[misc]


@pytest.mark.parametrize(("period", "phase", "part"), [
    (Fraction(99, 100), Fraction(0), "period must be at least one tick, got 99/100 ticks."),
    (Fraction(0), Fraction(0), "period must be at least one tick, got 0 ticks."),
    (Fraction(-2), Fraction(0), "got -2 ticks"),
    (2.5, Fraction(0), "period must be a Fraction or an int, in ticks, got 2.5."),
    (True, Fraction(0), "got True"),
    (Fraction(2), 0.5, "phase must be a Fraction or an int, in ticks, got 0.5."),
    (Fraction(2), "1s", "got '1s'"),
])
def test_what_is_refused(period: Any, phase: Any, part: str) -> None:
    with pytest.raises(PlanError) as error:
        Timebase(period, phase, "device")
    assert part in error.value.what
    assert error.value.hint


def test_whole_numbers_are_exact_too() -> None:
    assert Timebase(2, 1, "") == Timebase(Fraction(2), Fraction(1), "")  # type: ignore[arg-type]
