"""Sample numbers of result rows, from their times."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Ticks
from whimbrel.batch.arrow import ticks_from_arrow
from whimbrel.clock import Rate, TickUnit, Timebase, sample_period
from whimbrel.errors import PlanError, SinkError


class SampleNumbers:
    """Numbers the samples of a result; the first row is sample 0.

    Parameters
    ----------
    schema : pyarrow.Schema
        start, end and a column for each channel.
    rate : int, float, str, Fraction or Decimal
    where : str
        The user's call, for errors.
    """

    def __init__(self, schema: pa.Schema, rate: Rate, where: str) -> None:
        type_ = schema.field("start").type
        self._type, self._where = type_, where
        unit: TickUnit = type_.unit if pa.types.is_timestamp(type_) else None
        if unit is None:
            raise PlanError("Sinks of samples need times with a unit, but this stream has integer times.", where=where,
                            hint="Use a stream of samples, such as wb.from_samples(...).")
        self.period = sample_period(rate, unit, where=where)
        self._timebase: Timebase | None = None
        self._last = -1

    def runs(self, starts: pa.Array) -> list[tuple[int, int, int]]:
        """First row, number of rows and sample number of each run of consecutive samples."""
        times, _ = ticks_from_arrow(starts)
        if not len(times):
            return []
        numbers = self._numbers(times)
        breaks = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
        self._last = int(numbers[-1])
        return [(begin, end - begin, int(numbers[begin])) for begin, end in pairwise(breaks)]

    def _numbers(self, times: Ticks) -> Ticks:
        if self._timebase is None:
            self._timebase = Timebase(self.period, Fraction(int(times[0])), "")
        numbers, distance = self._timebase.nearest_samples(times)
        # The first row of a run that was resumed may be rounded otherwise than that of the run before.
        wrong = (distance > min(1, (self.period.numerator - 1) // (2 * self.period.denominator))) | (
            np.diff(numbers, prepend=self._last) < 1)
        if wrong.any():
            row = int(wrong.argmax())
            raise SinkError(f"Each event must be a sample of its own, but the one at {self._shown(times[row])} is not.",
                            where=self._where,
                            hint="Check rate=, and write one signal; use wb.sinks.parquet(...) for other events.")
        return numbers

    def _shown(self, ticks: Any) -> Any:
        return pa.scalar(int(ticks)).cast(self._type).as_py()
