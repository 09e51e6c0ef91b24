"""Windows of samples and ranges of signals (docs/semantics.md, windows of samples)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import floor
from typing import Any

from whimbrel.errors import KernelError
from whimbrel.testing.oracle.events import INF, Event, Payload, Time

Signal = dict[int, Payload]
"""The payload of each sample, by its number."""


def sample_time(number: int, period: Fraction, zero: Time) -> Time:
    """Sample `i` is at ``zero + i * period``, rounded, halves up."""
    return zero + floor(number * period + Fraction(1, 2))


def first_sample(time: Time, period: Fraction, zero: Time) -> int:
    """The first sample at or after a time."""
    number = floor((time - zero) / period) - 2
    while sample_time(number, period, zero) < time:
        number += 1
    return number


def signals(facts: Iterable[Event], period: Fraction, phase: Time | None,
            per: Sequence[str]) -> dict[tuple[Any, ...], tuple[Time, Signal]]:
    """The samples of each key, and the time of its sample 0."""
    found: dict[tuple[Any, ...], tuple[Time, Signal]] = {}
    for start, _, payload in sorted(facts, key=lambda event: event[0]):
        zero, signal = found.setdefault(tuple(payload[name] for name in per), (start if phase is None else phase, {}))
        signal[first_sample(start, period, zero)] = payload
    return found


def segment(signal: Signal, name: str, first: int, stop: int) -> dict[str, Any]:
    """The samples of a channel; None where one is missing."""
    return {"index": first, "samples": [signal.get(number, {}).get(name) for number in range(first, stop)]}


def runs(signal: Signal) -> list[tuple[int, int]]:
    """Longest ranges [first, stop) of numbers of samples that are all there."""
    found: list[tuple[int, int]] = []
    for number in sorted(signal):
        if found and found[-1][1] == number:
            found[-1] = found[-1][0], number + 1
        else:
            found.append((number, number + 1))
    return found


def rewindow(facts: Iterable[Event], period: Fraction, size: int | None, hop: int | None = None, *,
             phase: Time | None = None, per: Sequence[str] = (), gaps: str = "skip", fill: Any = None,
             label: str = "start", short: str = "drop", limit: int | None = None) -> list[Event]:
    """Windows of `size` samples, counted from sample 0.

    "gap: windows that touch one are left out ("skip"), begin again after it ("split"), or are filled ("fill").
    end of a signal: a last short window is left out; short="keep" keeps it. Without a size maximal runs."
    """
    if size is None:
        size, gaps, short = limit or 10**6, "split", "keep"
    hop = hop or size
    out = []
    for key, (zero, signal) in signals(facts, period, phase, per).items():
        for first, stop in _windows(signal, size, hop, gaps, keep=short == "keep"):
            channels = [name for name in next(iter(signal.values())) if name not in per]
            row: dict[str, Any] = {name: segment(signal, name, first, stop) for name in channels}
            if gaps == "fill":
                row["filled"] = max((part["samples"].count(None) for part in row.values()), default=0)
                for name in channels:
                    row[name]["samples"] = [fill if value is None else value for value in row[name]["samples"]]
            bounds = (first, stop) if label == "start" else (stop, stop + hop)
            start, end = (sample_time(number, period, zero) for number in bounds)
            out.append((start, end, dict(zip(per, key, strict=True)) | row))
    return out


def _windows(signal: Signal, size: int, hop: int, gaps: str, *, keep: bool) -> list[tuple[int, int]]:
    """Which windows there are."""
    whole = min(signal), max(signal) + 1
    found = []
    for begin, end in runs(signal) if gaps != "fill" else [whole]:
        origin = begin if gaps == "split" else 0
        grid = [origin + step * hop for step in range((begin - origin) // hop - 1, (end - origin) // hop + 2)]
        starts = [start for start in grid if begin <= start < end]
        complete = [(start, start + size) for start in starts if start + size <= end]
        short = [(start, end) for start in starts if start + size > end][:1]
        new = short and all(stop < end for _, stop in complete)
        found += complete + (short if keep and new and (gaps != "skip" or end == whole[1]) else [])
    return [(start, stop) for start, stop in found if any(number in signal for number in range(start, stop))]


def sync(events: Iterable[Event], facts: Iterable[Event], period: Fraction, *, phase: Time | None = None,
         per: Sequence[str] = (), before: int = 0, after: int | None = None, limit: int | None = None,
         gaps: str = "keep") -> list[Event]:
    """For each event the samples that begin in its range [start, end)."""
    known, out = signals(facts, period, phase, per), []
    for begin, end, payload in events:
        stop = end if after is None else begin + after
        start = begin - before
        stop = stop if limit is None else min(stop, start + limit)
        if stop == INF:
            raise KernelError("no end", where="sync", hint="")
        key = tuple(payload[name] for name in per)
        if key not in known:
            continue
        zero, signal = known[key]
        first, last = first_sample(start, period, zero), first_sample(stop, period, zero)
        there = sum(number in signal for number in range(first, last))
        if not there or (gaps == "skip" and there < last - first):
            continue
        channels = [name for name in next(iter(signal.values())) if name not in per]
        out.append((sample_time(first, period, zero), sample_time(last, period, zero),
                    payload | {name: segment(signal, name, first, last) for name in channels}))
    return out


def samples(facts: Iterable[Event], period: Fraction, per: Sequence[str] = ()) -> list[Event]:
    """Each sample of the segments once, unless it is missing in all of them."""
    out: list[Event] = []
    given: dict[tuple[Any, ...], Time] = {}
    for start, _, payload in sorted(facts, key=lambda event: event[0]):
        key = tuple(payload[name] for name in per)
        parts = {name: value for name, value in payload.items() if isinstance(value, dict)}
        index, size = next((part["index"], len(part["samples"])) for part in parts.values())
        zero = start - sample_time(index, period, 0)
        for at in range(size):
            time = sample_time(index + at, period, zero)
            values = {name: part["samples"][at] for name, part in parts.items()}
            if time >= given.get(key, -INF) and any(value is not None for value in values.values()):
                out.append((time, time + 1, payload | values))
        given[key] = max(given.get(key, -INF), sample_time(index + size, period, zero))
    return out


def zipped(left: Iterable[Event], right: Iterable[Event], per: Sequence[str] = ()) -> list[Event]:
    """Rows of equal lifetime and key, of which no side has two."""
    others = {(start, end, *(payload[name] for name in per)): payload for start, end, payload in right}
    return [(start, end, payload | others[start, end, *(payload[name] for name in per)])
            for start, end, payload in left if (start, end, *(payload[name] for name in per)) in others]
