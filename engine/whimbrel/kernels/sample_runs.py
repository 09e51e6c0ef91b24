"""Runs of consecutive samples, by key."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from whimbrel.batch import Pulse, frozen
from whimbrel.clock import MIN_TIME, Timebase
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.compile import Compiled
from whimbrel.kernels.primitives.signals.sample_runs import mark_runs

Array = np.ndarray[Any, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

_mark_runs = Compiled(mark_runs)
_NONE: Mask = frozen(np.empty(0, np.bool_))
_NO_TIMES = frozen(np.empty(0, np.int64))


class RunMarks(NamedTuple):
    """What is known of each row: an empty mask is False everywhere, and `numbers` are empty if they were not wanted."""

    fresh: Mask
    young: Mask
    numbers: Array


class SampleRuns:
    """Which samples follow one another, for each key.

        time     0    5    10   15   20
        in       a────b─────────c────d─      (period 5: nothing at 10)
        run      1────1─────────2────2─

    Parameters
    ----------
    period : Fraction, optional
        Ticks from one sample to the next. None: no sample is missing, whatever the times are.
    phase : int, optional
        Time of sample 0. None: the first row of each key.
    keyed : bool
        Whether there are several keys. Otherwise all rows have the number 0.

    Attributes
    ----------
    zero, sample, tick, rest : array of int64
        For each key the time of sample 0, the number of the last sample, and its exact time in ticks and parts of one.
    age : array of int64
        For each key the samples of its current run.
    """

    def __init__(self, period: Fraction | None, phase: int | None = None, *, keyed: bool = True) -> None:
        self.period, self.phase, self.keyed = period, phase, keyed
        self.parts = 0 if period is None else 2 * period.denominator
        self.ratio = 0 if period is None else int(period * self.parts)
        self.step, self.step_rest = (0, 0) if period is None else divmod(self.ratio, self.parts)
        self.zero = self.sample = self.tick = self.rest = self.age = np.empty(0, np.int64)

    def grow(self, groups: int) -> None:
        """Grow the state to this many keys."""
        if groups > len(self.age):
            self.age = extend(self.age, groups, 0)
            self.zero, self.sample, self.tick, self.rest = (
                extend(each, groups, MIN_TIME) for each in (self.zero, self.sample, self.tick, self.rest))

    def mark(self, times: Array | Pulse, groups: Array, hidden: Mask, broken: Mask,
             settle: int = 0, *, numbered: bool = False) -> RunMarks:
        """Mark rows that begin a run, and rows among the first `settle` of their run.

        Parameters
        ----------
        times : array or Pulse
        groups : array of int
            Numbers of keys.
        hidden, broken : array of bool
            Rows to leave out, and rows that count as missing samples; empty: none.
        settle : int
        numbered : bool
            Whether the numbers of samples are wanted.
        """
        self._add_keys(times, groups, hidden)
        consecutive = self.period is None or isinstance(times, Pulse)
        if consecutive and not self.keyed and not len(hidden) and not len(broken):
            return self._mark_consecutive(times, len(groups), settle, numbered)
        fresh, young = np.zeros(len(groups), np.bool_), np.zeros(len(groups), np.bool_)
        at = _NO_TIMES if self.period is None else frozen(times.times() if isinstance(times, Pulse) else times)
        numbers = np.zeros(len(groups) if numbered else 0, np.int64)
        self._mark(groups, at, hidden, broken, settle, fresh, young, numbers)
        return RunMarks(frozen(fresh), frozen(young) if settle else _NONE, frozen(numbers))

    def _mark(self, groups: Array, times: Array, hidden: Mask, broken: Mask, settle: int, fresh: Mask, young: Mask,
              numbers: Array) -> None:
        _mark_runs(frozen(groups), times, hidden, broken, self.step, self.step_rest, self.parts, settle, self.sample,
                   self.tick, self.rest, self.age, fresh, young, numbers)

    def _mark_consecutive(self, times: Array | Pulse, rows: int, settle: int, numbered: bool) -> RunMarks:
        """The same of rows without a key that are consecutive samples: only the first one need be looked at."""
        if not rows:
            return RunMarks(_NONE, _NONE, _NO_TIMES)
        age = int(self.age[0])
        if age > settle and (not isinstance(times, Pulse) or self.period is None or times.time(0) == self.next_time(0)):
            self.age[0] = age + rows
            if self.period is not None:
                self._set(0, int(self.sample[0]) + rows)
            return RunMarks(_NONE, _NONE, self._numbers(rows, numbered))
        first = np.zeros(1, np.bool_)
        at = np.array([times.time(0)]) if isinstance(times, Pulse) and self.period is not None else _NO_TIMES
        self._mark(np.zeros(1, np.int64), frozen(at), _NONE, _NONE, 0, first, np.zeros(1, np.bool_),
                   np.zeros(0, np.int64))
        young = _NONE
        if self.age[0] <= settle:
            young = frozen(np.arange(self.age[0], self.age[0] + rows) <= settle)
        self.age[0] += rows - 1
        if self.period is not None:
            self._set(0, int(self.sample[0]) + rows - 1)
        fresh = _NONE
        if first[0]:
            fresh = np.zeros(rows, np.bool_)
            fresh[0] = True
        return RunMarks(frozen(fresh), young, self._numbers(rows, numbered))

    def _numbers(self, rows: int, wanted: bool) -> Array:
        """The numbers of the last samples of the one key."""
        return frozen(np.arange(self.sample[0] - rows + 1, self.sample[0] + 1)) if wanted else _NO_TIMES

    def _add_keys(self, times: Array | Pulse, groups: Array, hidden: Mask) -> None:
        """Sample 0 of a new key is its first row, unless the phase is known."""
        if self.period is None or not len(groups):
            return
        if not self.keyed and self.zero[0] != MIN_TIME:
            return
        rows = np.flatnonzero(self.zero[groups] == MIN_TIME)
        if not len(rows):
            return
        if len(hidden):
            rows = rows[~hidden[rows]]
        keys, first = np.unique(groups[rows], return_index=True)
        timebase = Timebase(self.period, Fraction(), "")
        for key, row in zip(keys.tolist(), rows[first].tolist(), strict=True):
            time = times.time(row) if isinstance(times, Pulse) else int(times[row])
            self.zero[key] = zero = time if self.phase is None else self.phase
            self._set(key, timebase.first_sample(time - zero) - 2)  # of a run before, as it were

    def _set(self, key: int, sample: int) -> None:
        """The last sample of a key."""
        assert self.period is not None
        whole, rest = divmod(sample * self.ratio + self.parts // 2, self.parts)
        self.sample[key], self.tick[key], self.rest[key] = sample, int(self.zero[key]) + whole, rest

    def ended(self, watermark: int) -> Mask:
        """The keys whose next sample is missing, as no row before a time can follow."""
        known = self.sample != MIN_TIME
        carry = self.rest + self.step_rest >= self.parts
        return known & (np.where(known, self.tick, 0) + self.step + carry < watermark)

    def next_time(self, key: int) -> int:
        """When the next sample of a key is."""
        return int(self.zero[key]) + ((int(self.sample[key]) + 1) * self.ratio + self.parts // 2) // self.parts

    def fork(self) -> SampleRuns:
        clone = copy.copy(self)
        for name in ("zero", "sample", "tick", "rest", "age"):
            setattr(clone, name, getattr(self, name).copy())
        return clone
