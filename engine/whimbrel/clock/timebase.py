"""Exact times of a periodic stream's samples, in integers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from numbers import Rational

import numpy as np
import numpy.typing as npt

from whimbrel.clock.ticks import INF, MIN_TIME
from whimbrel.errors import PlanError

Integers = npt.NDArray[np.int64]

_WORD = 2**64
_QUOTIENTS = 2**50
"""A quotient below this is off by two at most when float64 estimates it."""
_DIVISORS = 2**60
"""The remainder by a smaller divisor fits in int64, even where the quotient is off by two."""


@dataclass(frozen=True)
class Timebase:
    """Exact times of the samples of a periodic stream.

    Sample `i` is at the tick nearest to `phase + i * period`; halves round up. All arithmetic is in integers, so
    times do not drift, however long the stream lasts.

        tick      0    1    2    3    4    5    6    7
        i*5/2     0         2.5            5         7.5
        sample    0              1         2              3      (period 5/2, phase 0)

    Parameters
    ----------
    period : Fraction
        Ticks from one sample to the next, at least 1, so that no two samples share a tick.
    phase : Fraction
        Time of sample 0, in ticks. It may lie between two ticks.
    clock : str
        Name of the clock that counts the ticks. Timebases of different clocks are never equal.

    Raises
    ------
    PlanError
        If the period is shorter than one tick, or a period or phase is not an exact number. If a time or a sample
        number does not fit in int64.

    Notes
    -----
    With the common denominator `d` of period and phase, sample `i` is at ``(a + i*b) // d``. Here `b` is the period and
    `a` the phase plus half a tick, both in units of ``1/d``. The first sample at or after `t` is therefore
    ``ceil((t*d - a) / b)``.

    Examples
    --------
    A signal of 44.1 kHz with ticks of a nanosecond, and its sample after one hour:

    >>> from fractions import Fraction
    >>> audio = Timebase(Fraction(10**9, 44_100), Fraction(0), "recorder")
    >>> [audio.time(sample) for sample in range(4)]
    [0, 22676, 45351, 68027]
    >>> audio.first_sample(3_600 * 10**9), audio.time(158_760_000)
    (158760000, 3600000000000)
    >>> audio.first_samples(np.array([0, 1, 22_676, 22_677])).tolist()
    [0, 1, 1, 2]
    """

    period: Fraction
    phase: Fraction
    clock: str

    def __post_init__(self) -> None:
        for name in ("period", "phase"):
            value = getattr(self, name)
            if not isinstance(value, Rational) or isinstance(value, bool):
                raise PlanError(f"{name} must be a Fraction or an int, in ticks, got {value!r}.", where="Timebase()",
                                hint="Use an exact ratio, such as Fraction(10**9, 44_100).")
            object.__setattr__(self, name, Fraction(value))
        if self.period < 1:
            raise PlanError(f"period must be at least one tick, got {self.period} ticks.", where="Timebase()",
                            hint="Use a finer time unit, or a lower rate.")

    def time(self, sample: int) -> int:
        """The tick of a sample."""
        start, step, parts = self._ratio
        return _in_range((start + int(sample) * step) // parts, "time", f"sample {sample}")

    def first_sample(self, time: int) -> int:
        """The first sample at or after a tick."""
        start, step, parts = self._ratio
        return _in_range(-((start - int(time) * parts) // step), "sample number", f"tick {time}")

    def nearest_time(self, sample: int) -> int:
        """The tick of a sample, or the end of time that is nearest to it."""
        start, step, parts = self._ratio
        return max(MIN_TIME + 1, min(INF - 1, (start + sample * step) // parts))

    def times(self, samples: Integers) -> Integers:
        """The ticks of an array of samples."""
        _check_ends(self.time, samples)
        return _floor_ratio(samples, *self._ratio)

    def first_samples(self, times: Integers) -> Integers:
        """The first sample at or after each tick of an array."""
        _check_ends(self.first_sample, times)
        start, step, parts = self._ratio
        return _floor_ratio(times, step - 1 - start, parts, step)

    def nearest_samples(self, times: Integers) -> tuple[Integers, Integers]:
        """The sample nearest to each tick of an array.

        Also its distance in ticks. Between two samples, it is the later one.
        """
        after = self.first_samples(times)
        late, early = self.times(after) - times, times - self.times(after - 1)
        return np.where(early < late, after - 1, after), np.minimum(early, late)

    @functools.cached_property
    def _ratio(self) -> tuple[int, int, int]:
        """The integers `a`, `b` and `d`."""
        parts = lcm(self.period.denominator, self.phase.denominator)
        return int(self.phase * parts) + parts // 2, int(self.period * parts), parts


def _in_range(value: int, what: str, of: str) -> int:
    if not MIN_TIME < value < INF:
        raise PlanError(f"The {what} of {of} must fit in int64, got {value}.", where="Timebase",
                        hint="Use a coarser time unit, or an origin nearer to the data.")
    return value


def _floor_ratio(values: Integers, start: int, step: int, parts: int) -> Integers:
    """``(start + values * step) // parts``, where the result fits in int64 but the product may not.

    With ``values = whole * parts + rest`` the result is ``whole * step`` and the share of the rest. Sums and products
    that leave int64 wrap around and come back, as the result is in its range; only the last quotient must be exact.
    """
    step_whole, step_rest, start_whole, start_rest, step_wrapped = _quotients(start, step, parts)
    if parts == 1:
        return values * step_wrapped + start_whole
    if parts >= _DIVISORS or (step_rest >= _QUOTIENTS and parts * (step_rest + 1) > INF):
        return np.array([(start + value * step) // parts for value in values.tolist()], np.int64)
    whole, rest = np.divmod(values, parts)
    numerator = rest * step_rest + start_rest
    if parts * (step_rest + 1) <= INF:
        share = numerator // parts
    else:
        share = (rest * (step_rest / parts)).astype(np.int64)  # an estimate, which the remainder corrects
        share += (numerator - share * parts) // parts
    return whole * step_wrapped + rest * step_whole + share + start_whole


@functools.lru_cache(maxsize=1024)
def _quotients(start: int, step: int, parts: int) -> tuple[np.int64, int, np.int64, int, np.int64]:
    """Wholes and rests of the step and the start, and the step: what a product may leave out wraps."""
    (step_whole, step_rest), (start_whole, start_rest) = divmod(step, parts), divmod(start, parts)
    return _wrapped(step_whole), step_rest, _wrapped(start_whole), start_rest, _wrapped(step)


def _check_ends(convert: Callable[[int], int], values: Integers) -> None:
    """Raise an error where a result does not fit; those between the least and the greatest then fit, too."""
    if len(values):
        convert(int(values.min()))
        convert(int(values.max()))


def _wrapped(value: int) -> np.int64:
    """The integer modulo 2**64, as int64 arithmetic has it."""
    return np.int64((value + _WORD // 2) % _WORD - _WORD // 2)
