"""Rows of the inputs of a periodic loop, by slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Pulse, frozen, surroundings
from whimbrel.kernels import marked, spread

Array = np.ndarray[Any, Any]
Slots = Array | range
"""Numbers of places, ascending; a range where none is left out."""

_NONE = np.empty(0, np.int64)


class SlotRows:
    """The rows that are held of one input, in pieces, and at which places they are."""

    def __init__(self, pieces: Sequence[Batch], phase: int, period: int) -> None:
        self.pieces = pieces
        self.slots: list[Slots] = []
        for piece in pieces:
            first, last = piece.time(0), piece.time(-1)
            dense = last - first == (len(piece) - 1) * period
            begin = (first - phase) // period
            if dense:
                self.slots.append(range(begin, begin + len(piece)))
            else:
                self.slots.append(piece.sync if period == 1 else (piece.sync - phase) // period)

    @property
    def edges(self) -> list[int]:
        """Where pieces begin and end."""
        return [edge for slots in self.slots for edge in (int(slots[0]), int(slots[-1]) + 1)]

    def near(self, slot: int) -> int | None:
        """The first place from this one on at which there is an event."""
        return next((int(slots[at]) for slots in self.slots if (at := _position(slots, slot)) < len(slots)), None)

    def times(self, first: int, stop: int, period: int) -> Array | Pulse | None:
        """When these places begin, of which all but the first and the last have an event, as an input has it."""
        for piece, slots in zip(self.pieces, self.slots, strict=True):
            if isinstance(slots, range) and slots.start <= first + 1 and stop - 1 <= slots.stop:
                if isinstance(piece.times, Pulse):
                    return replace(piece.times, first=piece.times.first + first - slots.start, count=stop - first,
                                   _made=[])
                inner = piece.sync[first + 1 - slots.start : stop - 1 - slots.start]
                wide = surroundings(inner, 1, 1)
                if wide is not None and wide[1] - wide[0] == period == wide[-1] - wide[-2]:
                    return wide
        return None

    def lead(self, first: int) -> int:
        """Ticks from the first row that `between` gives to the slot."""
        return 0

    def full(self, first: int, stop: int) -> bool:
        """Whether there is an event at each of these places."""
        return sum(_position(slots, stop) - _position(slots, first) for slots in self.slots) == stop - first

    def since(self, slot: int) -> list[Batch]:
        """The rows from this place on."""
        kept = [piece.slice(_position(slots, slot), len(piece))
                for piece, slots in zip(self.pieces, self.slots, strict=True)]
        return [piece for piece in kept if len(piece)]

    def between(self, first: int, stop: int) -> tuple[list[Batch], Array, range, bool]:
        """Rows of these places, where they are unless they are everywhere, these places, and whether one is before."""
        rows, at = [], []
        for piece, slots in zip(self.pieces, self.slots, strict=True):
            begin, end = _position(slots, first), _position(slots, stop)
            if end > begin:
                rows.append(piece.slice(begin, end))
                at.append(slots[begin:end])
        full = sum(map(len, rows)) == stop - first
        near = [] if full else [np.asarray(each, np.int64) for each in at]
        where = near[0] if len(near) == 1 else np.concatenate([_NONE, *near])
        return rows, where, range(first, stop), SlotRows.near(self, first - 1) == first - 1


class SampledRows(SlotRows):
    """Rows of an input with another period. Slots are numbered as in the loop."""

    def __init__(self, pieces: Sequence[Batch], phase: int, every: int, loop_phase: int, period: int) -> None:
        super().__init__(pieces, phase, every)
        self.every, self.period, self.lag = every, period, loop_phase - phase

    def _own(self, slot: int) -> int:
        """The event that is active at the begin of a place."""
        return (self.lag + slot * self.period) // self.every

    @property
    def edges(self) -> list[int]:
        return [-((self.lag - slot * self.every) // self.period) for slot in super().edges]

    def near(self, slot: int) -> int | None:
        """None: nothing is where only it is."""
        return None

    def times(self, first: int, stop: int, period: int) -> Array | Pulse | None:
        """None: its events begin elsewhere."""
        return None

    def lead(self, first: int) -> int:
        return (self.lag + first * self.period) % self.every

    def full(self, first: int, stop: int) -> bool:
        return super().full(self._own(first), self._own(stop - 1) + 1)

    def since(self, slot: int) -> list[Batch]:
        return super().since(self._own(slot))

    def between(self, first: int, stop: int) -> tuple[list[Batch], Array, range, bool]:
        return super().between(self._own(first), self._own(stop - 1) + 1)


class SlotRange:
    """The rows of one input at some places."""

    def __init__(self, rows: Sequence[Batch], at: Array, slots: range, before: bool) -> None:
        self.rows, self.at, self.slots, self.before = rows, at, slots, before
        self.full = sum(map(len, rows)) == len(slots)
        self._there: Array | None = None

    def mask(self, kind: str) -> Array:
        """Where an event is "there", or where one begins or ended and so something "changes"."""
        if self._there is None:
            length = len(self.slots)
            self._there = np.ones(length, np.bool_) if self.full else marked(self.at, self.slots.start, length)
        if kind == "there":
            return frozen(self._there)
        changes = self._there.copy()
        changes[1:] |= self._there[:-1]
        changes[0] |= self.before
        return frozen(changes)

    def column(self, position: int, type_: pa.DataType) -> Column:
        return Column.concat([batch.columns[position] for batch in self.rows] or [Column.nulls(type_, 0)])

    def spread(self, values: Any) -> Array:
        """Values of rows at their places, with nothing of worth where no event is."""
        values = np.asarray(values)
        return frozen(values if self.full else spread(values, self.at, self.slots.start, len(self.slots)))


def _position(slots: Slots, slot: int) -> int:
    """How many of them are below this one."""
    if isinstance(slots, range):
        return min(max(slot - slots.start, 0), len(slots))
    return int(np.searchsorted(slots, slot))
