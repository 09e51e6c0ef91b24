"""Accumulator with a sketch per group (bounded error, no removal)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from whimbrel.batch import Batch, Column, Mask, Schema, Storage, frozen, numpy_type
from whimbrel.expr import evaluate, predicate, type_of
from whimbrel.kernels.array_growth import renumber
from whimbrel.kernels.primitives.windows.panes import ADD, EMIT
from whimbrel.operators.aggregation.accumulator import Accumulator, Remembered
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.plan import Aggregate, Frequencies, Sketch, SketchState
from whimbrel.plan.typed_aggregate import NO_MASK, Inputs

Array = np.ndarray[Any, Any]

Waiting = tuple[Array, ...]
"""Values that are not summed up: group, instant, start and value of each."""

CHUNK = 4096
"""Values that are summed up at a time. A group with fewer is answered exactly."""
PENDING_AT_FIRST = 65_536
"""Values of all groups that may wait before those are summed up of which there are enough."""


class SketchAccumulator(Accumulator):
    """Buffered values, and the sketches of groups with many values.

    What a summary knows may depend on the order of its values. So they are given to it in one order, whatever the order
    of arrival: by their instant, then by start and value; and always so many at a time. Values of the newest instant
    wait, since more of it may come.

    Parameters
    ----------
    name : str
        The result column.
    aggregate : Aggregate
    sketch : Sketch or Frequencies
    schema : Schema
        Of the input.
    """

    def __init__(self, name: str, aggregate: Aggregate, sketch: Sketch | Frequencies, schema: Schema) -> None:
        assert aggregate.expr is not None
        self.name, self.aggregate, self.sketch = name, aggregate, sketch
        self.input_type = type_of(aggregate.expr, schema, where=aggregate.show())
        self.type = aggregate.result_type(self.input_type)
        self.out_dtypes = [np.dtype(np.float64)]
        self.pending: list[Waiting] = []
        self.waiting = 0
        self.limit = PENDING_AT_FIRST
        self.summaries: dict[int, SketchState] = {}

    # What a sketch of numbers is asked; one of other values answers in its own way.

    @property
    def of_nothing(self) -> float | None:
        """The result of no values."""
        assert isinstance(self.sketch, Sketch)
        return self.sketch.of_nothing

    def encoded(self, column: Column) -> Array:
        """One number for each row."""
        assert isinstance(self.sketch, Sketch)
        return self.sketch.encode(column)

    def ranks(self, values: Array) -> Array:
        """Numbers in the order of the values that they stand for."""
        return values

    def of_ranks(self, ranks: Array) -> Array:
        """Inverse of :meth:`ranks`."""
        return ranks

    def exact(self, ranks: Array, begin: Array, end: Array) -> Array:
        """The result of each group with few values, in order."""
        assert isinstance(self.sketch, Sketch)
        return self.sketch.exact(ranks, begin, end)

    def answer(self, summary: SketchState) -> float:
        """The result of a group with many values."""
        return float(summary.result())

    def grow_groups(self, groups: int) -> None:
        """Groups have no place of their own."""

    def move_groups(self, old: Array, new: Array, groups: int) -> None:
        self.pending = [(renumber(group, old, new), *rest) for group, *rest in self.pending]
        numbers = renumber(np.array(list(self.summaries), np.int64), old, new).tolist()
        self.summaries = dict(zip(numbers, self.summaries.values(), strict=True))

    def grow_slots(self, slots: int) -> None:
        """No row is remembered."""

    def read(self, batch: Batch) -> Inputs:
        aggregate = self.aggregate
        assert aggregate.expr is not None
        column = evaluate(aggregate.expr, batch)
        valid = None if aggregate.condition is None else predicate(aggregate.condition, batch)
        if column.valid is not None or not column.fixed:
            there = column.validity()
            valid = there if valid is None else valid & there
        moments = np.stack([batch.sync, batch.first_start])
        return (self.encoded(column),), NO_MASK if valid is None else frozen(valid), moments

    def apply(self, schedule: OperationLog, inputs: Inputs, remembered: Remembered, outs: Outs, first: int = 0) -> None:
        out, out_valid = outs
        count = schedule.operations
        kind, who = schedule.kind[:count], schedule.who[:count].astype(np.int64)
        enters, shows = kind == ADD, np.flatnonzero(kind == EMIT)
        pane = np.cumsum(np.append(False, enters[1:] & ~enters[:-1]))[:count]  # a pane shows all its groups at its end
        groups = int(max(who.max(initial=0), *(part[0].max(initial=0) for part in self.pending), 0)) + 1
        self._enter(pane * groups + who, enters, schedule.which[:count], inputs)
        if len(shows):
            open_pane = int(pane[-1]) + (not enters[-1])
            closed = self._split(open_pane * groups)
            self._show(closed, (pane * groups + who)[shows], schedule.target[shows], out, out_valid)
            self.summaries = {}
        if self.waiting > self.limit:
            self._sum_up()

    def columns(self, outs: Outs, rows: int, storage: Storage | None = None) -> list[Column]:
        values, valid = (array[:rows] for array in outs)
        physical = numpy_type(self.type)
        assert physical is not None
        values = np.where(valid, values, 0.0)
        whole = np.rint(values) if physical.kind == "i" else values
        return [Column(self.type, whole.astype(physical), None if valid.all() else valid.copy())]

    def fork(self) -> Self:
        clone = object.__new__(type(self))
        clone.__dict__.update(vars(self))
        clone.pending = list(self.pending)
        clone.summaries = {group: summary.fork() for group, summary in self.summaries.items()}
        return clone

    def state_parts(self) -> dict[str, Any]:
        written = {group: summary.to_bytes() for group, summary in self.summaries.items()}
        return {"waiting": self.waiting, "limit": self.limit, "pending": self.pending,
                "groups": np.array(list(written), np.int64),
                "sizes": np.array([len(each) for each in written.values()], np.int64),
                "bytes": np.frombuffer(b"".join(written.values()), np.uint8)}

    def restore_state(self, parts: dict[str, Any]) -> None:
        self.waiting, self.limit, self.pending = parts["waiting"], parts["limit"], parts["pending"]
        ends = np.cumsum(parts["sizes"])
        self.summaries = {
            int(group): self.sketch.load(parts["bytes"][end - size : end].tobytes())
            for group, size, end in zip(parts["groups"], parts["sizes"], ends, strict=True)}

    def _enter(self, groups: Array, enters: Mask, which: Array, inputs: Inputs) -> None:
        rows = which[enters]
        if not len(rows):
            return
        (values,), valid, moments = inputs
        groups = groups[enters]
        if len(valid):
            counts = valid[rows]
            groups, rows = groups[counts], rows[counts]
        if len(rows):
            self.pending.append((groups, moments[0][rows], moments[1][rows], values[rows]))
            self.waiting += len(rows)

    def _split(self, first_open: int) -> Waiting:
        """Leave waiting what belongs to the open pane; answers with the rest, in order."""
        group, moment, start, value = self._all()
        later = group >= first_open
        self._hold(group[later] - first_open, moment[later], start[later], value[later])
        return _in_order(group[~later], moment[~later], start[~later], value[~later])

    def _sum_up(self) -> None:
        """Sum up what waits, chunk by chunk, of groups with many values; not those of the newest instant."""
        group, moment, start, value = _in_order(*self._all())
        kept = np.ones(len(group), np.bool_)
        for number, many in zip(*np.unique(group[moment < moment.max()], return_counts=True), strict=True):
            if many >= CHUNK:
                begin = int(np.searchsorted(group, number))
                end = begin + int(many) // CHUNK * CHUNK
                self._feed(self.summaries.setdefault(int(number), self.sketch.new()), value[begin:end])
                kept[begin:end] = False
        self._hold(group[kept], moment[kept], start[kept], value[kept])
        self.limit = max(PENDING_AT_FIRST, 2 * self.waiting)

    def _show(self, closed: Waiting, groups: Array, targets: Array, out: Array, out_valid: Mask) -> None:
        """The result of each group: exact where values are few, else that of its summary."""
        group, _, _, value = closed
        begin, end = np.searchsorted(group, groups), np.searchsorted(group, groups, "right")
        few = (begin < end) & (end - begin < CHUNK)
        out[targets], out_valid[targets] = self.of_nothing or 0.0, self.of_nothing is not None
        if few.any():
            by_value = value[np.lexsort((value, group))]
            out[targets[few]], out_valid[targets[few]] = self.exact(by_value, begin[few], end[few]), True
        summed_up = np.isin(groups, list(self.summaries))
        for position in np.flatnonzero(summed_up | (end - begin >= CHUNK)):
            summary = self.summaries.get(int(groups[position])) or self.sketch.new()
            self._feed(summary, value[begin[position] : end[position]])
            out[targets[position]], out_valid[targets[position]] = self.answer(summary), True

    def _feed(self, summary: SketchState, values: Array) -> None:
        values = self.of_ranks(values)
        for at in range(0, len(values), CHUNK):
            summary.add(values[at : at + CHUNK])

    def _hold(self, group: Array, moment: Array, start: Array, value: Array) -> None:
        """Leave these waiting, and no others."""
        self.pending, self.waiting = [], len(group)
        if len(group):  # floats that are none would turn integers that follow into floats
            self.pending.append((group, moment, start, self.of_ranks(value)))

    def _all(self) -> Waiting:
        if not self.pending:
            return _NOTHING
        group, moment, start, value = (np.concatenate(parts) for parts in zip(*self.pending, strict=True))
        return group, moment, start, self.ranks(value)


_NOTHING: Waiting = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def _in_order(group: Array, moment: Array, start: Array, value: Array) -> Waiting:
    order = np.lexsort((value, start, moment, group))
    return group[order], moment[order], start[order], value[order]
