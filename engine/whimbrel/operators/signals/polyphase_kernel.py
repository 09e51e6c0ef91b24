"""Kernel of polyphase resampling."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Pulse, Schema, frozen
from whimbrel.clock import INF, MIN_TIME, Timebase
from whimbrel.disorder import Sorter
from whimbrel.expr import Col
from whimbrel.kernels import Compiled, Kernel, KeyTable, SampleRuns
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.signals.polyphase import ENTRIES, FIRST, NEXT, NO_RUN, end_runs, resample_runs
from whimbrel.operators.signals.sample_values import groups_of, samples_of
from whimbrel.plan import Sampling
from whimbrel.plan.typed_aggregate import NO_MASK

Array = np.ndarray[Any, Any]

_resample, _end_runs = Compiled(resample_runs), Compiled(end_runs)
_NO_ORDER = frozen(np.empty(0, np.int64))
_RESULTS = 1 << 16
"""About so many results are made at once."""
_CROSSINGS = 10
"""Zero crossings of the filter on each side of its middle."""


def half_length(up: int, down: int) -> int:
    """Taps on each side of the middle one."""
    return _CROSSINGS * max(up, down)


@lru_cache(8)
def _taps(up: int, down: int) -> tuple[Array, Array]:
    """A sinc in a Kaiser window, whose gain is 1 after `up` - 1 zeros are put between samples.

    The taps come phase by phase, the last ones first, with the places where phases begin.
    """
    half, widest = half_length(up, down), max(up, down)
    taps = np.sinc(np.arange(-half, half + 1) / widest) * np.kaiser(2 * half + 1, 5.0)
    taps *= up / taps.sum()
    phases = [taps[phase::up][::-1] for phase in range(up)]
    return frozen(np.concatenate(phases)), frozen(np.append(0, np.cumsum(list(map(len, phases)))))


class PolyphaseKernel(Kernel):
    """Keeps the last samples of each key, and sorts results of several keys.

    Attributes
    ----------
    state, tails : array of int64 and float64
        For each key its state, as the primitive has it, and its last samples.
    """

    def __init__(self, out_schema: Schema, schema: Schema, up: int, down: int, period: Fraction, sampling: Sampling,
                 keys: tuple[str, ...]) -> None:
        self.out_schema, self.up, self.down, self.key_columns = out_schema, up, down, keys
        self.channels = tuple(name for name in out_schema.names if name not in keys)
        self.ratio = (period.numerator, period.denominator)
        self.history = 2 * half_length(up, down) // up + 2
        self.chunk = max(1, _RESULTS * down // up)
        self.keys = KeyTable([schema.type_of(name) for name in keys])
        self.runs = SampleRuns(sampling.period, sampling.phase, keyed=bool(keys))
        self.state, self.tails = np.empty(0, np.int64), np.empty(0)
        self.input_watermark = MIN_TIME
        self.done = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        groups, hidden = groups_of(self.keys, [batch.column(name) for name in self.key_columns], len(batch))
        self._grow(max(1, len(self.keys)))
        marks = self.runs.mark(batch.times, groups, hidden, NO_MASK, numbered=True)
        order = frozen(np.argsort(groups, kind="stable")) if self.key_columns else _NO_ORDER
        values = frozen(self._values(batch))
        work = np.empty((self.history + self.chunk) * len(self.channels))
        at, out = 0, list[Batch]()
        while at < len(batch):
            buffers = self._buffers(0)
            at = int(_resample(at, order, groups, hidden, marks.fresh, marks.numbers, values,
                               len(self.channels), *_taps(self.up, self.down), self.up, self.down, self.history,
                               self.chunk, self.state, self.tails, work, *buffers))
            out += self._made(buffers)
        return self._give(out)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.input_watermark, out = watermark, list[Batch]()
        opened = self.state.reshape(-1, ENTRIES)[:, FIRST] != NO_RUN
        keys = np.flatnonzero(opened if watermark == INF else opened & self.runs.ended(watermark))
        if len(keys):
            buffers = self._buffers(len(keys))
            _end_runs(frozen(keys), self.up, self.down, len(self.channels), self.state, *buffers)
            out = self._made(buffers)
        return self._give(out)

    @property
    def buffered_rows(self) -> int:
        return self.done.rows

    def _values(self, batch: Batch) -> Array:
        """The values of all channels, row by row; NaN where one is missing."""
        values = np.empty((len(batch), len(self.channels)))
        for channel, name in enumerate(self.channels):
            found, missing = samples_of(Col(name), batch)
            values[:, channel] = found
            if len(missing):
                values[missing, channel] = np.nan
        return values.reshape(-1)

    def _buffers(self, keys: int) -> tuple[Array, Array, Array, Array]:
        ends = half_length(self.up, self.down) // self.down + 3
        rows = keys * ends if keys else 2 * (self.chunk * self.up // self.down + ends)
        return (np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows * len(self.channels)),
                np.zeros(1, np.int64))

    def _made(self, buffers: tuple[Array, ...]) -> list[Batch]:
        """The results in some buffers."""
        made, channels = int(buffers[3][0]), len(self.channels)
        if not made:
            return []
        keys, samples = buffers[0][:made], buffers[1][:made]
        values = buffers[2][:made * channels].reshape(made, channels)
        columns = dict(zip(self.key_columns, self.keys.values(keys.astype(np.int32)), strict=True))
        for channel, name in enumerate(self.channels):
            valid = ~np.isnan(values[:, channel])
            type_ = self.out_schema.type_of(name)
            columns[name] = Column(type_, frozen(values[:, channel].astype(type_.to_pandas_dtype())),
                                   None if valid.all() else valid)
        ordered = tuple(columns[name] for name in self.out_schema.names)
        return [Batch(self.out_schema, self._times(keys, samples), 1, ordered)]

    def _times(self, keys: Array, samples: Array) -> Array | Pulse:
        """When results are; without an array where they follow one another."""
        period, zero = Fraction(*self.ratio), self.runs.zero
        if not self.key_columns and samples[-1] - samples[0] == len(samples) - 1:
            return Pulse(Timebase(period, Fraction(int(zero[0])), ""), int(samples[0]), len(samples))
        return frozen(Timebase(period, Fraction(), "").times(samples) + zero[keys])

    def _give(self, out: list[Batch]) -> list[Batch]:
        """Results in the order of time, and the time before which no further one can be."""
        state = self.state.reshape(-1, ENTRIES)
        keys = np.flatnonzero(state[:, FIRST] != NO_RUN)
        known = self.input_watermark
        if len(keys):
            times = Timebase(Fraction(*self.ratio), Fraction(), "").times(state[keys, NEXT]) + self.runs.zero[keys]
            known = min(known, int(times.min()))
        self.watermark = max(self.watermark, known)
        if not self.key_columns:
            return out
        for batch in out:
            self.done.add(batch)
        return self.done.release(known if known in (INF, MIN_TIME) else known - 1)

    def _grow(self, groups: int) -> None:
        before = len(self.state) // ENTRIES
        if groups > before:
            groups = max(groups, 2 * before)
            self.state = extend(self.state, groups * ENTRIES, NO_RUN)
            self.tails = extend(self.tails, groups * self.history * len(self.channels), np.nan)
            self.runs.grow(groups)
