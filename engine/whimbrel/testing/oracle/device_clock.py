"""Samples on the times of a reference clock (docs/semantics.md, windows of samples)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

from whimbrel.errors import KernelError
from whimbrel.testing.oracle.events import INF, Event, Time
from whimbrel.testing.oracle.sample_windows import first_sample

Pair = tuple[int, int, int]
"""The start of a pair, the number of a sample, and its time by the reference clock."""


def rates(pairs: list[Pair], period: Fraction, step: int | None) -> list[Fraction]:
    """Ticks for each sample on the line of each pair: those since the pair before, but for steps."""
    out = [period]
    for (_, last, before), (_, number, time) in pairwise(pairs):
        if number <= last or time <= before:
            raise KernelError("Clock pairs go back.", where="", hint="")
        expected = floor(before + (number - last) * out[-1] + Fraction(1, 2))
        rate = Fraction(time - before, number - last)
        stepped = step is not None and abs(time - expected) > step
        if not stepped and rate < 1:
            raise KernelError("More than one sample per tick.", where="", hint="")
        out.append(out[-1] if stepped else rate)
    return out


def on_clock(samples: Iterable[Event], pairs: Iterable[Event], period: Fraction, index: str, time: str, *,
             slew: Fraction, step: int | None = None, phase: Time | None = None) -> list[Event]:
    """Each sample at "the line of the last pair before it, and what is left of the error where it began to act"."""
    events = sorted(samples, key=lambda event: event[0])
    if not events:
        return []
    zero = events[0][0] if phase is None else phase
    due = sorted((int(start), row[index], row[time]) for start, _, row in pairs
                 if row[index] is not None and row[time] is not None)
    lines = list(zip(due, rates(due, period, step), strict=True))
    firsts = [first_sample(start + 1, period, zero) for start, _, _ in due]
    by_number = {first_sample(start, period, zero): (start, end, row) for start, end, row in events}
    out: list[Event] = []
    acting, begin, error = -1, 0, Fraction()
    each = period * slew / 1_000_000
    for number in range(min([*firsts, *by_number]), max([*firsts, *by_number]) + 1):
        for position in [at for at, first in enumerate(firsts) if first == number]:
            (_, of, at), rate = lines[position]
            line = at + (number - of) * rate
            wanted = floor(line + Fraction(1, 2))
            before = line if acting < 0 else _slewed(lines[acting], number - begin, number, error, each)
            expected = floor(before + Fraction(1, 2))
            error = Fraction(ceil(before * 2**20), 2**20) - line if expected != wanted else Fraction()
            if step is not None and abs(expected - wanted) > step:
                if wanted < expected:
                    raise KernelError("Samples would overlap.", where="", hint="")
                error = Fraction()
            acting, begin = position, number
        if acting >= 0 and number in by_number:
            start, end, row = by_number[number]
            moved = floor(_slewed(lines[acting], number - begin, number, error, each) + Fraction(1, 2))
            out.append((moved, INF if end == INF else moved + end - start, row))
    return out


def _slewed(line: tuple[Pair, Fraction], after: int, number: int, error: Fraction, slew: Fraction) -> Fraction:
    """The line, and what is left of an error after so many samples; a sample is at least a tick after another."""
    (_, of, at), rate = line
    each = min(slew, rate - 1) if error > 0 else slew
    left = max(Fraction(), abs(error) - after * each)
    return (left if error > 0 else -left) + at + (number - of) * rate
