"""Kernel of pattern detection with registers and matched columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Column, Field, Schema, numpy_type
from whimbrel.errors import KernelError
from whimbrel.expr import Expr, columns_of, evaluate
from whimbrel.kernels import KeyTable
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.patterns.pattern_runs import USED
from whimbrel.operators.patterns.automaton import Automaton
from whimbrel.operators.patterns.detect_kernel import CAPACITY, Advance, DetectKernel
from whimbrel.operators.patterns.register_codegen import PathText, Slot

Array = np.ndarray[Any, Any]


class PathKernel(DetectKernel):
    """Each run is one way through the pattern, with one value for each slot.

    Values of fixed width stand in arrays; all others as the number that a key table gives them.

    Parameters
    ----------
    text : PathText
        The generated loop.
    slots : sequence of Slot
        What runs remember: first the registers that are columns of the result, then what its outputs read.
    outputs : sequence of Expr
        Further columns of the result, over the slots.
    schema, automaton, within, keys
        As those of :class:`~whimbrel.operators.patterns.detect_kernel.DetectKernel`.
    greedy : bool
        Whether of the matches of one begin only those are found that may be the preferred one.
    where : str
        The user's call, for errors.
    """

    def __init__(self, text: PathText, slots: Sequence[Slot], outputs: Sequence[Expr], schema: Schema,
                 automaton: Automaton, within: int, keys: Sequence[Expr], *, in_order: bool, greedy: bool,
                 where: str) -> None:
        super().__init__(schema, automaton, within, keys, in_order=in_order)
        self.order = automaton.order(preferred=greedy).ravel()
        self.text, self.slots, self.outputs, self.where = text, tuple(slots), tuple(outputs), where
        self.slot_schema = Schema(tuple(Field(slot.name, slot.type) for slot in slots))
        self.emitted = [number for number, slot in enumerate(slots) if slot.shown]
        self.tables = {str(slot.type): KeyTable([slot.type]) for slot in slots if numpy_type(slot.type) is None}
        self.scalars[USED] = 1  # place 0 is the run of no events
        self.own: list[Array] = []
        self.shown: list[Array] = []
        for slot in slots:
            start = Column.from_arrow(pa.array([slot.initial], slot.type))
            for array in self.encoded(start):
                self.own.append(np.full(CAPACITY, array[0]))
                self.shown += [np.zeros(CAPACITY, array.dtype)] if slot.shown else []
            if slot.initial is None:
                self.own[-1][:] = 0 if slot.source.which != "register" else 2

    def encoded(self, column: Column) -> tuple[Array, Array]:
        """Values as they stand in slots, and 1 where there is one, 2 where it is null."""
        values = column.values if column.fixed else self._table(column.type).ids([column], len(column)).astype(np.int64)
        return values, np.where(column.validity(), 1, 2).astype(np.int8)

    def decoded(self, slot: int, values: Array, state: Array) -> Column:
        """Slots as a column."""
        type_, there = self.slots[slot].type, state == 1
        if numpy_type(type_) is not None:
            return Column(type_, values, None if there.all() else there)
        if not len(self._table(type_)):
            return Column.nulls(type_, len(values))
        texts = self._table(type_).values(values)[0].to_arrow()
        return Column(type_, pc.if_else(Column(pa.bool_(), there).to_arrow(), texts, pa.scalar(None, type_)))

    @property
    def runs(self) -> int:
        return super().runs - 1

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.text.text,)

    def _table(self, type_: pa.DataType) -> KeyTable:
        return self.tables[str(type_)]

    def _advance(self, rows: Batch, groups: Array, satisfied: Array, alone: Array) -> Advance:
        read = [*(array for leaf in self.text.leaves for array in self._leaf(leaf, rows)), *self.text.numbers]
        parts = [_Parts(self, self.text.parts, rows)] if self.text.parts else []
        loop = self.text.step.interpreted if parts else self.text.step

        def advance(row: int) -> int:
            try:
                return int(loop(
                    row, rows.sync, groups, satisfied, alone, self.within, self.last, self.order, self.scalars,
                    self.free, self.head, self.length, self.after, self.states, self.began, self.events,
                    self.count, *self.out, *read, *self.own, *parts, *self.shown))
            except OverflowError as error:
                raise KernelError("A register leaves int64.", where=self.where,
                                  hint="Start with a float, such as register={'total': 0.0}.") from error

        return advance

    def _leaf(self, leaf: Expr, rows: Batch) -> tuple[Array, Array]:
        column = evaluate(leaf, rows)
        if numpy_type(column.type) is None and str(column.type) not in self.tables:  # null, whatever its type
            return np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_)
        return self.encoded(column)[0], column.validity()

    def _grow(self) -> None:
        super()._grow()
        self.own = [extend(array, len(self.free), array[0]) for array in self.own]
        self.shown = [np.zeros(len(self.free), array.dtype) for array in self.shown]

    def _remembered(self, rows: int) -> list[Column]:
        pairs = [[array[:rows].copy() for array in self.shown[at : at + 2]] for at in range(0, len(self.shown), 2)]
        columns = [self.decoded(slot, *pair) for slot, pair in zip(self.emitted, pairs, strict=True)]
        schema = self.slot_schema.select(self.slots[slot].name for slot in self.emitted)
        batch = Batch(schema, self.out[0][:rows].copy(), self.out[1][:rows].copy(), tuple(columns))
        registers = [column for slot, column in zip(self.emitted, columns, strict=True)
                     if self.slots[slot].source.which == "register"]
        return [*registers, *(evaluate(output, batch) for output in self.outputs)]


class _Parts:
    """What only Python can compute: expressions over one event and one run, one at a time."""

    def __init__(self, kernel: PathKernel, exprs: Sequence[Expr], rows: Batch) -> None:
        self.kernel, self.exprs, self.rows = kernel, exprs, rows
        self.slots = [[slot for slot, known in enumerate(kernel.slots) if known.name in columns_of(expr)]
                      for expr in exprs]
        self.columns = [[name for name in rows.schema.names if name in columns_of(expr)] for expr in exprs]
        self.asked: tuple[int, int, int] | None = None
        self.answer: tuple[Any, bool] = (0, False)

    def value(self, part: int, row: int, position: int) -> Any:
        return self._answer(part, row, position)[0]

    def valid(self, part: int, row: int, position: int) -> bool:
        return self._answer(part, row, position)[1]

    def _answer(self, part: int, row: int, position: int) -> tuple[Any, bool]:
        if self.asked != (part, row, position):
            self.asked = (part, row, position)
            column = evaluate(self.exprs[part], self._together(part, row, position))
            if column.fixed or str(column.type) in self.kernel.tables:
                (value,), (there,) = self.kernel.encoded(column)
                self.answer = value, there == 1
            else:
                self.answer = 0, False
        return self.answer

    def _together(self, part: int, row: int, position: int) -> Batch:
        """The event and what the run remembers, as one row."""
        kernel, own = self.kernel, self.kernel.own
        event = self.rows.slice(row, row + 1).select(self.columns[part])
        columns = [kernel.decoded(slot, own[2 * slot][position : position + 1].copy(),
                                  own[2 * slot + 1][position : position + 1].copy()) for slot in self.slots[part]]
        fields = [kernel.slot_schema.fields[slot] for slot in self.slots[part]]
        return Batch(Schema((*event.schema.fields, *fields), self.rows.schema.unit, self.rows.schema.zone),
                     event.sync, event.ends, (*event.columns, *columns))
