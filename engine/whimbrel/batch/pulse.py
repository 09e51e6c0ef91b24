"""Times of consecutive samples of a periodic stream, without an array."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np

from whimbrel.batch.column import frozen
from whimbrel.clock import Timebase

Times = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Pulse:
    """Times of consecutive samples, computed when they are read.

    Parameters
    ----------
    timebase : Timebase
    first, count : int
        Number of the first sample, and how many there are.

    Examples
    --------
    >>> from fractions import Fraction
    >>> ecg = Pulse(Timebase(Fraction(10**6, 360), Fraction(0), ""), 2, 4)
    >>> ecg.times().tolist(), ecg[1:3].times().tolist()
    ([5556, 8333, 11111, 13889], [8333, 11111])
    """

    timebase: Timebase
    first: int
    count: int
    _made: list[weakref.ref[Times]] = field(default_factory=list, compare=False, repr=False)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, rows: slice) -> Pulse:
        """Some of the samples, one after the other."""
        start, stop, _ = rows.indices(self.count)
        return Pulse(self.timebase, self.first + start, max(0, stop - start))

    @property
    def made(self) -> Times | None:
        """The array of these times, if it was read and is still in use."""
        return self._made[0]() if self._made else None

    def made_as(self, times: Times) -> Pulse:
        """The same, where an array holds these times already."""
        self._made[:] = [weakref.ref(times)]
        return self

    def times(self) -> Times:
        """The times in ticks, an array that is not kept here."""
        times = self.made
        if times is None:
            times = frozen(self.timebase.times(np.arange(self.first, self.first + self.count)))
            self.made_as(times)
        return times

    def time(self, row: int) -> int:
        """The time of one sample; a negative row counts from the end."""
        return self.timebase.time(self.first + row % self.count)

    @property
    def gaps(self) -> tuple[int, int]:
        """Least and most ticks between neighbors."""
        return int(self.timebase.period), ceil(self.timebase.period)

    def shifted(self, ticks: int) -> Pulse:
        """The same samples that many ticks later."""
        return Pulse(replace(self.timebase, phase=self.timebase.phase + ticks), self.first, self.count)

    def joined(self, other: Pulse) -> Pulse | None:
        """Both, if the other one continues where this one ends."""
        if self.timebase != other.timebase or self.first + self.count != other.first:
            return None
        return Pulse(self.timebase, self.first, self.count + other.count)
