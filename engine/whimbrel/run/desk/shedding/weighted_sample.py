"""Sampling of rows with weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import TickUnit, show_ticks
from whimbrel.kernels import Kernel
from whimbrel.operators.rows.sample import mix_bits
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach
from whimbrel.run.desk.shedding.shed import ShedRows
from whimbrel.run.metrics import moment

Array = np.ndarray[Any, Any]

WEIGHT: Final = "shed.weight"
"""The column with the number of rows that a row stands for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedSample(Operator):
    """Keep about so many rows of each period, and add their weights.

        time     0    5    10   15
        in       a    b    c    d      (2 rows in each 20 ticks)
        out      a    b         d      (weights 1, 1 and 2)

    Parameters
    ----------
    rows : int
    per_ticks : int
        Length of a period.
    seed : int
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    The probability of a row follows from its number in its period and from the size of the period before. The choice is
    a hash of its number. Both are state, so neither batches nor restarts change them.
    Shapes: at most as many rows out as in. State: counts of rows.
    """

    rows: int
    per_ticks: int
    seed: int
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0].with_fields([*upstream[0].fields, Field(WEIGHT, pa.float64())], where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(intervals_only=upstream[0].intervals_only, in_order=upstream[0].in_order,
                          causal=upstream[0].causal, points=upstream[0].points)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted - {WEIGHT},)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.same(),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return WeightedSampleKernel(self, self.schema(*upstream))

    def show(self) -> str:
        seed = f", seed={self.seed}" if self.seed else ""
        return f"shed({self.rows}, per={show_ticks(self.per_ticks, self.unit)}{seed})"


class WeightedSampleKernel(Kernel):
    """Follows periods and their rows.

    Attributes
    ----------
    kept, dropped : int
    first, last : int or None
        Starts of the first and the last dropped row.
    period, rows_in_period, rows_before : int
        The newest period, its rows so far, and the rows of the period before it.
    """

    def __init__(self, op: WeightedSample, out_schema: Schema) -> None:
        self.rows, self.per_ticks, self.out_schema = op.rows, op.per_ticks, out_schema
        self.key = mix_bits(np.array([op.seed & (2**64 - 1)], np.uint64))
        self.kept = self.dropped = 0
        self.first: int | None = None
        self.last: int | None = None
        self.period = self.rows_in_period = self.rows_before = 0

    def state_parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("watermark", "kept", "dropped", "first", "last", "period",
                                                       "rows_in_period", "rows_before")}

    @property
    def shed(self) -> ShedRows:
        """What was shed so far."""
        first, last = (None if at is None else moment(at, self.out_schema) for at in (self.first, self.last))
        return ShedRows(self.kept, self.dropped, first, last)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        weights = self._weights(batch.sync)
        number = np.arange(self.kept + self.dropped, self.kept + self.dropped + len(batch), dtype=np.uint64)
        kept = (mix_bits(number ^ self.key) >> np.uint64(11)).astype(np.float64) * 2.0**-53 * weights < 1.0
        if not kept.all():
            lost = batch.sync[~kept]
            self.first = int(lost[0]) if self.first is None else self.first
            self.last = int(lost[-1])
            self.dropped += len(lost)
            batch, weights = batch.only(kept), weights[kept]
        self.kept += len(batch)
        if not len(batch):
            return []
        return [batch.having(schema=self.out_schema, columns=(*batch.columns, Column(pa.float64(), weights)))]

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return []

    def _weights(self, sync: Array) -> Array:
        """The inverse of the probability of each row."""
        periods, begins = self._periods(sync)
        sizes = np.diff(begins, append=len(sync))
        counts = sizes.copy()
        if periods[0] == self.period:
            before, counts[0] = self.rows_before, sizes[0] + self.rows_in_period
        else:
            before = self.rows_in_period if periods[0] == self.period + 1 else 0
        known = counts[0] - sizes[0]
        of_before = np.concatenate([[before], np.where(np.diff(periods) == 1, counts[:-1], 0)])
        number = np.arange(1, len(sync) + 1)
        number[: sizes[0]] += known
        number[sizes[0] :] -= np.repeat(begins[1:], sizes[1:])
        self.period, self.rows_in_period, self.rows_before = int(periods[-1]), int(counts[-1]), int(of_before[-1])
        return np.maximum(number, np.repeat(np.maximum(of_before, self.rows), sizes)) / self.rows

    def _periods(self, sync: Array) -> tuple[Array, Array]:
        """The periods of rows in order, and the first row of each."""
        first, last = int(sync[0]) // self.per_ticks, int(sync[-1]) // self.per_ticks
        if last - first < len(sync):  # a search for each period is faster than a division for each row
            periods = np.arange(first, last + 1)
            return periods, np.concatenate([[0], np.searchsorted(sync, periods[1:] * self.per_ticks)])
        periods = sync // self.per_ticks
        begins = np.concatenate([[0], np.flatnonzero(np.diff(periods)) + 1])
        return periods[begins], begins
