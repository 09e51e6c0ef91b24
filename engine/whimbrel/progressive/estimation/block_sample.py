"""A sample at one update: its state, its values and their intervals."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from whimbrel.batch import table_from_batches
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.sampling.confidence_intervals import interval_ends
from whimbrel.progressive.estimation.block_totals import Totals
from whimbrel.progressive.intervals.certain_bounds import certain_bounds
from whimbrel.progressive.intervals.guaranteed import Guaranteed
from whimbrel.progressive.intervals.interval_widths import IntervalWidths
from whimbrel.progressive.intervals.sample_values import SampleValues
from whimbrel.progressive.sampling.block_bounds import BlockBounds
from whimbrel.progressive.sampling.block_scan import ScanPosition
from whimbrel.progressive.sampling.evidence import Statistics

Array = np.ndarray[Any, Any]

_interval_ends = Compiled(interval_ends)
_NONE = np.empty(0)


class BlockSample:
    """What one update knows: values and intervals are computed on first use, from a copy of the totals.

    Parameters
    ----------
    totals : Totals
        Of windows.
    position : ScanPosition
        Of the scan, when the totals were those of what it had read.
    before : tuple of numpy.ndarray, optional
        Intervals (low, high), by row and value, that hold since this phase began.
    statistics : Statistics, optional
        What is known of all blocks.
    bounds : BlockBounds, optional
        What blocks may add: then intervals hold for any data within these bounds.
    """

    def __init__(self, totals: Totals, position: ScanPosition, before: tuple[Array, Array] | None = None,
                 statistics: Statistics | None = None, bounds: BlockBounds | None = None) -> None:
        self.totals, self.before, self._bounds = totals, before, bounds
        self._added = None if totals.added is None else totals.added.so_far
        self.split, self.state = totals.split, totals.state(position, statistics)
        kept = {kept.name: kept.snapshot(len(totals), position) for kept in totals.kept}
        self.values = SampleValues(self.state, kept)

    def __len__(self) -> int:
        return len(self.state)

    @property
    def columns(self) -> dict[str, pa.ChunkedArray]:
        """Starts, ends and keys of rows; the same columns until there are more rows."""
        rows = self.state.rows
        if rows.columns is None:
            keys = self.values.answer.select([field.name for field in self.split.key_fields])
            table = table_from_batches(keys.schema, [keys])
            rows.columns = dict(zip(table.column_names, table.columns, strict=True))
        return rows.columns

    @property
    def two_ended(self) -> Array:
        """By value, whether its intervals have two ends once enough was read."""
        if self._bounds is not None:
            return np.isin(np.arange(len(self.values.names)), list(self._bounds.ends))
        return self.split.values.two_ended

    @cached_property
    def guaranteed(self) -> Guaranteed | None:
        """What makes intervals that hold for any data within known bounds; None if the query does not ask for these."""
        if self._bounds is None:
            return None
        state = self.state
        return Guaranteed(self._bounds, self.split, state.position, state.read, state.window_times, state.fields,
                          self._added)

    @cached_property
    def intervals(self) -> IntervalWidths:
        """Confidence sequences of the values."""
        return IntervalWidths(self.values, self.guaranteed)

    def bounds(self, alpha: float) -> tuple[Array, Array]:
        """Intervals of all values, by row and value, as far as certain ends and earlier phases let them be."""
        state, values, two_ended = self.state, self.values, self.two_ended
        read, numbers = state.read, values.numbers
        if read.exact_windows.all():
            return numbers.T, numbers.T
        low, high = np.empty((2, *numbers.shape))
        minimum, maximum = np.full((2, *numbers.shape), [[[-np.inf]], [[np.inf]]])
        for value in range(len(numbers)):
            ends = certain_bounds(values, value)
            if ends is not None:
                minimum[value], maximum[value] = ends
        bottoms, tops = self.intervals.ends(alpha) if two_ended.any() else (minimum, maximum)
        earlier = (_NONE, _NONE) if self.before is None else (_by_value(bound) for bound in self.before)
        with state.waiting:
            _interval_ends(numbers.reshape(-1), bottoms.reshape(-1), tops.reshape(-1), two_ended,
                           minimum.reshape(-1), maximum.reshape(-1), *earlier, read.window, read.exact_windows,
                           low.reshape(-1), high.reshape(-1))
        return low.T, high.T


class PendingSample(Protocol):
    """A sample that is made on first use."""

    @property
    def sample(self) -> BlockSample: ...


def _by_value(bound: Array) -> Array:
    return np.array(bound.T, order="C").reshape(-1)
