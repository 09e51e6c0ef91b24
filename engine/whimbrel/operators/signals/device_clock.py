"""The clock of a device against a reference clock."""

from __future__ import annotations

import copy
import functools
from bisect import bisect_right
from fractions import Fraction
from math import ceil
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from whimbrel.clock import Timebase
from whimbrel.errors import KernelError
from whimbrel.operators.signals.sampling import Integers

_PARTS = 1 << 20
"""Times from which samples are slewed are kept to such a part of a tick, or errors of few ticks would never end."""


class ClockPiece(NamedTuple):
    """Samples from `first` on. Sample `number` is at `time` and so many parts; one follows the other at rise / run."""

    first: int
    number: int
    time: int
    part: int
    rise: int
    run: int

    @property
    def rate(self) -> Fraction:
        return Fraction(self.rise, self.run)

    def at(self, number: int) -> Fraction:
        """The exact time of a sample."""
        return self.time + Fraction(self.part, _PARTS) + (number - self.number) * self.rate

    @property
    def timebase(self) -> Timebase:
        return _timebase(*self[1:])


@functools.lru_cache(maxsize=256)
def _timebase(*of: int) -> Timebase:
    piece = ClockPiece(0, *of)
    return Timebase(piece.rate, piece.at(0), "")


class DeviceClock:
    """Times of samples by a reference clock.

    Parameters
    ----------
    period : Fraction
        Ticks from one sample to the next, before two pairs are known.
    slew : Fraction
        Most ticks by which the time of a sample approaches the line, for each sample.
    step : int, optional
        Errors above so many ticks are corrected at once. None: none is.
    time_type : pyarrow.DataType
        Type of times, for printing.
    where : str
        The user's call, for errors.

    Attributes
    ----------
    pieces : list of tuple
        Lines, in the order of samples. Each is valid up to the first sample of the next one.
    pair : tuple of int
        Number and time of the last pair; empty: there was none.
    rate : tuple of int
        Ticks for each sample on the line of the last pair, as a ratio.
    """

    def __init__(self, period: Fraction, slew: Fraction, step: int | None, time_type: pa.DataType, where: str) -> None:
        self.slew, self.step, self.time_type, self.where = slew, step, time_type, where
        self.pieces: list[tuple[int, ...]] = []
        self.pair: tuple[int, ...] = ()
        self.rate: tuple[int, ...] = period.as_integer_ratio()

    def fork(self) -> DeviceClock:
        clone = copy.copy(self)
        clone.pieces = list(self.pieces)
        return clone

    def add(self, first: int, number: int, time: int) -> None:
        """Take in a pair that changes the times of samples from `first` on."""
        rate = self._rate(number, time)
        line = ClockPiece(first, number, time, 0, *rate)
        pieces = [line]
        if self.pieces:
            before = self._piece(first)
            expected, wanted = before.timebase.time(first), line.timebase.time(first)
            if self.step is None or abs(expected - wanted) <= self.step:
                pieces = self._slewed(line, before)
            elif wanted < expected:
                raise KernelError(f"The clock pair of sample {number} moves sample {first} back, from "
                                  f"{self._shown(expected)} to {self._shown(wanted)}: samples would overlap.",
                                  where=self.where, hint="Use a larger step= to slew, or remove the pair.")
        while self.pieces and self.pieces[-1][0] >= first:
            self.pieces.pop()
        self.pieces += [tuple(each) for each in pieces]
        self.pair, self.rate = (number, time), rate

    def _rate(self, number: int, time: int) -> tuple[int, ...]:
        """Ticks for each sample from the last pair to this one; after a step they stay as they were."""
        if not self.pair:
            return self.rate
        last, before = self.pair
        if number <= last or time <= before:
            raise KernelError(f"Clock pairs go back: sample {last} at {self._shown(before)}, then sample {number} at "
                              f"{self._shown(time)}.", where=self.where,
                              hint="Remove the pair, or read pairs with a reorder latency.")
        expected = ClockPiece(last, last, before, 0, *self.rate).timebase.time(number)
        if self.step is not None and abs(time - expected) > self.step:
            return self.rate
        if time - before < number - last:
            raise KernelError(f"Clock pairs have more than one sample per tick: sample {last} at "
                              f"{self._shown(before)}, then sample {number} at {self._shown(time)}.", where=self.where,
                              hint="Use a finer unit of time.")
        return Fraction(time - before, number - last).as_integer_ratio()

    def _slewed(self, line: ClockPiece, before: ClockPiece) -> list[ClockPiece]:
        """The line, and what leads to it from the piece before."""
        first = line.first
        if before.timebase.time(first) == line.timebase.time(first):
            return [line]
        time, part = divmod(ceil(before.at(first) * _PARTS), _PARTS)  # up, so that times rise
        error = time + Fraction(part, _PARTS) - line.at(first)
        slew = min(self.slew, line.rate - 1) if error > 0 else self.slew  # at least a tick from sample to sample
        rate = line.rate - slew if error > 0 else line.rate + slew
        toward = ClockPiece(first, first, time, part, *rate.as_integer_ratio())
        return [toward, line._replace(first=first + ceil(abs(error) / slew))] if slew else [toward]

    def _piece(self, number: int) -> ClockPiece:
        return ClockPiece(*self.pieces[self._at(number)])

    def _at(self, number: int) -> int:
        """Which piece has a sample; -1: none."""
        return bisect_right(self.pieces, number, key=itemgetter(0)) - 1

    def _shown(self, ticks: int) -> object:
        return pa.scalar(ticks).cast(self.time_type).as_py()

    @property
    def first(self) -> int | None:
        """The first sample whose time is known."""
        return self.pieces[0][0] if self.pieces else None

    def time(self, number: int) -> int:
        """The time of a sample, as far as pairs are known."""
        return self._piece(number).timebase.time(number)

    def times(self, numbers: Integers) -> Integers:
        """The times of samples whose numbers rise, from the first one that is known."""
        pieces = [ClockPiece(*each) for each in self.pieces[self._at(int(numbers[0])):self._at(int(numbers[-1])) + 1]]
        cuts = np.searchsorted(numbers, [each.first for each in pieces[1:]])
        parts = zip(pieces, np.split(numbers, cuts), strict=True)
        return np.concatenate([piece.timebase.times(part) for piece, part in parts])

    def forget(self, number: int) -> None:
        """Forget what is before a sample. The piece that has it stays."""
        del self.pieces[:max(0, self._at(number))]
