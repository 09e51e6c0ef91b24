"""Merged states of the read blocks, and the variance between blocks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.aggregates import CountDistinct
from whimbrel.batch import Batch, Column
from whimbrel.kernels import Compiled, KeyTable
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.sampling.co_moments import add_block
from whimbrel.operators import Finish
from whimbrel.operators.aggregation.multiset_accumulator import MultisetAccumulator
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST
from whimbrel.plan import Aggregate, AggregatePhase
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import state_names
from whimbrel.progressive.intervals.block_additions import Additions
from whimbrel.progressive.intervals.distinct import DistinctCounts
from whimbrel.progressive.intervals.quantiles import Quantiles
from whimbrel.progressive.intervals.value_state import Drawn, ValueState
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.block_scan import ScanPosition
from whimbrel.progressive.sampling.evidence import Statistics
from whimbrel.progressive.sampling.sample_state import SampleState, WindowRows

Array = np.ndarray[Any, Any]

_add_block = Compiled(add_block)
_NO_NUMBERS = np.empty(0)


class Totals:
    """One row for each pane (or window) and group, with the merged states of all blocks.

    Parameters
    ----------
    split : SplitQuery
    compares : bool
        Whether to keep the variance between blocks: for each phase of a scan, sums and sums of products of additive
        fields.
    usual : float
        The average number of rows of a block.
    keeps_blocks : bool
        Whether to keep what each block of a phase added.

    Attributes
    ----------
    added : Additions or None
        What blocks of the phase added.
    kept : list of ValueState
        The states of aggregates that keep their values.
    known : list of numpy.ndarray
        The fields when the phase began: rows of earlier phases are known, not a sample.
    blocks, sums, products, crosses, powers : numpy.ndarray
        Of the phase, by group: blocks with its rows, sums of its fields, and sums of their products with each other and
        with the sizes of blocks. The powers are sums of the first four powers of fields, scaled to the usual size.
    """

    def __init__(self, split: SplitQuery, *, compares: bool, usual: float = 1.0, keeps_blocks: bool = False) -> None:
        finish, self.split, self.compares, self.usual = split.finish, split, compares, usual
        self.key_fields = split.key_fields
        self.keys = KeyTable([pa.int64(), *(field.type for field in self.key_fields)])
        self.measures = [measure.fork() for measure, _ in split.merging]
        self.kept = [_kept(finish, name, aggregate, usual)
                     for name, aggregate in finish.of.measures if name in split.kept]
        self.additive = np.array([measure.steps.additive for measure in self.measures for _ in measure.steps.init],
                                 np.bool_)
        self.names = [name for measure in self.measures for name in state_names(measure.name, measure.steps)]
        self.width = len(self.names)
        self.added = Additions(self.width) if keeps_blocks else None
        self._loops = [loop for _, loop in split.merging]
        self.capacity = GROUPS_AT_FIRST
        self.blocks = np.zeros(self.capacity, np.int64)
        self.sums = np.zeros(self.capacity * self.width)
        self.products = np.zeros(self.capacity * self._triangle if compares else 0)
        self.crosses = np.zeros(self.capacity * self.width if compares else 0)
        self.powers = np.zeros(self.capacity * self.width * 4 if compares else 0)
        self.known = [array.copy() for array in self.fields] if compares else []
        self._known = np.empty(0)
        self._rows: WindowRows | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def _triangle(self) -> int:
        return self.width * (self.width + 1) // 2

    @property
    def rows(self) -> WindowRows:
        """Starts and keys of the rows; the same object until there are more rows."""
        if self._rows is None or len(self._rows.which) < len(self):
            self._rows = self._look_up()
        return self._rows

    def _look_up(self) -> WindowRows:
        keys = self.keys.values(np.arange(len(self), dtype=np.int32))
        begun = np.asarray(keys[0].values)
        if not (begun != begun[:1]).any():  # one window, the common case: nothing to sort
            return WindowRows(keys, begun[:1], np.zeros(len(begun), np.int64), in_order=True)
        starts, which = np.unique(begun, return_inverse=True)
        return WindowRows(keys, starts, which, in_order=bool((which[1:] >= which[:-1]).all()))

    @property
    def fields(self) -> list[Array]:
        """Arrays of the merged states, by row; longer than the number of rows."""
        return [array for measure in self.measures for array in measure.state]

    def known_of(self, rows: int) -> Array:
        """The fields of the first rows when the phase began, concatenated, as floats."""
        if len(self._known) != rows * self.width:
            self._known = np.concatenate([_NO_NUMBERS, *(array[:rows] for array in self.known)], dtype=np.float64)
        return self._known

    def add(self, batch: Batch, drawn: Drawn | None, *, shifts: Array | None = None) -> None:
        """Merge states of blocks; with `shifts`, states of one block, shifted in time by each of them.

        Without `drawn`, they are the states of all remaining rows, and the variance between blocks is not needed.
        """
        copies = 1 if shifts is None else len(shifts)
        starts = batch.sync if shifts is None else (batch.sync[:, None] + shifts).reshape(-1)
        names = [field.name for field in self.key_fields]
        columns = [batch.column(name) for name in (*names, *self.names)]
        if copies > 1:
            every = np.repeat(np.arange(len(batch)), copies)
            columns = [column.take(every) for column in columns]
        keys, fields = columns[: len(names)], columns[len(names) :]
        ids = self.keys.ids([Column(pa.int64(), starts), *keys], len(starts))
        self._grow(len(self.keys))
        self._merge(ids, fields)
        for kept in self.kept:
            kept.add(ids, batch.column(kept.name).to_arrow(), len(self), drawn)
        if self.compares and drawn is not None:
            self._compare(ids, fields, drawn, alone=copies == 1)

    def expect(self, starts: Array) -> None:
        """Add rows of one group for these starts, before any of their rows was read."""
        self.keys.ids([Column(pa.int64(), starts)], len(starts))
        self._grow(len(self.keys))

    def begin_phase(self) -> None:
        """Start a phase: rows read until now are known, and a new sample begins."""
        self.known, self._known = [array.copy() for array in self.fields], np.empty(0)
        for kept in self.kept:
            kept.begin_phase()
        if self.added is not None:
            self.added.begin_phase()
        for array in (self.blocks, self.sums, self.products, self.crosses, self.powers):
            array[:] = 0

    def state(self, position: ScanPosition, statistics: Statistics | None) -> SampleState:
        """Copies of these totals, for this position of the scan."""
        rows, width = len(self), self.width
        sums, products, crosses, powers = (array[: rows * numbers].copy() for array, numbers in (
            (self.sums, width), (self.products, self._triangle), (self.crosses, width), (self.powers, width * 4)))
        return SampleState(self.split, self.rows, position, statistics,
                           [array[:rows].copy() for array in self.fields], self.known_of(rows),
                           self.blocks[:rows].copy(), sums, products, crosses, powers)

    def state_parts(self) -> dict[str, Any]:
        """The parts of the state that change."""
        names = ("keys", "measures", "kept", "capacity", "blocks", "sums", "products", "crosses", "powers", "known")
        return {name: getattr(self, name) for name in (*names, *(["added"] if self.added is not None else []))}

    def _merge(self, ids: Array, fields: Sequence[Column]) -> None:
        given = iter(np.asarray(column.values) for column in fields)
        with explained_errors(self.measures):
            for measure, loop in zip(self.measures, self._loops, strict=True):
                loop(ids, *itertools.islice(given, len(measure.steps.init)), *measure.state)

    def _compare(self, ids: Array, fields: Sequence[Column], drawn: Drawn, *, alone: bool) -> None:
        rows, before = drawn
        values = np.concatenate([_NO_NUMBERS, *(column.values for column in fields)], dtype=np.float64)
        values = values.reshape(self.width, len(ids))
        values[~self.additive] = 0.0
        if not alone:  # several panes of one window are one sum of the block
            ids, places = np.unique(ids, return_inverse=True)
            summed = np.zeros((self.width, len(ids)))
            for field, states in zip(summed, values, strict=True):
                np.add.at(field, places.reshape(-1), states)
            values, rows, before = summed, np.full(len(ids), rows[0]), np.full(len(ids), before[0])
        if self.added is not None:
            self.added.add(ids, before, values)
        _add_block(ids, values.reshape(-1), rows.astype(np.float64), self.usual, self.width, self.blocks, self.sums,
                   self.products, self.crosses, self.powers)

    def _grow(self, rows: int) -> None:
        if rows <= self.capacity:
            return
        self.capacity = max(rows, 2 * self.capacity)
        for measure in self.measures:
            measure.grow_groups(self.capacity)
        self.blocks = extend(self.blocks, self.capacity, 0)
        self.sums = extend(self.sums, self.capacity * self.width, 0.0)
        if self.compares:
            self.products = extend(self.products, self.capacity * self._triangle, 0.0)
            self.crosses = extend(self.crosses, self.capacity * self.width, 0.0)
            self.powers = extend(self.powers, self.capacity * self.width * 4, 0.0)
            inits = [value for measure in self.measures for value in measure.steps.init]
            self.known = [extend(array, self.capacity, init) for array, init in zip(self.known, inits, strict=True)]


def _kept(finish: Finish, name: str, aggregate: Aggregate, usual: float) -> ValueState:
    """The state of an aggregate that keeps its values."""
    whole = replace(finish.of, part=AggregatePhase.WHOLE)
    measure = whole.accumulator(name, aggregate, finish.rows, remembers=False)
    assert isinstance(measure, MultisetAccumulator)
    if isinstance(aggregate, CountDistinct):
        return DistinctCounts(name, measure.values.type, usual)
    return Quantiles(measure, usual)
