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

_UNIT = 1 << 36
"""Of the line on which rows have lengths. Batches have no effect on sums of integers."""

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
    The probability p of a row follows from its number in its period and from the size of the period before. Rows have
    lengths of -log(1 - p) on a line, as integers, and those are kept on which a point of a Poisson process falls. Above
    one half, the lengths are -log(p), and those are dropped. The random numbers are hashes of their places in the
    sequence. So a row that is dropped costs nothing, and neither batches nor restarts change the choice.
    Shapes: at most as many rows out as in. State: counts of rows, and the distance to the next point.
    Source: Devroye, Non-Uniform Random Variate Generation (1986), section VI.1.
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
    points, to_next : int
        Number of points so far, and how far the next one is.
    """

    def __init__(self, op: WeightedSample, out_schema: Schema) -> None:
        self.rows, self.per_ticks, self.out_schema = op.rows, op.per_ticks, out_schema
        self.key = mix_bits(np.array([op.seed & (2**64 - 1)], np.uint64))
        self.kept = self.dropped = 0
        self.first: int | None = None
        self.last: int | None = None
        self.period = self.rows_in_period = self.rows_before = 0
        self.points, self.to_next = 1, int(self._distances(0, 1)[0])

    def state_parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("watermark", "kept", "dropped", "first", "last", "period",
                                                       "rows_in_period", "rows_before", "points", "to_next")}

    @property
    def shed(self) -> ShedRows:
        """What was shed so far."""
        first, last = (None if at is None else moment(at, self.out_schema) for at in (self.first, self.last))
        return ShedRows(self.kept, self.dropped, first, last)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        weights, sizes = self._weights(batch.sync)
        if not (weights > 1.0).any():
            weights = np.ones(len(batch))
        else:
            sync, kept, weights = batch.sync, *self._chosen(weights, sizes)
            if len(kept) < len(batch):
                first, last = _first_missing(kept), len(batch) - 1 - _first_missing(len(batch) - 1 - kept[::-1])
                self.first = int(sync[first]) if self.first is None else self.first
                self.last = int(sync[last])
                self.dropped += len(batch) - len(kept)
                batch = batch.take(kept)
        self.kept += len(batch)
        if not len(batch):
            return []
        return [batch.having(schema=self.out_schema, columns=(*batch.columns, Column(pa.float64(), weights)))]

    def _chosen(self, weights: Array, sizes: Array) -> tuple[Array, Array]:
        """The rows that are kept, by position, and their weights; of runs of rows of one weight."""
        mostly = weights < 2.0  # there, points are on the rows that are dropped
        with np.errstate(divide="ignore"):
            lengths = np.where(mostly, np.log(weights), -np.log1p(-1.0 / weights))
        lengths = np.rint(lengths * _UNIT).astype(np.int64)
        ends, begins = np.cumsum(lengths * sizes), np.cumsum(sizes) - sizes
        points = self._points(int(ends[-1]))
        run = np.searchsorted(ends, points)
        rows = begins[run] + (points - (ends - lengths * sizes)[run] - 1) // lengths[run]
        single = np.diff(rows, prepend=-1) > 0
        rows, run = rows[single], run[single]
        if not mostly.any():
            return rows, weights[run]
        kept = np.repeat(mostly, sizes)
        kept[rows] = ~kept[rows]
        return np.flatnonzero(kept), np.repeat(weights, sizes)[kept]

    def _points(self, end: int) -> Array:
        """The points up to the end of a line; the next one becomes state."""
        found = [np.array([self.to_next])]
        while found[-1][-1] <= end:
            count = (end - int(found[-1][-1])) // _UNIT + 16
            found.append(found[-1][-1] + np.cumsum(self._distances(self.points, count)))
            self.points += count
        points = np.concatenate(found)
        used = int(np.searchsorted(points, end, side="right"))
        self.points -= len(points) - used - 1
        self.to_next = int(points[used]) - end
        return points[:used]

    def _distances(self, first: int, count: int) -> Array:
        """Distances between points: exponential, in whole units."""
        uniform = (mix_bits(np.arange(first, first + count, dtype=np.uint64) ^ self.key) >> np.uint64(11)) + 1.0
        return np.ceil(-np.log(uniform * 2.0**-53) * _UNIT).astype(np.int64)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return []

    def _weights(self, sync: Array) -> tuple[Array, Array]:
        """The inverse of the probability, of runs of rows that have the same; and the number of rows in each."""
        periods, begins = self._periods(sync)
        sizes = np.diff(begins, append=len(sync))
        counts = sizes.copy()
        if periods[0] == self.period:
            before, counts[0] = self.rows_before, sizes[0] + self.rows_in_period
        else:
            before = self.rows_in_period if periods[0] == self.period + 1 else 0
        of_before = np.concatenate([[before], np.where(np.diff(periods) == 1, counts[:-1], 0)])
        self.period, self.rows_in_period, self.rows_before = int(periods[-1]), int(counts[-1]), int(of_before[-1])
        known = np.maximum(of_before, self.rows)
        more = np.minimum(np.maximum(counts - known, 0), sizes)  # rows beyond what was known have weights of their own
        runs = more + 1
        last = np.cumsum(runs)
        weights = np.repeat(counts - runs + 1, runs) + np.arange(int(last[-1])) - np.repeat(last - runs, runs)
        weights[last - runs] = known
        rows = np.ones(len(weights), np.int64)
        rows[last - runs] = sizes - more
        return weights / self.rows, rows

    def _periods(self, sync: Array) -> tuple[Array, Array]:
        """The periods of rows in order, and the first row of each."""
        first, last = int(sync[0]) // self.per_ticks, int(sync[-1]) // self.per_ticks
        if last - first < len(sync):  # a search for each period is faster than a division for each row
            periods = np.arange(first, last + 1)
            return periods, np.concatenate([[0], np.searchsorted(sync, periods[1:] * self.per_ticks)])
        periods = sync // self.per_ticks
        begins = np.concatenate([[0], np.flatnonzero(np.diff(periods)) + 1])
        return periods[begins], begins


def _first_missing(rows: Array) -> int:
    """The first number that is not among increasing ones."""
    return int(np.searchsorted(rows - np.arange(len(rows)), 1))
