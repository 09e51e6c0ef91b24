"""Sampling of rows by the rate at which they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic_ns
from typing import Any

import numpy as np

from whimbrel.batch import Schema
from whimbrel.clock import show_ticks
from whimbrel.kernels import Kernel
from whimbrel.run.desk.shedding.shed import ShedRows
from whimbrel.run.desk.shedding.weighted_sample import Array, WeightedSample, WeightedSampleKernel

Begin = tuple[int, int]
"""The number of the first row of a period, and the number of the period."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrivalSample(WeightedSample):
    """Keep about so many rows of each period of the wall clock, and add their weights.

        arrival  0s             1s
        in       a    b    c    d      (2 rows in each second)
        out      a    b         d      (weights 1, 1 and 1.5)

    The period is in nanoseconds.

    Notes
    -----
    As :class:`WeightedSample`, but the clock says where a period begins. The clock is read once for each batch. With
    the first rows of the periods everything else follows from the rows.
    Shapes: at most as many rows out as in. State: as there, and first rows of periods.
    """

    def kernel(self, *upstream: Schema) -> Kernel:
        return ArrivalSampleKernel(self, self.schema(*upstream))

    def show(self) -> str:
        seed = f", seed={self.seed}" if self.seed else ""
        return f"shed({self.rows}, per={show_ticks(self.per_ticks, self.unit)}, time='arrival'{seed})"


class ArrivalSampleKernel(WeightedSampleKernel):
    """Follows periods of the wall clock and their rows.

    Attributes
    ----------
    begins : tuple of Begin
        Periods that begin at rows to come.
    known_rows : int
        For so many rows an earlier run has recorded the periods. The clock says nothing of them.
    unrecorded : tuple of Begin
        Periods that the clock has begun since the last record.
    recorded_rows : int
        Rows up to the last record.
    recorded : bool
        Whether periods are recorded at all.
    """

    def __init__(self, op: WeightedSample, out_schema: Schema) -> None:
        super().__init__(op, out_schema)
        self.begins: tuple[Begin, ...] = ()
        self.unrecorded: tuple[Begin, ...] = ()
        self.known_rows = self.recorded_rows = 0
        self.recorded = False
        self._tick: int | None = None

    def state_parts(self) -> dict[str, Any]:
        return super().state_parts() | {"begins": self.begins, "known_rows": self.known_rows}

    @property
    def shed(self) -> ShedRows:
        return replace(super().shed, time="recorded" if self.recorded else "arrival")

    def record(self) -> tuple[int, Sequence[Begin]] | None:
        """How many rows it has seen, and the periods that began since the last record; None if no rows came."""
        rows, begins = self.kept + self.dropped, self.unrecorded
        if rows == self.recorded_rows:
            return None
        self.recorded_rows, self.unrecorded = rows, ()
        return rows, begins

    def replay(self, rows: int, begins: Sequence[Begin]) -> None:
        """Divide rows to come as an earlier run did."""
        seen = self.kept + self.dropped
        later = dict(self.begins) | {row: period for row, period in begins if row >= seen}
        self.begins, self.known_rows = tuple(sorted(later.items())), max(self.known_rows, rows)

    def _periods(self, sync: Array) -> tuple[Array, Array]:
        first = self.kept + self.dropped
        if first + len(sync) > self.known_rows:
            self._read_clock(max(first, self.known_rows))
        begins = [each for each in self.begins if each[0] < first + len(sync)]
        self.begins = self.begins[len(begins):]
        if not begins or begins[0][0] > first:
            begins.insert(0, (first, self.period))
        rows, periods = np.array(begins, np.int64).T
        return periods, rows - first

    def _read_clock(self, row: int) -> None:
        """Begin a period at a row, if the clock has come to another one. A first one is as after a pause."""
        tick = monotonic_ns() // self.per_ticks
        if tick != self._tick:
            newest = self.begins[-1][1] if self.begins else self.period
            follows = self._tick is not None and tick == self._tick + 1
            begin = row, newest + (1 if follows else 2)
            self.begins, self.unrecorded, self._tick = (*self.begins, begin), (*self.unrecorded, begin), tick
