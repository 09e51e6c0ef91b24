"""Kernel of a periodic loop: rows to slots, and slots to rows.

A column has one entry per slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Pulse, Schema, check_reach, frozen, numpy_type
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import KernelError
from whimbrel.kernels import Kernel
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.temporal.bounds import slot_bounds
from whimbrel.temporal.loop_codegen import GeneratedLoop, loop_text
from whimbrel.temporal.loop_steps import PeriodicStep, Sampled, Windowed, in_order
from whimbrel.temporal.slot_rows import SampledRows, SlotRange, SlotRows

Array = np.ndarray[Any, Any]
RANGE = 524_288
"""Most places that are computed at once: so many that what a range takes besides its loop hardly counts."""

_SHORT = 4_096
"""Pieces of fewer rows are put together."""

_INTERPRETED_RANGE = 1_024
"""Most at once as long as the loop is not compiled: soon it will be."""


class PeriodicKernel(Kernel):
    """Holds the rows within reach of the next result, and a result row until its end is known.

    Parameters
    ----------
    last : PeriodicStep
        What makes the result.
    period : int
        Ticks from one place to the next.
    lasts : int
        How long a row of the result lasts at least, in ticks; where that is no period, it lasts no longer either.
    upstream : sequence of Schema
    shown : str
        The steps in the user's words.
    """

    def __init__(self, last: PeriodicStep, period: int, lasts: int, upstream: Sequence[Schema], shown: str) -> None:
        self.last, self.period, self.lasts, self.shown = last, period, lasts, shown
        self.schemas = tuple(upstream)
        bounds = slot_bounds(last)
        self.back, self.forward = bounds.back, bounds.lookahead
        self.measures = [measure for step in in_order(last) if isinstance(step, Windowed) for measure in step.measures]
        self.held: list[list[Batch]] = [[] for _ in upstream]
        self.other_periods = {step.port: step.ticks for step in in_order(last) if isinstance(step, Sampled)}
        self.other_phases = dict.fromkeys(self.other_periods, 0)
        self.watermarks = [MIN_TIME] * len(upstream)
        self.phase: int | None = None
        self.next = 0
        self.open: Batch | None = None
        self.texts: dict[Any, tuple[GeneratedLoop, list[Array]]] = {}

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch, held = batch.compact(), self.held[port]
        period = max([self.period, *self.other_periods.values()])
        check_reach(batch, (self.back + self.forward + 3) * period, self.shown, in_order=True)
        if held and len(held[-1]) + len(batch) < _SHORT:
            batch = Batch.concat([held.pop(), batch])
        if len(batch):
            held.append(batch)
            if port in self.other_periods:
                self.other_phases[port] = batch.time(0) % self.other_periods[port]
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        known = min(self.watermarks)
        out: list[Batch] = []
        if self.phase is None and any(self._at_slots):
            first = min(pieces[0].time(0) for pieces in self._at_slots if pieces)
            self.phase = first % self.period
            self.next = first // self.period - self.forward
        if self.phase is not None and known > MIN_TIME:
            out = self._compute_until(self._stop(known))
        elif known > MIN_TIME:
            self._forget(known)
        self.watermark = self._output_watermark(known)
        return out

    @property
    def buffered_rows(self) -> int:
        return sum(len(piece) for pieces in self.held for piece in pieces)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(text.text for text, _ in list(self.texts.values()))

    def state_parts(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name not in ("texts", "measures")}

    def fork(self) -> PeriodicKernel:
        clone = super().fork()
        clone.texts = {}  # two kernels may not work in the same arrays
        return clone

    def _stop(self, known: int) -> int:
        """The first slot of the result that is provisional."""
        if known < INF:
            return -((self._phase - known) // self.period) - self.forward
        last = max((pieces[-1].time(-1) for pieces in self._at_slots if pieces), default=None)
        return self.next if last is None else (last - self._phase) // self.period + self.back + 2

    def _output_watermark(self, known: int) -> int:
        if known in (INF, MIN_TIME):
            return known
        if self.phase is None:
            return known - self.forward * self.period
        begun = INF if self.open is None else self.open.time(0)
        return min(begun, self._phase + self.next * self.period, known)

    @property
    def _at_slots(self) -> list[list[Batch]]:
        """What is held of the inputs whose events begin at places."""
        return [pieces for port, pieces in enumerate(self.held) if port not in self.other_periods]

    @property
    def _phase(self) -> int:
        assert self.phase is not None
        return self.phase

    def _forget(self, known: int) -> None:
        """Drop rows of inputs with another period that end before the first open slot."""
        for port, every in self.other_periods.items():
            oldest = known - (self.back + self.forward + 1) * self.period - every
            near = [piece.slice(int(np.searchsorted(piece.sync, oldest)), len(piece)) for piece in self.held[port]]
            self.held[port] = [piece for piece in near if len(piece)]

    def _compute_until(self, stop: int) -> list[Batch]:
        given = [SampledRows(pieces, self.other_phases[port], every, self._phase, self.period)
                 if (every := self.other_periods.get(port)) else SlotRows(pieces, self._phase, self.period)
                 for port, pieces in enumerate(self.held)]
        out = []
        while self.next < stop:
            near = [slot for rows in given if (slot := rows.near(self.next - self.back - 1)) is not None]
            if not near:
                self.next = stop
            elif min(near) - self.forward > self.next:  # nothing is near: places that are empty cost nothing
                self.next = min(stop, min(near) - self.forward)
            else:
                out += self._range(stop, given)
        self.held = [rows.since(self.next - self.back - 1) for rows in given]
        return out

    def _range(self, stop: int, given: Sequence[SlotRows]) -> list[Batch]:
        """Compute places from the next one on, as many as are done at once, but not `stop`."""
        base = self.next - self.back
        # Where inputs begin, end, or continue in another piece, ranges are short: the others need no masks or copies.
        cuts = [cut for rows in given for edge in rows.edges for cut in (edge - self.forward, edge + self.back)]
        stop = min([stop, self.next + RANGE, *(cut for cut in cuts if cut > self.next)])
        text, scratch = self._text(masked=not all(rows.full(base, stop + self.forward) for rows in given))
        arguments, outs = self._arguments(text, scratch, stop, given)
        if stop - self.next > _INTERPRETED_RANGE and not text.loop.ready(*arguments):
            stop = self.next + _INTERPRETED_RANGE
            arguments, outs = self._arguments(text, scratch, stop, given)
        try:
            with explained_errors(self.measures), text.policy.of(stop - self.next):
                text.loop(*arguments)
        except OverflowError as error:
            raise KernelError("An integer leaves int64.", where=self.shown,
                              hint="Cast the column to floats: .cast(float).") from error
        if text.everywhere:
            outs.insert(1, self._times(given, stop))
        self.next = stop
        return self._rows(text, outs)

    def _text(self, *, masked: bool) -> tuple[GeneratedLoop, list[Array]]:
        """The loop for inputs with such nulls, and the arrays that it works in."""
        nulls = tuple(tuple(any(piece.columns[at].valid is not None for piece in pieces)
                            for at in range(len(schema.fields))) for pieces, schema in zip(self.held, self.schemas,
                                                                                           strict=True))
        if (masked, nulls) not in self.texts:
            text = loop_text(self.last, self.shown, nulls, self.period, masked=masked, max_slots=RANGE)
            self.texts[masked, nulls] = text, [np.zeros(length, dtype) for dtype, length in text.scratch]
        return self.texts[masked, nulls]

    def _arguments(self, text: GeneratedLoop, scratch: list[Array], stop: int, given: Sequence[SlotRows]
                   ) -> tuple[list[Any], list[Any]]:
        """Arguments of the loop and its output buffers, with space for an earlier row and an end."""
        base, rows = self.next - self.back, stop - self.next
        ranges = [SlotRange(*each.between(base, stop + self.forward)) for each in given]
        inputs = [ranges[port].mask(kind) for kind, port in text.masks]
        for port, position, with_nulls in text.leaves:
            column = ranges[port].column(position, self.schemas[port].fields[position].type)
            inputs += [ranges[port].spread(column.values), *([ranges[port].spread(column.validity())] if with_nulls
                                                             else [])]
        types: list[Any] = [np.int64] * ((not text.everywhere) + text.changing)
        for field, nullable in zip(self.last.schema, text.nullable, strict=True):
            types += [numpy_type(field.type), *([np.bool_] if nullable else [])]
        stays = self.storage if text.everywhere else None
        outs = [np.zeros(4, np.int64), *(np.empty(rows + 2, dtype) if stays is None else stays.empty(rows + 2, dtype)
                                         for dtype in types)]
        time = self._phase + base * self.period
        leads = [given[port].lead(base) for port in text.leads]
        return [base, self.back, self.back + rows, time, self.period, *leads, *inputs, *scratch, outs[0],
                *(array[1:-1] for array in outs[1:])], outs

    def _times(self, given: Sequence[SlotRows], stop: int) -> Array | Pulse:
        """Starts of the slots of a range, and of those before and after it; the array of an input if possible."""
        first, rows = self.next - 1, stop - self.next + 2
        for each in given:
            if (known := each.times(first, stop + 1, self.period)) is not None:
                return known if self.storage is None or isinstance(known, Pulse) else self.storage.keep(known)
        times = np.empty(rows, np.int64) if self.storage is None else self.storage.empty(rows, np.int64)
        np.multiply(np.arange(rows), self.period, out=times)
        times += self._phase + first * self.period
        return times

    def _rows(self, text: GeneratedLoop, outs: Sequence[Any]) -> list[Batch]:
        """Events of a range that have ended, and the open one of the range before, if it has."""
        rows, going, changed, first_change = map(int, outs[0])
        out: list[Batch] = []
        first, stop = 1, 1 + rows
        if self.open is not None and changed:
            if first_change == self.open.time(0) + self.lasts and _fits(self.open, text):
                first = 0
                _put_first(self.open, outs, text)
            else:
                out.append(self.open.having(ends=frozen(np.array([first_change]))))
            self.open = None
        # Few rows do not hold what was made for many, unless they are copied to where they stay at once.
        whole = self.storage is not None or 2 * rows >= len(outs[-1])
        arrays = iter([array[first:stop] if whole or isinstance(array, Pulse) else array[first:stop].copy()
                       for array in outs[1:]])
        sync, ends = next(arrays), next(arrays) if text.changing else self.lasts
        columns = []
        for field, nullable in zip(self.last.schema, text.nullable, strict=True):
            values, valid = next(arrays), next(arrays) if nullable else None
            columns.append(Column(field.type, values, None if valid is None or valid.all() else valid))
        result = Batch(self.last.schema, sync, ends, tuple(columns),
                       gaps=(self.period, self.period if text.everywhere else INF))
        # The end of the last one is known when something changes after the range.
        if going and rows and self.lasts == self.period and not text.recomputed:
            self.open = result.slice(len(result) - 1, len(result))
            result = result.slice(0, len(result) - 1)
        return [*out, result] if len(result) else out


def _fits(row: Batch, text: GeneratedLoop) -> bool:
    """Whether a row can be one of those that a loop writes: without an end of its own, and without other nulls."""
    return not text.changing and all(nullable or column.valid is None
                                     for column, nullable in zip(row.columns, text.nullable, strict=True))


def _put_first(row: Batch, outs: Sequence[Any], text: GeneratedLoop) -> None:
    """Write a row in front of those that a loop wrote, without ends; where times are given, its own is there."""
    arrays = iter(outs[1:])
    times = next(arrays)
    if not text.everywhere:
        times[0] = row.time(0)
    for column, with_nulls in zip(row.columns, text.nullable, strict=True):
        next(arrays)[0] = column.values[0]
        if with_nulls:
            next(arrays)[0] = column.validity()[0]
