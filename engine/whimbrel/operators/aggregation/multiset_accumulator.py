"""Accumulator with an ordered multiset of all values per group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Column, Mask, Schema, Storage, frozen, numpy_type, scaled, unscaled
from whimbrel.expr import evaluate, predicate, type_of
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend, move
from whimbrel.kernels.interpolation import as_float, as_integer, between_floats, between_integers, between_unscaled
from whimbrel.kernels.primitives.aggregation import multiset_replay, multisets
from whimbrel.operators.aggregation.accumulator import Accumulator, Remembered
from whimbrel.operators.aggregation.multiset_values import FixedValues, WordValues
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.operators.aggregation.row_values import RowValues
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST
from whimbrel.plan import Aggregate, AggregatePhase, Multiset
from whimbrel.plan.typed_aggregate import NO_MASK, Inputs, inputs_of

Array = np.ndarray[Any, Any]

_replay = Compiled(multiset_replay.replay_bags)
_repack = Compiled(multiset_replay.repack)
_NONE = frozen(np.empty(0, np.int64))
INITIAL_ITEMS = 64


class MultisetAccumulator(Accumulator):
    """Multisets of one aggregate, their shown values, and their update.

    Parameters
    ----------
    name : str
        The result column.
    aggregate : Aggregate
    bag : Multiset
        What is kept and shown.
    schema : Schema
        Of the input.
    remembers : bool
        Whether rows also leave their group, so that their values must be kept until then.
    part : AggregatePhase
        Whether it makes values of rows, or states, which are lists of all values in order.
    """

    def __init__(self, name: str, aggregate: Aggregate, bag: Multiset, schema: Schema, *, remembers: bool,
                 part: AggregatePhase = AggregatePhase.WHOLE) -> None:
        assert aggregate.expr is not None
        input_type = type_of(aggregate.expr, schema, where=aggregate.show())
        self.type = aggregate.result_type(input_type)
        self.inputs, types = inputs_of(aggregate.expr, input_type)
        if part is AggregatePhase.STATES:
            bag, self.type = Multiset(multisets.ALL), pa.list_(input_type)
        self.name, self.aggregate, self.bag = name, aggregate, bag
        self.out_dtypes = [np.dtype(np.int64)]
        self.values: FixedValues | WordValues | RowValues
        if bag.largest is not None:
            value, by = types
            self.values = RowValues(value, by, largest=bag.largest)
        else:
            self.values = WordValues(input_type) if numpy_type(input_type) is None else FixedValues(input_type)
        self.timed = bag.timed and bag.largest is None
        self.one = not remembers and bag.choice in (multisets.LOWEST, multisets.HIGHEST)
        groups, slots = (GROUPS_AT_FIRST, GROUPS_AT_FIRST) if remembers else (0, 0)
        self.sizes = np.zeros(6, np.int64)
        self.items = np.zeros(INITIAL_ITEMS, np.int64)
        self.starts = np.zeros(INITIAL_ITEMS if self.timed else 0, np.int64)
        self.first, self.length, self.capacity, self.tidy = (np.zeros(GROUPS_AT_FIRST, np.int64) for _ in range(4))
        self.shown = np.zeros(INITIAL_ITEMS if remembers else 0, np.int64)
        self.shown_first, self.shown_length, self.shown_capacity = (np.zeros(groups, np.int64) for _ in range(3))
        self.shown_valid = np.zeros(groups, np.bool_)
        self.held, self.held_valid = np.zeros(slots, np.int64), np.zeros(slots, np.bool_)
        self.held_start = np.zeros(slots if self.timed else 0, np.int64)
        self.chosen = np.zeros(INITIAL_ITEMS, np.int64)

    def grow_groups(self, groups: int) -> None:
        for name in ("first", "length", "capacity", "tidy"):
            setattr(self, name, extend(getattr(self, name), groups, 0))
        if len(self.shown_first):
            for name in ("shown_first", "shown_length", "shown_capacity", "shown_valid"):
                setattr(self, name, extend(getattr(self, name), groups, 0))

    def move_groups(self, old: Array, new: Array, groups: int) -> None:
        for name in ("first", "length", "capacity", "tidy"):
            setattr(self, name, move(getattr(self, name), old, new, groups, 0))
        if len(self.shown_first):
            for name in ("shown_first", "shown_length", "shown_capacity", "shown_valid"):
                setattr(self, name, move(getattr(self, name), old, new, groups, 0))

    def grow_slots(self, slots: int) -> None:
        self.held, self.held_valid = extend(self.held, slots, 0), extend(self.held_valid, slots, 0)
        if self.timed:
            self.held_start = extend(self.held_start, slots, 0)

    def read(self, batch: Batch) -> Inputs:
        if not isinstance(self.values, FixedValues) and len(self.values) > self.values.limit:
            self._forget_strings(self.values)
        aggregate = self.aggregate
        assert aggregate.expr is not None
        valid = None
        if aggregate.condition is not None:
            valid = predicate(aggregate.condition, batch)
            batch = batch.with_absent(~valid)
        if isinstance(self.values, RowValues):
            return self._read_rows(self.values, batch, valid)
        column = evaluate(aggregate.expr, batch)
        if column.valid is not None or not column.fixed:
            there = column.validity()
            valid = there if valid is None else valid & there
        return ((self.values.encode(column),), NO_MASK if valid is None else frozen(valid),
                batch.first_start if self.timed else _NONE)

    def _read_rows(self, values: RowValues, batch: Batch, valid: Mask | None) -> Inputs:
        value, by = (evaluate(expr, batch) for expr in self.inputs)
        there = value.validity() & by.validity()
        there = there if valid is None else there & valid
        return (values.encode(value, by, batch.first_start, there),), frozen(there), _NONE

    def apply(self, schedule: OperationLog, inputs: Inputs, remembered: Remembered, outs: Outs, first: int = 0) -> None:
        given, valid, start = inputs
        values = given[0] if given else _NONE
        out, out_valid = outs
        bag, count = self.bag, schedule.operations
        self.sizes[multiset_replay.CHOSEN_USED] = 0
        step = first
        while True:
            step = int(_replay(
                step, count, schedule.kind, schedule.who, schedule.which, schedule.slot, schedule.target,
                values, valid, start, self.held, self.held_valid, self.held_start,
                self.items, self.starts, self.first, self.length, self.capacity, self.tidy,
                self.shown, self.shown_first, self.shown_length, self.shown_capacity, self.shown_valid,
                self.sizes, self.values.rank, self.values.by_rank, bag.choice, bag.numerator, bag.whole, self.one,
                self.chosen, out, out_valid))
            if step == count:
                return
            self._ensure_capacity()

    def columns(self, outs: Outs, rows: int, storage: Storage | None = None) -> list[Column]:
        ends, valid = (array[:rows] for array in outs)
        return [self._column(ends, valid)]

    def _column(self, ends: Array, valid: Mask) -> Column:
        chosen = self.chosen[: ends[-1] if len(ends) else 0]
        match self.bag.choice:
            case multisets.DISTINCT:
                return Column(pa.int64(), chosen.copy())
            case multisets.ALL if self.bag.summary is not None:
                return self.bag.summary(self.values.decode(chosen), ends)
            case multisets.ALL:
                return self._lists(ends, self.values.decode(chosen))
            case multisets.TOP | multisets.TOP_WITH_TIES:
                return self._ranked(ends, chosen)
            case multisets.BETWEEN:
                return self._between(chosen, valid)
        return self.values.decode(chosen, None if valid.all() else valid.copy())

    def fork(self) -> MultisetAccumulator:
        clone = object.__new__(MultisetAccumulator)
        clone.__dict__.update({name: value.copy() if isinstance(value, np.ndarray) else value
                              for name, value in vars(self).items()})
        clone.values = self.values.fork()
        return clone

    def state_parts(self) -> dict[str, Any]:
        """Everything but the chosen values of the last replay."""
        return {name: value for name, value in vars(self).items() if name != "chosen"}

    def _lists(self, ends: Array, items: Column) -> Column:
        offsets = Column(pa.int32(), np.append(0, ends).astype(np.int32)).to_arrow()
        return Column(self.type, pa.ListArray.from_arrays(offsets, items.to_arrow()))

    def _ranked(self, ends: Array, chosen: Array) -> Column:
        """Lists of rank and value: as many values are larger as the rank says, less one."""
        begins = np.append(0, ends[:-1])
        position = np.arange(len(chosen))
        begin = np.repeat(begins, ends - begins)
        new = np.append(True, chosen[1:] != chosen[:-1])[: len(chosen)] | (position == begin)
        ranks = np.maximum.accumulate(np.where(new, position, 0)) - begin + 1
        columns = [Column(pa.int64(), ranks).to_arrow(), self.values.decode(chosen).to_arrow()]
        pairs = pa.StructArray.from_arrays(columns, fields=list(self.type.value_type))
        return self._lists(ends, Column(self.type.value_type, pairs))

    def _between(self, chosen: Array, valid: Mask) -> Column:
        below, above, rest = (np.ascontiguousarray(part) for part in chosen.reshape(-1, 3).T)
        low = self.values.decode(below)
        if pa.types.is_decimal(self.type):
            return self._between_decimals(low, self.values.decode(above), rest, valid)
        if pa.types.is_floating(low.type):
            first, last = (np.asarray(each.values).astype(np.float64) for each in (low, self.values.decode(above)))
            between = between_floats(first, last, rest, self.bag.whole)
        else:
            position = between_integers(below, above, rest, self.bag.whole)
            if not pa.types.is_floating(self.type):  # of times it is a time
                return FixedValues(self.type).decode(as_integer(*position, self.bag.whole),
                                                     None if valid.all() else valid.copy())
            between = as_float(*position, self.bag.whole, turned=pa.types.is_uint64(low.type))
        return Column(pa.float64(), between, None if valid.all() else valid.copy())

    def _between_decimals(self, low: Column, high: Column, rest: Array, valid: Mask) -> Column:
        found = between_unscaled(unscaled(low.to_arrow()), unscaled(high.to_arrow()), rest.tolist(), self.bag.whole,
                                 self.type.scale - low.type.scale)
        there = valid.tolist()
        return Column(self.type, pc.if_else(
            Column(pa.bool_(), valid.copy()).to_arrow(),
            scaled([value if each else 0 for value, each in zip(found, there, strict=True)], self.type),
            pa.scalar(None, self.type)))

    def _ensure_capacity(self) -> None:
        """Grow the buffers for which the replay stopped."""
        sizes = self.sizes
        if sizes[multiset_replay.MORE_ITEMS]:
            self.items, self.starts = self._repacked(
                self.items, self.starts, self.first, self.length, self.capacity, multiset_replay.USED,
                int(sizes[multiset_replay.MORE_ITEMS]))
        if sizes[multiset_replay.MORE_SHOWN]:
            self.shown, _ = self._repacked(self.shown, np.empty(0, np.int64), self.shown_first, self.shown_length,
                                           self.shown_capacity, multiset_replay.SHOWN_USED,
                                           int(sizes[multiset_replay.MORE_SHOWN]))
        if sizes[multiset_replay.MORE_CHOSEN]:
            self.chosen = extend(self.chosen, 2 * len(self.chosen) + int(sizes[multiset_replay.MORE_CHOSEN]), 0)
        sizes[multiset_replay.MORE_ITEMS] = sizes[multiset_replay.MORE_SHOWN] = sizes[multiset_replay.MORE_CHOSEN] = 0

    def _repacked(self, items: Array, starts: Array, first: Array, length: Array, capacity: Array, used: int,
                  more: int) -> tuple[Array, Array]:
        size = max(INITIAL_ITEMS, 3 * int(length.sum()) + 2 * more)
        packed, packed_starts = np.zeros(size, np.int64), np.zeros(size if len(starts) else 0, np.int64)
        self.sizes[used] = _repack(items, starts, first, length, capacity, packed, packed_starts)
        return packed, packed_starts

    def _forget_strings(self, values: WordValues | RowValues) -> None:
        """Keep only the words or rows that a bag holds, or that were shown and have not ended."""
        kept, shown = _positions(self.first, self.length), _positions(self.shown_first, self.shown_length)
        words = self.bag.choice != multisets.DISTINCT
        known = len(values)
        live = np.unique(np.concatenate([self.items[kept], self.shown[shown] if words else _NONE]))
        moved = values.keep_only(live)
        self.items[kept] = moved[self.items[kept]]
        if words:
            self.shown[shown] = moved[self.shown[shown]]
        self.held = moved[np.clip(self.held, 0, known - 1)]  # what left long ago may name words that are no more


def _positions(first: Array, length: Array) -> Array:
    """Where the values of all groups lie."""
    ends = np.cumsum(length)
    return np.repeat(first - ends + length, length) + np.arange(ends[-1] if len(ends) else 0)
