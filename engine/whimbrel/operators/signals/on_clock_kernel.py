"""Kernel of on_clock: samples wait for the pairs before them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Schema, frozen
from whimbrel.clock import INF, MIN_TIME, ticks_per_second
from whimbrel.errors import KernelError
from whimbrel.kernels import Kernel
from whimbrel.operators.signals.device_clock import DeviceClock
from whimbrel.operators.signals.sampling import Integers, first_samples, first_timebase, sample_numbers, timebase_from
from whimbrel.plan import Sampling

_SAMPLES, _PAIRS = 0, 1


class OnClockKernel(Kernel):
    """Gives a sample when all pairs before it are known.

    Attributes
    ----------
    samples : list of Batch
        Samples that wait.
    pairs : list of array
        Event times, numbers and reference times of pairs that wait.
    zero : tuple of int
        The time of sample 0, as a ratio; empty: there was no sample.
    """

    def __init__(self, schema: Schema, pairs: Schema, index: str, time: str, sampling: Sampling, slew: Fraction,
                 step: int | None, where: str) -> None:
        self.sampling, self.where, self.columns = sampling, where, (index, time)
        self.scale = ticks_of(pairs.type_of(time), schema)
        self.clock = DeviceClock(sampling.period, slew, step, schema.time_type, where)
        self.samples: list[Batch] = []
        self.pairs = [np.empty(0, np.int64)] * 3
        self.zero: tuple[int, ...] = ()
        self.watermarks = [MIN_TIME, MIN_TIME]

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.samples)) + len(self.pairs[0])

    @property
    def buffered_bytes(self) -> int:
        return sum(batch.nbytes for batch in self.samples)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        if port == _PAIRS:
            self._take_in(batch)
            return []
        if not self.zero:
            self.zero = first_timebase(batch, self.sampling).phase.as_integer_ratio()
        self.samples.append(batch)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        if self.zero:
            return self._give()
        if self.watermarks[_SAMPLES] == INF:
            self.watermark = INF
        return []

    def _take_in(self, batch: Batch) -> None:
        """Pairs; one with a null is none."""
        columns = [batch.column(name) for name in self.columns]
        rows = np.flatnonzero(columns[0].validity() & columns[1].validity())
        number, time = (np.asarray(column.values)[rows].astype(np.int64) for column in columns)
        if len(time) and int(np.abs(time).max()) > INF // self.scale:
            raise KernelError("A reference time leaves int64.", where=self.where, hint="Use a coarser unit of time.")
        added = batch.sync[rows], number, time * self.scale
        self.pairs = [np.concatenate([held, new]) for held, new in zip(self.pairs, added, strict=True)]

    def _give(self) -> list[Batch]:
        timebase, known = timebase_from(self.sampling.period, self.zero[0], self.zero[1]), self.watermarks[_PAIRS]
        starts, numbers, times = self.pairs
        due = starts < known
        if due.any():
            order = np.lexsort((times[due], numbers[due], starts[due]))
            firsts = first_samples(timebase, starts[due][order] + 1)
            for pair in zip(firsts.tolist(), numbers[due][order].tolist(), times[due][order].tolist(), strict=True):
                self.clock.add(*pair)
            self.pairs = [each[~due] for each in self.pairs]
        out, held = list[Batch](), list[Batch]()
        for batch in self.samples:
            cut = len(batch) if known == INF else int(np.searchsorted(batch.sync, known, "left"))
            if cut:
                out += self._timed(batch.slice(0, cut), sample_numbers(batch.slice(0, cut), timebase, self.where))
            if cut < len(batch):
                held.append(batch.slice(cut, len(batch)))
        self.samples = held
        settled = min(self.watermarks)
        if settled == INF or (self.watermarks[_SAMPLES] == INF and not held):
            self.watermark = INF
        elif settled != MIN_TIME:
            number = int(first_samples(timebase, settled - 1))  # a sample may be at the tick before its time
            self.clock.forget(number)
            if self.clock.first is not None and number >= self.clock.first:
                self.watermark = max(self.watermark, self.clock.time(number))
        return out

    def _timed(self, batch: Batch, numbers: Integers) -> list[Batch]:
        """Samples at their times; those before the first pair have none."""
        first = self.clock.first
        cut = len(numbers) if first is None else int(np.searchsorted(numbers, first, "left"))
        if cut == len(numbers):
            return []
        batch, times = batch.slice(cut, len(batch)), frozen(self.clock.times(numbers[cut:]))
        ends = batch.ends
        if not isinstance(ends, int):
            ends = frozen(np.where(ends == INF, INF, times + np.where(ends == INF, 0, ends - batch.sync)))
        return [batch.having(sync=times, ends=ends)]


def ticks_of(type_: pa.DataType, schema: Schema) -> int:
    """Ticks of a stream in one of a reference time; 0: this type has none that are whole."""
    if not pa.types.is_timestamp(type_):
        return int(pa.types.is_int64(type_))
    return (ticks_per_second(schema.unit) or 0) // (ticks_per_second(type_.unit) or 1)
