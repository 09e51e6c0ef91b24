"""Estimates whose intervals allow for unread rows and for late rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.clock import parse_instant
from whimbrel.connect.tables.lifetime_columns import time_unit
from whimbrel.errors import PlanError
from whimbrel.progressive.estimation.block_sample import BlockSample, PendingSample
from whimbrel.progressive.estimation.compare import Comparison
from whimbrel.progressive.estimation.estimate import Estimate, column_of, with_columns
from whimbrel.progressive.intervals.sample_values import as_floats
from whimbrel.progressive.late.late_rows_model import ROWS, SAMPLED, LateRowsModel, PendingLateRows
from whimbrel.run import Metrics, Snapshot

Array = np.ndarray[Any, Any]


class LateEstimate(Estimate):
    """An estimate that allows for late rows.

    Parameters
    ----------
    metrics, version, confidence, pending, alpha, rows
        As in :class:`~whimbrel.progressive.estimation.estimate.Estimate`.
    late : LateRowsModel
    """

    def __init__(self, metrics: Metrics, late: LateRowsModel, **known: Any) -> None:
        super().__init__(metrics, final=False, **known)
        self._late = late
        self._known: dict[float, tuple[Array, Array, Array]] = {}

    @property
    @abstractmethod
    def _pending_rows(self) -> PendingLateRows:
        """What late rows may still affect."""

    @abstractmethod
    def _widened(self, alpha: float) -> tuple[Array, Array, Array]:
        """Values and their ends, by value and row."""

    _complete = "complete according to the model"

    @property
    def numbers(self) -> Array:
        return self._at(self._alpha)[0]

    @property
    def late_summary(self) -> list[str]:
        return self._pending_rows.summary(self._alpha)

    @property
    def _estimated(self) -> Array:
        return np.asarray(~self.exact & ~self._pending_rows.to_come)

    @property
    def _value_names(self) -> list[str]:
        return list(self._late.values)

    @property
    def _result_columns(self) -> Mapping[str, str]:
        return dict(zip(self._value_names, self._value_names, strict=True))

    @property
    def _two_ended(self) -> Array:
        return self._late.two_ended

    def _bounds_at(self, alpha: float) -> tuple[Array, Array]:
        _, low, high = self._at(alpha)
        return low.T, high.T

    def _ends_at(self, alpha: float) -> tuple[Array, Array]:
        return self._at(alpha)[1:]

    def _at(self, alpha: float) -> tuple[Array, Array, Array]:
        if alpha not in self._known:
            self._known[alpha] = self._widened(alpha)
        return self._known[alpha]

    def _shown(self, table: pa.Table, columns: Mapping[str, Column]) -> pa.Table:
        """A table with these values, without the additional columns."""
        hidden = set(self._late.columns) - set(self._late.values)
        return pa.table({name: columns[name].to_arrow() if name in columns else table.column(name)
                         for name in table.column_names if name not in hidden})


class LateBlocks(LateEstimate):
    """An estimate of a log that ends now: late rows come after its end.

    Parameters
    ----------
    metrics, version, confidence, pending, alpha, rows
        As in :class:`~whimbrel.progressive.estimation.estimate.Estimate`.
    late : LateRowsModel
    newest_tick : int
        The largest event time of the log, read or not.
    last : bool
        Whether all of the log was read.
    """

    def __init__(self, metrics: Metrics, late: LateRowsModel, newest_tick: int, *, version: int, last: bool,
                 confidence: float, pending: PendingSample, alpha: float,
                 rows: Callable[[], pa.Table] | None = None) -> None:
        super().__init__(metrics, late, version=version, confidence=confidence, pending=pending, alpha=alpha, rows=rows)
        self.all_read, self._newest_tick = last, newest_tick

    @property
    def raw_table(self) -> pa.Table:
        assert self.sample is not None
        if self._rows is not None:
            return self._rows()
        columns = {name: column.to_arrow() for name, column in super()._columns.items()}
        table = pa.table(self.sample.columns | columns | self.sample.columns)
        return table.take(Column(pa.int64(), np.argsort(self.sample.state.starts, kind="stable")).to_arrow())

    @cached_property
    def exact(self) -> Array:
        return np.asarray(super().exact & ~self._pending_rows.open)

    @property
    def late_summary(self) -> list[str]:
        return self._pending_rows.summary((1 - SAMPLED) * self._alpha)

    @cached_property
    def _pending_rows(self) -> PendingLateRows:
        sample = self.sample
        assert sample is not None
        rows = sample.values.numbers[list(sample.values.names).index(ROWS)]
        names = ["", *(field.name for field in sample.split.key_fields)]
        keys = None if self._late.key is None else sample.state.keys[names.index(self._late.key)]
        return self._late.pending_rows(self._newest_tick, sample.state.starts, rows, keys, (1 - SAMPLED) * self._alpha,
                               counted=False)

    @property
    def _columns(self) -> dict[str, Column]:
        columns = super()._columns
        return {name: _moved(columns[name], numbers, self._pending_rows.reached)
                for name, numbers in zip(self._value_names, self.numbers, strict=True)}

    def _widened(self, alpha: float) -> tuple[Array, Array, Array]:
        sample, open_, shown = self.sample, self._pending_rows.open, slice(len(self._late.values))
        assert sample is not None
        low, high = (end.T[shown] for end in sample.bounds(alpha))
        if open_.any():
            sampled = (end.T[shown] for end in sample.bounds(SAMPLED * alpha))
            low, high = (np.where(open_, mine, end) for mine, end in zip(sampled, (low, high), strict=True))
        numbers = dict(zip(sample.values.names, sample.values.numbers, strict=True))
        return self._pending_rows.widen(numbers, low, high, (1 - SAMPLED) * alpha)

    def _with_intervals(self, table: pa.Table, sample: BlockSample) -> pa.Table:
        rows, table = self._placed(table, sample)
        columns = {name: _moved(column_of(table, name), numbers[rows], self._pending_rows.reached[rows])
                   for name, numbers in zip(self._value_names, self.numbers, strict=True)}
        return with_columns(self._shown(table, columns), self._value_names, *(end[rows] for end in self.bounds))


class LateSnapshot(LateEstimate):
    """An estimate of a feed: all rows that arrived were read, and late rows are estimated.

    Parameters
    ----------
    snapshot : Snapshot
        Of the query with the additional columns that the model needs.
    late : LateRowsModel
    confidence : float
    """

    def __init__(self, snapshot: Snapshot, late: LateRowsModel, confidence: float) -> None:
        super().__init__(snapshot.metrics, late, version=snapshot.version, confidence=confidence, alpha=1 - confidence)
        self._snapshot = snapshot

    @cached_property
    def table(self) -> pa.Table:
        table, scaled = self._snapshot.table, self._pending_rows.reached & ~self._settled_rows
        columns = {name: _moved(column_of(table, name), numbers, scaled)
                   for name, numbers in zip(self._value_names, self.numbers, strict=True)}
        return with_columns(self._shown(table, columns), self._value_names, *self.bounds)

    @cached_property
    def exact(self) -> Array:
        """The first rows, up to the first provisional one."""
        return np.asarray(np.logical_and.accumulate(self._settled_rows | ~self._pending_rows.open))

    def compare(self, left: Mapping[str, Any], right: Mapping[str, Any], value: str | None = None) -> Comparison:
        raise PlanError("Provisional rows of a feed cannot be compared.", where="compare(...)",
                        hint="Use the interval columns of answer.table.")

    @property
    def _judged(self) -> bool:
        return True

    @cached_property
    def _settled_rows(self) -> Array:
        """Rows that the source's reorder latency has settled."""
        return np.asarray(np.arange(self._snapshot.table.num_rows) < self._snapshot.settled)

    @cached_property
    def _pending_rows(self) -> PendingLateRows:
        table, newest = self._snapshot.table, self._snapshot.metrics.newest
        starts = column_of(table, "start")
        tick = 0 if newest is None else parse_instant(newest, *time_unit(starts.type, "start", ""))
        keys = None if self._late.key is None else column_of(table, self._late.key)
        rows = as_floats(column_of(table, ROWS))
        return self._late.pending_rows(tick, np.asarray(starts.values), rows, keys, self._alpha, counted=True)

    def _widened(self, alpha: float) -> tuple[Array, Array, Array]:
        numbers = {name: as_floats(column_of(self._snapshot.table, name)) for name in self._late.columns}
        now = np.array([numbers[name] for name in self._value_names])
        ends = self._pending_rows.widen(numbers, now, now, alpha)
        found, low, high = (np.where(self._settled_rows, now, end) for end in ends)
        return found, low, high


def _moved(column: Column, numbers: Array, where: Array) -> Column:
    """A column with some values replaced by these numbers."""
    if not column.fixed or column.values.dtype.kind not in "iuf":
        return column
    values, where = np.array(column.values), where & np.isfinite(numbers)
    values[where] = numbers[where] if values.dtype.kind == "f" else np.rint(numbers[where])
    return Column(column.type, values, column.valid)
