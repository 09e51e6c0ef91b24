"""Track which parts of lifetimes are covered by other events."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Schema, frozen
from whimbrel.clock import MIN_TIME
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.joins.coverage import (
    ARRIVED,
    BARE,
    COVERED,
    COVERING,
    TIMERS,
    WRITTEN,
    coverage_pieces,
)

Array = np.ndarray[Any, Any]

_pieces = Compiled(coverage_pieces)
_CAPACITY = 65_536
_SLOTS_AT_FIRST = 1024


@dataclass(frozen=True)
class Pieces:
    """Parts of lifetimes, as intervals, start edges and end edges in time order; each is of the row in a slot."""

    slot: Array
    sync: Array
    other: Array
    ids: Array

    def batch(self, schema: Schema, columns: Sequence[Column], port: int = 0) -> Batch:
        """Rows with this payload. Ids of two ports never meet."""
        ids = np.where(self.ids < 0, self.ids, 2 * self.ids + port)
        return Batch(schema, self.sync, self.other, tuple(columns), ids=ids)


class Coverage:
    """State per slot of a :class:`whimbrel.operators.joins.join_input.JoinInput`.

    Parameters
    ----------
    covered : bool
        Whether the covered parts are wanted, or those that are not.
    """

    def __init__(self, *, covered: bool) -> None:
        self.wanted = COVERED if covered else BARE
        self.scalars = np.zeros(4, np.int64)
        self.state, self.awaits_end = np.zeros(_SLOTS_AT_FIRST, np.int8), np.zeros(_SLOTS_AT_FIRST, np.bool_)
        self.ends, self.until, self.since, self.piece = (np.zeros(_SLOTS_AT_FIRST, np.int64) for _ in range(4))
        # A row is at most twice in the heap: for its next change and for its end.
        self.times, self.slots = (np.zeros(2 * _SLOTS_AT_FIRST, np.int64) for _ in range(2))

    def fork(self) -> Coverage:
        clone = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(clone, name, value.copy())
        return clone

    def step(self, base: int, rows: Batch, who: Array, start: Array, end: Array, limit: int) -> list[Pieces]:
        """Take in rows, in slots from `base` on, and coverings ``[start, end)`` of slots, both in time order.

        Everything before `limit` is decided: no row and no covering with a start before it can follow.
        """
        total = base + len(rows)
        if total > len(self.state):
            for name in ("state", "awaits_end", "ends", "until", "since", "piece"):
                setattr(self, name, extend(getattr(self, name), 2 * total, 0))
            self.times, self.slots = extend(self.times, 4 * total, 0), extend(self.slots, 4 * total, 0)
        new = slice(base, total)
        self.state[new], self.awaits_end[new] = 0, False
        self.ends[new], self.until[new], self.piece[new] = rows.other, MIN_TIME, -1
        self.scalars[ARRIVED] = self.scalars[COVERING] = 0
        coverings = frozen(who), frozen(start), frozen(end)
        out = []
        done = _CAPACITY
        while done == _CAPACITY:
            slot, sync, other, ids = (np.empty(_CAPACITY, np.int64) for _ in range(4))
            done = int(_pieces(self.scalars, self.wanted, limit, base, rows.sync, *coverings,
                               self.state, self.ends, self.until, self.since, self.piece, self.awaits_end,
                               self.times, self.slots, slot, sync, other, ids))
            self.scalars[WRITTEN] += done
            if done:
                out.append(Pieces(*(array[:done].copy() for array in (slot, sync, other, ids))))
        return out

    def stay(self, alive: Array) -> None:
        """Slots that stay move together; all others are over."""
        moved = np.full(len(self.state), -1, np.int64)
        moved[alive] = np.arange(len(alive))
        for name in ("state", "awaits_end", "ends", "until", "since", "piece"):
            array = getattr(self, name)
            array[: len(alive)] = array[alive]
        timers = int(self.scalars[TIMERS])
        live = np.flatnonzero(moved[self.slots[:timers]] >= 0)
        live = live[np.argsort(self.times[live], kind="stable")]  # sorted is a heap, too
        self.times[: len(live)], self.slots[: len(live)] = self.times[live], moved[self.slots[live]]
        self.scalars[TIMERS] = len(live)
