"""Positions of samples on an axis of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel.clock import Timebase
from whimbrel_workbench.frames.format_times import positions, tick_at

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SampleAxis:
    """From numbers of samples to axis positions, and back.

    Parameters
    ----------
    timebase : Timebase
        Times of the samples, in ticks.
    kind : pyarrow.DataType
        Type of the times.

    Examples
    --------
    >>> from fractions import Fraction
    >>> axis = SampleAxis(Timebase(Fraction(1_000, 3), Fraction(0), ""), pa.timestamp("us"))
    >>> axis.positions(np.array([0, 3, 4])).tolist(), axis.first_at(1.0), axis.first_at(1.2)
    ([0.0, 1.0, 1.333], 3, 4)
    """

    timebase: Timebase
    kind: pa.DataType

    @property
    def calendar(self) -> bool:
        return bool(pa.types.is_timestamp(self.kind))

    @property
    def zone(self) -> str | None:
        return self.kind.tz if self.calendar else None

    def positions(self, samples: Integers) -> Floats:
        """Where samples stand."""
        ticks = pa.array(self.timebase.times(np.asarray(samples, np.int64)))
        return positions(pa.chunked_array([ticks.cast(self.kind) if self.calendar else ticks]))

    def first_at(self, position: float) -> int:
        """The first sample at or after a position."""
        return self.timebase.first_sample(tick_at(position, self.kind))

    def nearest(self, ticks: Integers) -> Integers:
        """The samples whose times are nearest to ticks: those that lie on them, less a rounding error."""
        return self.timebase.first_samples(ticks - int(self.timebase.period) // 2)

    @property
    def per_s(self) -> float | None:
        """Samples in a second, where ticks have a unit."""
        if not self.calendar:
            return None
        return float({"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[self.kind.unit] / self.timebase.period)
