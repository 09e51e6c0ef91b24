"""Sampling of a stream: its timebase, its channels, and numbers of samples."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Field, Pulse, Schema, SegmentType, sample_dtype
from whimbrel.clock import INF, MIN_TIME, Timebase
from whimbrel.errors import KernelError, PlanError, SchemaError
from whimbrel.kernels.state import restore_attributes
from whimbrel.operators.rows.assumption_errors import shown_time
from whimbrel.plan import Properties, Sampling

Integers = np.ndarray[tuple[int], np.dtype[np.int64]]

_FAR_APART = 3
"""Ticks from one sample to the next, from which on a time that is a tick off is near one sample only."""


def sampling_of(known: Properties, where: str) -> Sampling:
    """The samples of a stream; an error if its events are not samples."""
    if known.sampling is None:
        raise PlanError("The stream must have samples at a fixed rate.", where=where,
                        hint="Add assume(rate=...), or read samples with from_samples().")
    return known.sampling


def channel_names(schema: Schema, keys: Iterable[str]) -> list[str]:
    """Columns whose values are samples; texts, lists and others have no place in a window and are left out."""
    return [field.name for field in schema if field.name not in keys and sample_dtype(field.type) is not None]


def check_channels(schema: Schema, keys: Iterable[str], where: str) -> None:
    """Raise an error if no column has samples, or one has segments."""
    others = [field for field in schema if field.name not in keys]
    for field in others:
        if isinstance(field.type, SegmentType):
            raise SchemaError(f"{field.name!r} has segments already, {field.type}.", where=where,
                              hint="Use samples() first.")
    if not channel_names(schema, keys):
        found = ", ".join(f"{field.name} ({field.type})" for field in others) or "no other column"
        raise SchemaError(f"Windows need a column of numbers, got {found}.", where=where,
                          hint="Keep or compute one with select() before.")


def segment_fields(schema: Schema, keys: Iterable[str], sampling: Sampling) -> list[Field]:
    """Keys as they are, channels as segments."""
    channels = channel_names(schema, keys)
    return [field if field.name in keys else Field(field.name, SegmentType(field.type, sampling.period, schema.unit))
            for field in schema if field.name in keys or field.name in channels]


@functools.lru_cache(maxsize=1024)
def timebase_from(period: Fraction, numerator: int, denominator: int) -> Timebase:
    """The timebase whose sample 0 is at this many ticks."""
    return Timebase(period, Fraction(numerator, denominator), "")


class TimedSignal:
    """A signal, whose state has the time of its sample 0 in integers."""

    def __init__(self, timebase: Timebase) -> None:
        self.timebase = timebase
        self.zero = timebase.phase.as_integer_ratio()

    def restore_state(self, parts: dict[str, Any]) -> None:
        restore_attributes(self, parts)
        self.timebase = timebase_from(self.timebase.period, *self.zero)


def first_timebase(batch: Batch, sampling: Sampling) -> Timebase:
    """The timebase of a signal, of which these are the first rows."""
    if isinstance(batch.times, Pulse) and not sampling.per:
        found = batch.times.timebase
        return found if found.period == sampling.period else Timebase(sampling.period, found.phase, "")
    zero = batch.time(0) if sampling.phase is None else sampling.phase
    return Timebase(sampling.period, Fraction(zero), "")


def numbered_runs(batch: Batch, timebase: Timebase, where: str) -> tuple[Integers, Integers, Integers]:
    """Runs of consecutive samples: the first number, the row, and how many; absent rows are not there."""
    if isinstance(batch.times, Pulse) and batch.times.timebase == timebase and batch.absent is None:
        first, row, count = (np.array([number]) for number in (batch.times.first, 0, len(batch)))
        return first, row, count
    if batch.absent is None and len(batch) > 1:
        begin = int(sample_numbers(batch.slice(0, 1), timebase, where)[0])
        if _consecutive(batch.sync, begin, timebase):
            return np.array([begin]), np.array([0]), np.array([len(batch)])
    numbers = sample_numbers(batch, timebase, where)
    return runs_of_numbers(numbers if batch.absent is None else numbers[~batch.absent])


def _consecutive(times: Integers, begin: int, timebase: Timebase) -> bool:
    """Whether these are the times of consecutive samples from a number on, which may be a tick off."""
    slack = 1 if timebase.period >= _FAR_APART else 0
    if abs(int(times[-1]) - timebase.time(begin + len(times) - 1)) > slack:
        return False
    off = timebase.times(np.arange(begin, begin + len(times))) - times
    return not off.any() or int(np.abs(off).max()) <= slack


def by_key(ids: Integers, batch: Batch) -> Iterator[tuple[int, Batch]]:
    """The rows of each key, in their order."""
    order = np.argsort(ids, kind="stable")
    ids, batch = ids[order], batch.take(order)
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    for start, stop in zip(starts.tolist(), np.append(starts[1:], len(ids)).tolist(), strict=True):
        yield int(ids[start]), batch.slice(start, stop)


def first_samples(timebase: Timebase, times: Integers | int) -> Integers:
    """The first sample at or after each time; the ends of time count as times that are far from any sample."""
    far = 2 * int(timebase.period) + 2
    low, high, phase = MIN_TIME + far, INF - far, int(timebase.phase)
    low, high = max(low, low + phase), min(high, high + phase)
    if isinstance(times, int | np.integer):
        return np.asarray(timebase.first_sample(min(max(int(times), low), high)))
    return timebase.first_samples(np.minimum(np.maximum(times, low), high))


def sample_numbers(batch: Batch, timebase: Timebase, where: str) -> Integers:
    """The number of each row on a timebase."""
    if isinstance(batch.times, Pulse) and batch.times.timebase == timebase:
        return np.arange(batch.times.first, batch.times.first + len(batch))
    times = batch.sync
    numbers = timebase.first_samples(times)
    early = timebase.times(numbers) != times
    if early.any():  # the time of sample 0 was rounded, so that others may be a tick off
        numbers = np.where(early, timebase.first_samples(times - 1), numbers)
        wrong = np.abs(timebase.times(numbers) - times) > 1
        if wrong.any():
            row = int(np.argmax(wrong))
            raise KernelError(f"The event at {shown_time(batch, int(times[row]))} is not at the time of a sample.",
                              where=where, hint="Use assume(rate=...) after steps that change times.")
    return np.asarray(numbers)


def runs_of_numbers(numbers: Integers) -> tuple[Integers, Integers, Integers]:
    """Runs of numbers that follow each other: the first number, the row, and how many."""
    rows = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1] + 1))
    return numbers[rows], rows, np.diff(np.append(rows, len(numbers)))
