"""Kernel of filters with a finite impulse response."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema, frozen
from whimbrel.clock import INF
from whimbrel.expr import Expr
from whimbrel.kernels import Compiled, Kernel, KeyTable, SampleRuns
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.signals.fir import (
    NONE_OPEN,
    end_runs,
    fir_directly,
    gather_blocks,
    spread_results,
)
from whimbrel.operators.signals.row_results import RowResults
from whimbrel.operators.signals.sample_values import groups_of, samples_of
from whimbrel.operators.signals.transforms import scipy_fft
from whimbrel.plan import Sampling

Array = np.ndarray[Any, Any]

MAX_DIRECT_TAPS = 64
"""With more taps, FFTs are faster."""

_fir_directly, _gather, _end_runs, _spread = (Compiled(each) for each in (
    fir_directly, gather_blocks, end_runs, spread_results))
_CHUNK = 1024
"""Results that are summed up at once: they stay in the first cache."""
_JOB_VALUES = 1 << 19
"""About so many values are transformed at once."""
_NO_ORDER = frozen(np.empty(0, np.int64))


def transform_samples(taps: int) -> int:
    """Length of the FFTs for a filter of so many taps: a power of two, at least four times as long."""
    return 1 << max(10, (4 * taps - 1).bit_length())


def block_samples(taps: int) -> int:
    """Samples of a block for a filter of so many taps."""
    return transform_samples(taps) - taps + 1


@lru_cache(16)
def _spectrum(taps: bytes) -> Array:
    """The transform of the taps of a filter."""
    numbers = np.frombuffer(taps)
    found: Array = scipy_fft("fir()").rfft(numbers, transform_samples(len(numbers)))
    return found


class FirKernel(Kernel):
    """Filters runs of samples; rows wait for samples after them, and for the end of their block.

    Attributes
    ----------
    tails, tail_rows : array of float64 and int64
        For each key its last samples, or its current block and the samples before it, and the numbers of their rows.
    filled : array of int64
        For each key how many places of its block are passed.
    age : array of int64
        For each key how many samples its run has, or had before its block.
    open_row : array of int64
        For each key the number of the first row without a result.
    """

    def __init__(self, out_schema: Schema, schema: Schema, expr: Expr, taps: tuple[float, ...], settle: int, back: int,
                 nan: str, sampling: Sampling, keys: tuple[str, ...]) -> None:
        self.expr, self.settle, self.back, self.nan, self.columns = expr, settle, back, nan, keys
        self.taps = frozen(np.array(taps))
        self.history = len(taps) - 1
        self.block = block_samples(len(taps)) if len(taps) > MAX_DIRECT_TAPS else 0
        self.keys = KeyTable([schema.type_of(name) for name in keys])
        self.runs = SampleRuns(sampling.period, sampling.phase, keyed=bool(keys))
        self.waiting = RowResults(out_schema)
        self.tails, self.tail_rows = np.empty(0), np.empty(0, np.int64)
        self.filled = self.age = self.open_row = np.empty(0, np.int64)
        self.input_watermark = self.watermark
        if self.block:
            scipy_fft("fir() with more than 64 taps")

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        groups, hidden = groups_of(self.keys, [batch.column(name) for name in self.columns], len(batch))
        self._grow(max(1, len(self.keys)))
        values, broken = samples_of(self.expr, batch, keep_nan=self.nan == "keep")
        marks = self.runs.mark(batch.times, groups, hidden, broken, numbered=bool(self.block))
        order = frozen(np.argsort(groups, kind="stable")) if self.columns else _NO_ORDER
        row = self.waiting.add(batch)
        rows = (order, groups, hidden, broken, marks.fresh)
        if self.block:
            self._filter_blocks(rows, marks.numbers, values, row)
        else:
            self._filter_directly(rows, values, row)
        return self._give()

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.input_watermark = watermark
        waiting = self.open_row != NONE_OPEN
        ended = waiting if watermark == INF else waiting & self.runs.ended(watermark)
        keys = np.flatnonzero(ended)
        for start in range(0, len(keys), self._jobs):
            some = frozen(keys[start:start + self._jobs])
            if self.block:
                made = np.zeros(1, np.int64)
                buffers = self._buffers(len(some))
                _end_runs(some, self.history, self.block, self.tails, self.tail_rows, self.filled, self.age,
                          self.open_row, *buffers, made)
                self._transform(buffers, int(made[0]))
            self.open_row[some] = NONE_OPEN
        return self._give()

    @property
    def buffered_rows(self) -> int:
        return self.waiting.rows

    def _grow(self, groups: int) -> None:
        if groups <= len(self.age):
            return
        groups, width = max(groups, 2 * len(self.age)), self.history + self.block
        self.tails, self.tail_rows = extend(self.tails, groups * width, 0.0), extend(self.tail_rows, groups * width, -1)
        self.filled, self.age = extend(self.filled, groups, 0), extend(self.age, groups, 0)
        self.open_row = extend(self.open_row, groups, NONE_OPEN)
        self.runs.grow(groups)

    def _filter_directly(self, rows: tuple[Array, ...], values: Array, row: int) -> None:
        work, work_rows = np.empty(self.history + _CHUNK), np.empty(self.history + _CHUNK, np.int64)
        _fir_directly(*rows, values, self.taps, self.settle, self.back, row, self.tails, self.tail_rows, self.age,
                      self.open_row, work, work_rows, np.empty(_CHUNK), self.waiting.base, self.waiting.results,
                      self.waiting.valid)

    def _filter_blocks(self, rows: tuple[Array, ...], numbers: Array, values: Array, row: int) -> None:
        at, buffers = 0, self._buffers(len(values) // self.block + 2)
        while at < len(values):
            made = np.zeros(1, np.int64)
            at = int(_gather(at, *rows, numbers, values, self.history, self.block, self.back, row, self.tails,
                             self.tail_rows, self.filled, self.age, self.open_row, *buffers, made))
            self._transform(buffers, int(made[0]))

    @property
    def _jobs(self) -> int:
        """Blocks that are transformed at once."""
        return max(2, _JOB_VALUES // transform_samples(len(self.taps)))

    def _buffers(self, wanted: int) -> tuple[Array, Array, Array, Array]:
        jobs, width = min(self._jobs, wanted), self.history + self.block
        return (np.empty(jobs * width), np.empty(jobs * width, np.int64), np.empty(jobs, np.int64),
                np.empty(jobs, np.int64))

    def _transform(self, buffers: tuple[Array, ...], made: int) -> None:
        if not made:
            return
        fft, width, size = scipy_fft("fir()"), self.history + self.block, transform_samples(len(self.taps))
        blocks = buffers[0][:made * width].reshape(made, width)
        sums = fft.irfft(fft.rfft(blocks, size) * _spectrum(self.taps.tobytes()), size)
        _spread(frozen(sums.reshape(-1)), size, self.history, self.block, self.settle, self.back,
                *(frozen(each) for each in buffers[1:]), made, self.waiting.base, self.waiting.results,
                self.waiting.valid)

    def _give(self) -> list[Batch]:
        """The rows before the first one whose result is not known."""
        stop = min(int(self.open_row.min()) if len(self.open_row) else NONE_OPEN,
                   self.waiting.base + self.waiting.rows)
        out = self.waiting.take(stop)
        self.watermark = self.waiting.watermark(self.input_watermark)
        return out
