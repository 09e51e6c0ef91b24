"""Quantiles of a sample of blocks: Woodruff intervals from the distribution function.

The quantile is at most v exactly if at least the fraction q of the values is at most v. That means that the sum over
blocks of ``(values up to v) - q * (values)`` is not below 0. A confidence sequence bounds that sum, as it does any sum.
An end of the interval is where the sum differs from 0 by its own width (Woodruff, "Confidence intervals for medians and
other position measures", JASA 1952, for one update).
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, frozen
from whimbrel.kernels import Compiled, restored
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.kernels.primitives.aggregation.rank_search import beyond_fraction, indices_at
from whimbrel.kernels.primitives.windows.panes import ADD, EMIT
from whimbrel.operators.aggregation.multiset_accumulator import MultisetAccumulator
from whimbrel.operators.aggregation.multiset_values import FixedValues
from whimbrel.operators.aggregation.operation_log import CAPACITY, OperationLog
from whimbrel.operators.aggregation.row_values import RowValues
from whimbrel.plan.typed_aggregate import NO_MASK
from whimbrel.progressive.intervals.block_sums import BlockSums
from whimbrel.progressive.intervals.value_state import Drawn, ValueSnapshot, ValueState, parts_of
from whimbrel.progressive.sampling.block_scan import ScanPosition
from whimbrel.progressive.sampling.sample_state import SampleState

Array = np.ndarray[Any, Any]

_beyond_fraction, _indices_at = Compiled(beyond_fraction), Compiled(indices_at)
_NONE = frozen(np.empty(0, np.int64))
_REMEMBERS_NONE = (_NONE, _NONE, _NONE, _NONE, _NONE)
_ROUNDED_DOWN, _ROUNDED_UP = 1.0, 2.0
"""The largest distance in ranks between q and the values that a quantile is interpolated from or rounded to."""
_HALVINGS, _NEAR = 4, 0.03
"""The largest number of bisections, each a pass over the blocks, and the relative gain at which they stop."""


class ValueRuns(NamedTuple):
    """Encoded values of some blocks: a sorted run for each block and group, its end, and the rows of its block."""

    ids: Array
    ends: Array
    values: Array
    rows: Array | None


class Quantiles(ValueState):
    """The values of a quantile, as sorted runs.

    Parameters
    ----------
    measure : MultisetAccumulator
        The accumulator of the aggregate, without values.
    usual : float
        The average number of rows of a block.
    """

    def __init__(self, measure: MultisetAccumulator, usual: float) -> None:
        assert not isinstance(measure.values, RowValues), "quantiles are of single values"
        self.name, self.usual, self.values = measure.name, usual, measure.values
        bag = measure.bag
        self.whole = pa.types.is_integer(self.values.type)
        fraction = bag.numerator / bag.whole
        self.fraction = fraction if bag.choice != multisets.NUMBER_FROM_TOP else 1 - fraction
        self.runs: list[ValueRuns] = []
        self.since = 0
        self.lock = threading.RLock()
        """For the pools, which any thread may advance, and for the dictionary of strings."""
        self.all, self.drawn = Pool(measure.fork()), Pool(measure.fork())

    def add(self, ids: Array, lists: pa.ListArray, groups: int, drawn: Drawn | None) -> None:
        ends, values = parts_of(lists)
        with self.lock:
            encoded = self.values.encode(values)
        self.runs.append(ValueRuns(ids, ends, encoded, None if drawn is None else drawn.rows.astype(np.float64)))

    def begin_phase(self) -> None:
        self.since = len(self.runs)

    def snapshot(self, groups: int, position: ScanPosition) -> QuantileSnapshot:
        return QuantileSnapshot(self, self.since, len(self.runs))

    def state_parts(self) -> dict[str, Any]:
        return {"runs": [tuple(runs) for runs in self.runs], "since": self.since, "values": self.values}

    def restore_state(self, parts: dict[str, Any]) -> None:
        """Restore the state of an equal one."""
        self.runs = [ValueRuns(*runs) for runs in parts["runs"]]
        self.since, self.values = parts["since"], restored(self.values, parts.get("values"))


class QuantileSnapshot(ValueSnapshot):
    """Quantiles at one update.

    Parameters
    ----------
    of : Quantiles
    since, stop : int
        The first run of this phase, and the end of the runs.
    """

    def __init__(self, of: Quantiles, since: int, stop: int) -> None:
        self.of, self.since, self.stop = of, since, stop

    def column(self, state: SampleState) -> Column:
        of, read = self.of, state.read
        with of.lock:
            bag, shown = of.all.up_to(of.runs, 0, self.stop, len(state), of.values)
            weighted = (~read.exact_windows & (read.before.blocks > 0))[read.window]
            if not weighted.any() or not isinstance(of.values, FixedValues):
                return shown
            places = self._places(state, of.fraction * self._many(state))
            found = of.values.decode(np.where(places < 0, 0, bag.items[places]))
        there = weighted & (places >= 0)
        kept = np.asarray(shown.values)
        return Column(shown.type, np.where(there, np.asarray(found.values).astype(kept.dtype), kept), shown.valid)

    def ends(self, state: SampleState, alpha: float) -> tuple[Array, Array]:
        of, groups = self.of, len(state)
        low, high = np.full(groups, -np.inf), np.full(groups, np.inf)
        if not isinstance(of.values, FixedValues) or any(runs.rows is None for runs in of.runs[self.since : self.stop]):
            return low, high
        with of.lock:
            middle = of.fraction * self._many(state)
            width = self._widths(state, self._places(state, middle), alpha)
            for away, ends in ((-1, low), (1, high)):
                margin = away * (_ROUNDED_DOWN if away < 0 else _ROUNDED_UP)
                reach = self._reach(state, middle + margin, away, width, alpha)
                places = self._places(state, middle + margin + away * reach)
                self._put(ends, places, below=away < 0, known=np.isfinite(reach))
        return low, high

    def adds(self, state: SampleState, ids: Array, ends: Array, values: Column) -> list[Array]:
        of, found = self.of, []
        if not isinstance(of.values, FixedValues):
            return []
        with of.lock:
            encoded, many = of.values.encode(values), self._many(state)
            bag, _ = of.all.up_to(of.runs, 0, self.stop, len(state), of.values)
            for fraction in (of.fraction, of.fraction / 2, (1 + of.fraction) / 2):  # ends of intervals are farther out
                places = self._places(state, fraction * many)
                at = np.where(places < 0, np.iinfo(np.int64).max, bag.items[places])
                found.append(np.empty(len(ids)))
                _beyond_fraction(ids, ends, encoded, at, of.fraction, found[-1])
        return found

    def _reach(self, state: SampleState, middle: Array, away: int, width: Array, alpha: float) -> Array:
        """The distance of the end in rows, which equals the width at the end; found from outside by bisection.

        The width depends on the value: blocks have few rows far in a tail, and differ by few.
        """
        def there(reach: Array) -> Array:
            return self._widths(state, self._places(state, middle + away * reach), alpha)

        at_width = there(width)
        minimum, maximum = np.minimum(width, at_width), np.maximum(width, at_width)
        for _ in range(_HALVINGS):
            with np.errstate(invalid="ignore"):  # infinite widths stay infinite
                if not (maximum - minimum > _NEAR * maximum).any():
                    break
            half = (minimum + maximum) / 2
            beyond = there(half) <= half
            minimum, maximum = np.where(beyond, minimum, half), np.where(beyond, half, maximum)
        return maximum

    def _put(self, ends: Array, places: Array, *, below: bool, known: Array) -> None:
        """Write the values at these indexes; at lower ends, what follows the value before them."""
        bag, values = self.of.all.bag, self.of.values
        known = known & (places - below >= bag.first[: len(ends)])
        keys = bag.items[np.where(known, places - below, 0)]
        if below and self.of.whole:
            keys = keys + 1
        found = np.asarray(values.decode(keys).values).astype(np.float64)
        ends[known] = found[known]

    def _places(self, state: SampleState, targets: Array) -> Array:
        """The index of the smallest value, by group, up to which this many rows are estimated to be."""
        bag, drawn, weights, drawn_weights = self._weighed(state)
        places = np.empty(len(state), np.int64)
        _indices_at(bag.items, bag.first, bag.length, drawn.items, drawn.first, drawn.length, weights, drawn_weights,
                   np.where(np.isfinite(targets), targets, np.inf), places)
        return places

    def _many(self, state: SampleState) -> Array:
        """The estimated number of values of all rows, by group."""
        bag, drawn, weights, drawn_weights = self._weighed(state)
        groups = len(state)
        return weights * bag.length[:groups] + drawn_weights * drawn.length[:groups]

    def _weighed(self, state: SampleState) -> tuple[MultisetAccumulator, MultisetAccumulator, Array, Array]:
        of, groups, window = self.of, len(state), state.read.window
        bag, _ = of.all.up_to(of.runs, 0, self.stop, groups, of.values)
        drawn = bag
        if self.since:
            drawn, _ = of.drawn.up_to(of.runs, self.since, self.stop, groups, of.values)
        more, density = state.read.growth
        return bag, drawn, 1 + density[window], more[window]

    def _widths(self, state: SampleState, places: Array, alpha: float) -> Array:
        """Half the interval, in rows, of the number of values up to each place, beyond the fraction of them all."""
        of, groups = self.of, len(state)
        bag, _ = of.all.up_to(of.runs, 0, self.stop, groups, of.values)
        at = np.where(places < 0, np.iinfo(np.int64).max, bag.items[places])
        sums = BlockSums(of.usual)
        sums.grow(groups)
        for runs in of.runs[self.since : self.stop]:
            assert runs.rows is not None
            numbers = np.empty(len(runs.ids))
            _beyond_fraction(runs.ids, runs.ends, runs.values, at, of.fraction, numbers)
            sums.add(runs.ids, numbers, runs.rows)
        return sums.widths(state, state.read, alpha, of.name)


class Pool:
    """The sorted values of some runs, by group; each update adds its runs to those of the update before.

    Parameters
    ----------
    measure : MultisetAccumulator
        An empty accumulator.
    """

    def __init__(self, measure: MultisetAccumulator) -> None:
        self._empty, self.bag = measure, measure.fork()
        self._at: tuple[int, int, int] | None = None
        self._shown = Column.nulls(measure.type, 0)
        self._schedule = OperationLog()

    def up_to(self, runs: list[ValueRuns], since: int, stop: int, groups: int,
              values: Any) -> tuple[MultisetAccumulator, Column]:
        """The values of these runs, and the aggregate of each of the first groups."""
        if self._at == (since, stop, groups):
            return self.bag, self._shown
        at, self._at = self._at, None  # if it is interrupted, the next update starts again
        if at is None or at[0] != since or at[1] > stop:
            self.bag, begun = self._empty.fork(), since
            self.bag.values = values
        else:
            begun = at[1]
        if groups > len(self.bag.first):
            self.bag.grow_groups(max(groups, 2 * len(self.bag.first)))
        for each in runs[begun:stop]:
            who = np.repeat(each.ids, np.diff(each.ends, prepend=0))
            for begin in range(0, len(who), CAPACITY):
                self._replay(ADD, who[begin : begin + CAPACITY], each.values[begin : begin + CAPACITY])
        self._shown = self._replay(EMIT, np.arange(groups), _NONE)
        self._at = since, stop, groups
        return self.bag, self._shown

    def _replay(self, kind: int, who: Array, values: Array) -> Column:
        schedule, count = self._schedule, len(who)
        schedule.ensure_capacity(count)
        schedule.kind[:count], schedule.who[:count] = kind, who
        schedule.which[:count] = schedule.target[:count] = np.arange(count)
        schedule.count[:] = count, count
        outs, = schedule.outs([self.bag.out_dtypes])
        self.bag.apply(schedule, ((values,), NO_MASK, _NONE), _REMEMBERS_NONE, outs)
        return self.bag.columns(outs, count if kind == EMIT else 0)[0]
