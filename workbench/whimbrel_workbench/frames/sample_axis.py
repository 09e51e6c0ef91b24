"""Positions of samples on an axis of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel.clock import Timebase
from whimbrel_workbench.frames.format_times import positions, tick_at

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_PART: Final = 1 << 16
_MIN_VISIBLE: Final = 4
"""Samples."""


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
        ends = [(first, min(first + _PART, len(ticks))) for first in range(0, len(ticks), _PART)]
        bounds = self._nearest(ticks[np.array(ends, np.int64).reshape(-1) - np.tile([0, 1], len(ends))])
        parts = []
        for (first, stop), number, last in zip(ends, bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
            part = ticks[first:stop]
            # Ascending times of so many samples are those of consecutive ones; a division per row takes much longer.
            follow = last - number == stop - first - 1 and bool((part[1:] > part[:-1]).all())
            parts.append(np.arange(number, last + 1) if follow else self._nearest(part))
        return np.concatenate(parts)

    def _nearest(self, ticks: Integers) -> Integers:
        return self.timebase.first_samples(ticks - int(self.timebase.period) // 2)

    @property
    def min_visible(self) -> float:
        """The shortest range of the axis to zoom to: some samples, and not less than positions can tell apart."""
        period = self.timebase.period
        per_position = {"s": 1e-3, "ms": 1.0, "us": 1e3, "ns": 1e6}[self.kind.unit] if self.calendar else 1.0
        return max(_MIN_VISIBLE * float(period) / per_position, 1e-3 if self.calendar else 1.0)

    @property
    def per_s(self) -> float | None:
        """Samples in a second, where ticks have a unit."""
        if not self.calendar:
            return None
        return float({"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[self.kind.unit] / self.timebase.period)
