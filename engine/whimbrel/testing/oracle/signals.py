"""Operators on samples, by their definitions over lists of numbers and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from whimbrel.testing.oracle.events import Event, Payload

Signal = list[tuple[int, Any]]
"""Numbers of samples in ascending order, with a value, or None for a sample without one."""

Run = list[float]
"""Values of samples that follow one another."""


def signals(facts: Iterable[Event], period: Fraction | int, of: Callable[[Payload], Any], *, phase: int = 0,
            keys: Sequence[str] = ()) -> list[tuple[list[Event], Signal]]:
    """The events of each key in the order of time, and their signal; events without a key are left out."""
    by_key: dict[Any, list[Event]] = {}
    for event in sorted(facts, key=lambda event: event[0]):
        if all(event[2][key] is not None for key in keys):
            by_key.setdefault(tuple(event[2][key] for key in keys), []).append(event)
    return [(events, [(round((start - phase) / Fraction(period)), of(payload)) for start, _, payload in events])
            for events in by_key.values()]


def runs(signal: Signal) -> list[list[int]]:
    """Positions of samples that follow one another: "gap, null and NaN: begins again"."""
    out: list[list[int]] = []
    previous: int | None = None
    for position, (number, value) in enumerate(signal):
        if value is None or value != value:  # noqa: PLR0124 - NaN
            previous = None
            continue
        if previous != number - 1:
            out.append([])
        out[-1].append(position)
        previous = number
    return out


def filtered(signal: Signal, of: Callable[[Run], list[float | None]]) -> list[float | None]:
    """A filter of each run; None for samples that are in none."""
    out: list[float | None] = [None] * len(signal)
    for run in runs(signal):
        for position, value in zip(run, of([signal[position][1] for position in run]), strict=True):
            out[position] = value
    return out


def iir(b: Sequence[float], a: Sequence[float], *, steady: bool = False, settle: int = 0,
        ) -> Callable[[Run], list[float | None]]:
    """The difference equation; steady: as if the first value had always been there, so the output had its gain."""
    def of(values: Run) -> list[float | None]:
        before = 0.0 if not steady else float(values[0])
        out_before = before * sum(b) / sum(a) if steady else 0.0
        out: list[float] = []
        for number in range(len(values)):
            forward = sum(each * (values[number - back] if back <= number else before) for back, each in enumerate(b))
            fed_back = sum(each * (out[number - back] if back <= number else out_before)
                           for back, each in enumerate(a) if back)
            out.append((forward - fed_back) / a[0])
        return [None if number < settle else value for number, value in enumerate(out)]
    return of


def fir(taps: Sequence[float], *, center: bool = False, settle: int | None = None,
        ) -> Callable[[Run], list[float | None]]:
    """The sum of products; a result that lacks a sample is None, or counts it as 0 from `settle` on."""
    def of(values: Run) -> list[float | None]:
        shift = len(taps) // 2 if center else 0
        out: list[float | None] = []
        for number in range(len(values)):
            newest = number + shift
            read = [values[newest - back] if 0 <= newest - back < len(values) else None for back in range(len(taps))]
            lacking = newest >= len(values) or (None in read if settle is None else number < settle)
            out.append(None if lacking else float(sum(
                tap * each for tap, each in zip(taps, read, strict=True) if each is not None)))
        return out
    return of


def with_column(facts: Iterable[Event], name: str, period: Fraction | int, of: Callable[[Payload], Any],
                function: Callable[[Run], list[float | None]], *, keys: Sequence[str] = ()) -> list[Event]:
    """The events with a filtered column; one without a key meets nothing."""
    facts = list(facts)
    out = [(start, end, payload | {name: None}) for start, end, payload in facts
           if any(payload[key] is None for key in keys)]
    for events, signal in signals(facts, period, of, keys=keys):
        out += [(start, end, payload | {name: value})
                for (start, end, payload), value in zip(events, filtered(signal, function), strict=True)]
    return out


def ranges(facts: Iterable[Event], period: int, of: Callable[[Payload], Any], on: float, *, off: float | None = None,
           hold: int = 0, shortest: int = 1, pad: int = 0, limit: int | None = None, forget: float = 1.0,
           startup: int = 0, keys: Sequence[str] = ()) -> list[Event]:
    """From the first sample above the threshold to the last; padded ranges that meet are one; a gap ends a range."""
    out: list[Event] = []
    for events, signal in signals(facts, period, of, keys=keys):
        found: list[list[int]] = []
        current: list[int] = []
        history: list[float] = []
        for position, (number, value) in enumerate(signal):
            start = events[position][0]
            missing = value is None or value != value  # noqa: PLR0124 - NaN
            if current and (missing or number != signal[position - 1][0] + 1):
                found.append(current)
                current = []
            if missing:
                continue
            if current and limit is not None and start - events[current[0]][0] >= limit:
                found.append(current)
                current, history = [], []
            above = on
            if startup:
                mean, variance = statistics(history, forget)
                above = mean + on * variance ** 0.5
            stays = above if startup or off is None else off
            if current:
                if value > stays:
                    current.append(position)
                    continue
                if position - current[-1] <= hold:
                    continue
                found.append(current)
                current = []
            elif len(history) >= startup and value > above:
                current = [position]
                continue
            if startup:
                history.append(value)
        if current:
            found.append(current)
        key = {name: events[0][2][name] for name in keys}
        merged: list[list[Any]] = []
        for each in found:
            count = each[-1] - each[0] + 1
            if count < shortest:
                continue
            last = events[each[-1]]
            begin, end = events[each[0]][0] - pad, max(last[0] + period, last[1]) + pad
            peak = max(float(signal[position][1]) for position in each)
            if merged and begin <= merged[-1][1]:
                merged[-1] = [merged[-1][0], max(end, merged[-1][1]), max(peak, merged[-1][2]), count + merged[-1][3]]
            else:
                merged.append([begin, end, peak, count])
        out += [(begin, end, key | {"peak": peak, "samples": count}) for begin, end, peak, count in merged]
    return out


def statistics(history: Sequence[float], forget: float) -> tuple[float, float]:
    """Mean and variance; each value has at least the weight of all before it together, or what forgetting leaves."""
    mean = variance = 0.0
    for number, value in enumerate(history):
        weight = max(1 - forget, 1 / (number + 1))
        variance = (1 - weight) * (variance + weight * (value - mean) ** 2)
        mean += weight * (value - mean)
    return mean, variance


def polyphase(facts: Iterable[Event], period: int, wanted: Fraction | int, of: Callable[[Payload], Any], name: str, *,
              keys: Sequence[str] = ()) -> list[Event]:
    """At each multiple of the wanted period inside a run: "the sum of the samples around it, weighted by a sinc"."""
    ratio = Fraction(period) / Fraction(wanted)
    widest = max(ratio.numerator, ratio.denominator)
    half = 10 * widest
    taps = [sinc(position / widest) * bessel(5 * (1 - (position / half) ** 2) ** 0.5)
            for position in range(-half, half + 1)]
    gain = ratio.numerator / sum(taps)
    out: list[Event] = []
    for events, signal in signals(facts, period, of, keys=keys):
        known = {number: None if value is None or value != value else value for number, value in signal}  # noqa: PLR0124
        key = {column: events[0][2][column] for column in keys}
        for run in runs([(number, 0) for number, _ in signal]):
            first, last = signal[run[0]][0], signal[run[-1]][0]
            for sample in range(first * period // int(wanted) - 1, last * period // int(wanted) + 2):
                position = sample * Fraction(wanted) / period
                if not first <= position <= last:
                    continue
                weights = {number: taps[int((position - number) * ratio.numerator) + half]
                           for number in range(first - 2 * half, last + 2 * half)
                           if abs((position - number) * ratio.numerator) <= half}
                read = {number: known.get(number) if first <= number <= last else None for number in weights}
                value = None if None in read.values() else gain * sum(
                    weight * float(read[number] or 0) for number, weight in weights.items())
                time = int(sample * Fraction(wanted) + Fraction(1, 2) // 1)
                out.append((time, time + 1, key | {name: value}))
    return out


def sinc(position: float) -> float:
    """``sin(pi x) / (pi x)``."""
    return 1.0 if position == 0 else math.sin(math.pi * position) / (math.pi * position)


def bessel(value: float) -> float:
    """The modified Bessel function of order 0, by its series."""
    return sum((value / 2) ** (2 * term) / math.factorial(term) ** 2 for term in range(40))
