"""Take over the samples of each result once, by channel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel.batch import Column
from whimbrel.clock import MIN_TIME, Timebase
from whimbrel.plan import Sampling
from whimbrel_workbench.frames.format_times import ticks
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.frames.result import Floats, Result
from whimbrel_workbench.frames.sample_axis import SampleAxis
from whimbrel_workbench.frames.sample_trace import SampleTrace

Channel = tuple[str, str]
"""Key as words, and name of the column."""


ReadAgain = Callable[[int, int], pa.Table | None]
"""Reads the rows of a range of ticks; None where that is not possible."""

_PORTION: Final = 2_000_000


@dataclass(slots=True, eq=False)
class Hole:
    """Rows that were evicted unread: how many, between which ticks, and how many ticks to read at a time."""

    rows: int
    first: int
    stop: int
    portion: int


@dataclass(slots=True)
class SignalStore:
    """The samples of a run, as they were settled: values once, their extremes for good, and no times.

    Parameters
    ----------
    sampling : Sampling
        Of the result.
    values : tuple of str
        Columns of numbers.
    keys : tuple of str
        Columns that tell one signal from another.
    max_samples : int
        Most samples of a channel whose values stay in memory.
    max_channels : int
        Most channels; of more only the names are known.
    read : callable, optional
        Reads a range of ticks from the sources again.

    Attributes
    ----------
    traces : dict of Channel to SampleTrace
        The channels in the order in which they came.
    tail : dict of Channel to SampleTrace
        Provisional samples of the newest result.
    others : list of Channel
    unread : int
        Rows that were evicted before they were taken over.
    holes : list of Hole
        Where they are, if they can be read again.
    lock : threading.Lock
        Held while samples are taken over, and while they are drawn.
    """

    sampling: Sampling
    values: tuple[str, ...]
    keys: tuple[str, ...]
    max_samples: int
    max_channels: int
    read: ReadAgain | None = None
    traces: dict[Channel, SampleTrace] = field(default_factory=dict)
    tail: dict[Channel, SampleTrace] = field(default_factory=dict)
    others: list[Channel] = field(default_factory=list)
    axes: dict[str, SampleAxis] = field(default_factory=dict)
    unread: int = 0
    holes: list[Hole] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _known: int = 0
    _until: int = MIN_TIME
    _rearranged: int | None = None

    def take(self, result: Result) -> None:
        """Take over the rows that were settled since the last time, and the provisional ones."""
        with self.lock:
            if result.rearranged is None or result.rearranged != self._rearranged:
                # Rows stand elsewhere: the clock of a replay went back, or they were sorted.
                self._rearranged, self._known, self.unread = result.rearranged, 0, 0
                self.traces, self.others, self.holes, self._until = {}, [], [], MIN_TIME
            missed = max(0, result.forgotten - self._known)
            self.unread += missed
            self._known = max(self._known, result.forgotten)
            settled = result.forgotten + result.settled
            fresh = result.table.slice(self._known - result.forgotten, max(0, settled - self._known))
            if missed and len(fresh) and self.read is not None:
                stop = int(ticks(fresh.slice(0, 1))[0])
                self.holes.append(Hole(missed, self._until, stop, max(1, int(_PORTION * self.sampling.period))))
            self._add(fresh, self.traces)
            if len(fresh):
                self._until = int(ticks(fresh.slice(len(fresh) - 1))[0]) + 1
            self._known = max(self._known, settled)
            self.tail = {}
            self._add(result.table.slice(result.settled), self.tail)
            self._drop()

    def fill(self) -> bool:
        """Read a part of the newest hole again; whether there was one."""
        with self.lock:
            hole = self.holes[-1] if self.holes else None
        if hole is None or self.read is None:
            return False
        first = max(hole.first, hole.stop - hole.portion)
        table = self.read(first, hole.stop)
        with self.lock:
            if not self.holes or self.holes[-1] is not hole:
                return bool(self.holes)
            rows = 0 if table is None else min(len(table), hole.rows)
            if table is not None:
                self._add(table, self.traces)
                self._drop()
            self.unread -= rows
            hole.rows, hole.stop = hole.rows - rows, first
            hole.portion *= 1 if rows else 2
            if table is None or not hole.rows or first == hole.first:
                self.holes.pop()
            return True

    def read_values(self, channel: Channel, first: int, stop: int) -> Floats | None:
        """Samples of a range, read again and not kept; NaN where one is missing. None where that is not possible."""
        timebase = self.axes[channel[0]].timebase
        table = None if self.read is None else self.read(timebase.time(first), timebase.time(stop - 1) + 1)
        if table is None:
            return None
        traces: dict[Channel, SampleTrace] = {}
        with self.lock:
            self._add(table, traces)
        values = np.full(stop - first, np.nan)
        for place, piece in traces[channel].pieces(first, stop) if channel in traces else ():
            values[place - first:place - first + len(piece)] = piece
        return values

    def restore(self, table: pa.Table, first: int, last: int) -> None:
        """Take over dropped samples of a range of ticks again. Those of the last such range are forgotten."""
        with self.lock:
            for (name, _), trace in self.traces.items():
                timebase = self.axes[name].timebase
                trace.spare(timebase.first_sample(first), timebase.first_sample(last + 1))
            self._add(table, self.traces)
            self._drop()

    def _drop(self) -> None:
        for trace in self.traces.values():
            if trace.runs and trace.runs[-1][1] - trace.runs[0][0] > 2 * self.max_samples:
                trace.drop(trace.runs[-1][1] - self.max_samples)

    def axis(self, channel: Channel) -> SampleAxis:
        """Where the samples of a channel stand."""
        return self.axes[channel[0]]

    def _add(self, table: pa.Table, traces: dict[Channel, SampleTrace]) -> None:
        if not len(table):
            return
        times = ticks(table)
        named = labels(table, self.keys)
        for code, name in enumerate(named.names):
            rows = None if len(named.names) == 1 else np.flatnonzero(named.codes == code)
            starts = times if rows is None else times[rows]
            numbers = self._axis(name, table.schema.field("start").type, int(starts[0])).nearest(starts)
            for value in self.values:
                trace = self._trace((name, value), table.schema.field(value).type, traces)
                if trace is not None:
                    _fill(trace, numbers, *_numbers(table.column(value), rows, trace.dtype))

    def _axis(self, name: str, kind: pa.DataType, first: int) -> SampleAxis:
        if name not in self.axes:
            phase = first if self.sampling.phase is None else self.sampling.phase
            self.axes[name] = SampleAxis(Timebase(self.sampling.period, Fraction(phase), ""), kind)
        return self.axes[name]

    def _trace(self, channel: Channel, kind: pa.DataType, traces: dict[Channel, SampleTrace]) -> SampleTrace | None:
        if channel not in self.traces and channel not in self.others:
            known = self.traces.keys() | self.tail.keys() if traces is self.tail else self.traces.keys()
            if len(known | {channel}) > self.max_channels:
                self.others.append(channel)
        if channel in self.others:
            return None
        if channel not in traces:
            traces[channel] = SampleTrace(_dtype(kind))
        return traces[channel]


def _dtype(kind: pa.DataType) -> np.dtype[Any]:
    """The type that values of a column are kept in: their own if it is a number of NumPy."""
    try:
        found = np.dtype(kind.to_pandas_dtype())
    except (NotImplementedError, TypeError):
        return np.dtype(np.float64)
    return found if found.kind in "iu" or found in (np.dtype(np.float32), np.dtype(np.float64)) else np.dtype(
        np.float32 if found == np.dtype(np.float16) else np.float64)


def _numbers(column: pa.ChunkedArray, rows: NDArray[np.intp] | None,
             dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Values, and which of them are there; infinite ones are missing, as nothing can be drawn of them."""
    array = column.combine_chunks()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_decimal(array.type) or pa.types.is_float16(array.type):
        array = array.cast(pa.float64())
    part = Column.from_arrow(array)
    values, valid = part.values.astype(dtype, copy=False), part.valid
    if rows is not None:
        values, valid = values[rows], None if valid is None else valid[rows]
    if dtype.kind == "f" and np.isinf(values).any():
        values = np.where(np.isinf(values), np.nan, values).astype(dtype)
    return values, valid


def _fill(trace: SampleTrace, numbers: NDArray[np.int64], values: NDArray[Any],
          valid: NDArray[np.bool_] | None) -> None:
    """Hand samples to a trace, one stretch without gaps after the other."""
    if valid is not None:
        numbers, values = numbers[valid], values[valid]
    if not len(numbers):
        return
    if int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1 and (np.diff(numbers) == 1).all():
        trace.add(int(numbers[0]), values)
        return
    edges = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    for first, stop in pairwise(edges):
        trace.add(int(numbers[first]), values[first:stop])
