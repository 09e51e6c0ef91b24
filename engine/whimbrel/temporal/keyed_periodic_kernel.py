"""Kernel of a periodic loop per key.

Each result row needs a few earlier rows of its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Schema, frozen, numpy_type
from whimbrel.errors import KernelError
from whimbrel.kernels import Compiled, Kernel
from whimbrel.kernels.keys import KeyTable
from whimbrel.kernels.primitives.sorting.group_rows_by_key import group_rows_by_key
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.temporal.bounds import slot_bounds
from whimbrel.temporal.loop_codegen import GeneratedLoop, loop_text
from whimbrel.temporal.loop_steps import PeriodicStep, Windowed, in_order

Array = np.ndarray[Any, Any]

_MAX_ROWS = 262_144
"""Maximum rows per call. The retained rows of all keys are read once per call."""

_INTERPRETED_ROWS = 1_024
"""Most at once as long as the loop is not compiled: soon it will be."""

_key_by_key = Compiled(group_rows_by_key)


class KeyedPeriodicKernel(Kernel):
    """Answers each batch at once; remembers the last rows of each key.

    Parameters
    ----------
    last : PeriodicStep
        What makes the result, of one input.
    period : int
        Ticks from one event of a key to the next.
    lasts : int
        How long a row of the result lasts, in ticks.
    keys : tuple of str
    upstream : Schema
    shown : str
        The steps in the user's words.
    """

    def __init__(self, last: PeriodicStep, period: int, lasts: int, keys: tuple[str, ...], upstream: Schema, shown: str
                 ) -> None:
        self.last, self.period, self.lasts, self.names, self.shown = last, period, lasts, keys, shown
        self.input = upstream
        self.back = slot_bounds(last).back
        self.measures = [measure for step in in_order(last) if isinstance(step, Windowed) for measure in step.measures]
        self.keys = KeyTable([upstream.type_of(name) for name in keys])
        self.seen = np.zeros(0, np.int64)
        """How many rows of each key are remembered."""
        self.values = [np.zeros((0, self.back), numpy_type(field.type)) for field in upstream]
        self.valid = [np.ones((0, self.back), np.bool_) for _ in upstream]
        self.nulls = [False] * len(upstream.fields)
        self.number = np.zeros(0, np.int64)
        self.texts: dict[Any, tuple[GeneratedLoop, list[Array]]] = {}

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        missing = [batch.column(name).valid for name in self.names]
        known = [valid for valid in missing if valid is not None and not valid.all()]
        if known:  # what has no key meets nothing
            batch = batch.take(np.flatnonzero(np.logical_and.reduce(known)))
        out, row = [], 0
        while row < len(batch):
            done, result = self._part(batch.slice(row, min(row + _MAX_ROWS, len(batch))))
            row += done
            out += [result] if len(result) else []
        return out

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return []

    @property
    def buffered_rows(self) -> int:
        return int(self.seen.sum())

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(text.text for text, _ in list(self.texts.values()))

    def state_parts(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name not in ("texts", "measures")}

    def fork(self) -> KeyedPeriodicKernel:
        clone = super().fork()
        clone.texts = {}  # two kernels may not work in the same arrays
        return clone

    def _part(self, batch: Batch) -> tuple[int, Batch]:
        """The number of rows that are done, and their results."""
        ids = self.keys.ids([batch.column(name) for name in self.names], len(batch))
        self._grow(len(self.keys))
        layout = _Layout(ids, self.back, self.number)
        self.nulls = [known or column.valid is not None
                      for known, column in zip(self.nulls, batch.columns, strict=True)]
        masked = bool((self.seen[layout.keys] < self.back).any())
        text, scratch = self._text(masked=masked)
        columns = {at: layout.arrange(batch.columns[at], self.values[at], self.valid[at], with_nulls=self.nulls[at])
                   for at in sorted({position for _, position, _ in text.leaves})}
        times = batch.sync[layout.rows[layout.begins[:-1] + self.back]] - self.back * self.period
        inputs = [frozen(layout.arrange_there(self.seen))] * len(text.masks) if text.masks else []
        for _, position, with_nulls in text.leaves:
            inputs += [frozen(array) for array in columns[position][:1 + with_nulls]]
        outs = [np.zeros(4, np.int64), np.empty(len(batch), np.int64)]
        for field, nullable in zip(self.last.schema, text.nullable, strict=True):
            outs += [np.empty(len(batch), dtype) for dtype in (numpy_type(field.type), np.bool_)[:1 + nullable]]
        slots = np.empty(len(batch), np.int64)
        arguments = [frozen(layout.begins), frozen(times // self.period), self.back, frozen(times), self.period,
                     *inputs, *scratch, *outs, slots]
        if len(batch) > _INTERPRETED_ROWS and not text.loop.ready(*arguments):
            return self._part(batch.slice(0, _INTERPRETED_ROWS))
        try:
            with explained_errors(self.measures):
                text.loop(*arguments)
        except OverflowError as error:
            raise KernelError("An integer leaves int64.", where=self.shown,
                              hint="Cast the column to floats: .cast(float).") from error
        for at, (values, known) in columns.items():  # the others are read by nobody
            self.values[at][layout.keys] = values[layout.tails]
            self.valid[at][layout.keys] = known[layout.tails] if len(known) else True
        self.seen[layout.keys] = np.minimum(self.back, self.seen[layout.keys] + layout.counts)
        return len(batch), self._rows(batch, layout.rows[slots[:int(outs[0][0])]], text, outs[1:])

    def _grow(self, keys: int) -> None:
        if keys > len(self.seen):
            extra = max(keys, 2 * len(self.seen)) - len(self.seen)
            self.seen = np.concatenate([self.seen, np.zeros(extra, np.int64)])
            self.number = np.concatenate([self.number, np.full(extra, -1, np.int64)])
            self.values = [np.concatenate([held, np.zeros((extra, self.back), held.dtype)]) for held in self.values]
            self.valid = [np.concatenate([held, np.ones((extra, self.back), np.bool_)]) for held in self.valid]

    def _text(self, *, masked: bool) -> tuple[GeneratedLoop, list[Array]]:
        """The loop for such inputs, and the arrays that it works in."""
        nulls = tuple(self.nulls)
        if (masked, nulls) not in self.texts:
            text = loop_text(self.last, self.shown, (nulls,), self.period, masked=masked, max_slots=_MAX_ROWS,
                             by_key=True)
            self.texts[masked, nulls] = text, [np.zeros(length, dtype) for dtype, length in text.scratch]
        return self.texts[masked, nulls]

    def _rows(self, batch: Batch, rows: Array, text: GeneratedLoop, outs: Sequence[Array]) -> Batch:
        """What was written key by key, in the order of the rows that it came of."""
        written = np.zeros(len(batch), np.int64)
        written[rows] = np.arange(1, len(rows) + 1)
        order = written[written > 0] - 1
        arrays = iter(outs)
        sync, columns = next(arrays)[order], []
        for field, nullable in zip(self.last.schema, text.nullable, strict=True):
            values, valid = next(arrays)[order], next(arrays)[order] if nullable else None
            columns.append(Column(field.type, values, None if valid is None or valid.all() else valid))
        return Batch(self.last.schema, sync, self.lasts, tuple(columns))


class _Layout:
    """The rows of a batch by key, after the retained rows of the same key."""

    def __init__(self, ids: Array, back: int, number: Array) -> None:
        found, begins = np.empty(len(ids), np.int64), np.empty(len(ids) + 1, np.int64)
        self.at, self.back = np.empty(len(ids), np.int64), back
        self.rows = np.empty(len(ids) + min(len(ids), len(number)) * back, np.int64)
        keys = int(_key_by_key(frozen(ids), back, number, found, begins, self.at, self.rows))
        self.keys, self.begins = found[:keys], begins[:keys + 1]
        self.counts = np.diff(self.begins) - back
        self.rows = self.rows[:int(self.begins[-1])]
        before = np.arange(back)
        self.heads, self.tails = self.begins[:-1, None] + before, self.begins[1:, None] - back + before

    def arrange(self, column: Column, values: Array, valid: Array, *, with_nulls: bool) -> tuple[Array, Array]:
        """A column after its retained rows, and its validity if it may have nulls."""
        arranged = np.empty(len(self.rows), values.dtype)
        arranged[self.at], arranged[self.heads] = column.values, values[self.keys]
        if not with_nulls:
            return arranged, np.empty(0, np.bool_)
        known = np.empty(len(self.rows), np.bool_)
        known[self.at], known[self.heads] = column.validity(), valid[self.keys]
        return arranged, known

    def arrange_there(self, seen: Array) -> Array:
        """Where an event is: everywhere but before the first one."""
        there = np.ones(len(self.rows), np.bool_)
        there[self.heads] = np.arange(self.back) >= self.back - seen[self.keys, None]
        return there
