"""Evicting table: partial aggregates in slots that are lost on collision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whimbrel.clock import INF
from whimbrel.kernels.primitives.hashing.evicting_slots import FREE
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator

Array = np.ndarray[Any, Any]

Partials = tuple[Array, Array, Array, list[Array]]
"""Panes, keys, numbers of rows and fields of states; one entry for each partial aggregate."""

_AT, _OLDEST, _INSERTED = range(3)


class EvictingTable:
    """Slots of (key, pane), each with the partial aggregate of its group since the group took the slot.

    Parameters
    ----------
    slots : int
        A power of two.
    measures : sequence of ScalarAccumulator
        What is kept of each group, next to its number of rows.

    Attributes
    ----------
    cursor : array of int64
        The pane of the last row, the oldest pane since the last flush, and how many groups took a slot.
    """

    def __init__(self, slots: int, measures: Sequence[ScalarAccumulator]) -> None:
        self.nothing = [value for measure in measures if not measure.counts_rows for value in measure.steps.init]
        self.cursor = np.array([FREE, INF, 0], np.int64)
        self._free(slots)
        self.out_pane, self.out_key, self.out_rows = (np.empty(0, np.int64) for _ in range(3))
        self.out_states: list[Array] = [np.empty(0, each.dtype) for each in self.states]

    def _free(self, slots: int) -> None:
        self.key, self.rows, self.born = (np.zeros(slots, np.int64) for _ in range(3))
        self.pane = np.full(slots, FREE, np.int64)
        self.states = [np.full(slots, value) for value in self.nothing]

    def __len__(self) -> int:
        return len(self.key)

    @property
    def groups(self) -> int:
        """How many slots are taken."""
        return int(np.count_nonzero(self.rows))

    def fork(self) -> EvictingTable:
        clone = object.__new__(EvictingTable)
        clone.__dict__.update(self.__dict__)
        for name in ("key", "rows", "born", "pane", "cursor"):
            setattr(clone, name, getattr(self, name).copy())
        clone.states = [each.copy() for each in self.states]
        clone.out_pane, clone.out_key, clone.out_rows = (np.empty(0, np.int64) for _ in range(3))
        clone.out_states = [np.empty(0, each.dtype) for each in self.states]
        return clone

    def state_parts(self) -> dict[str, Any]:
        """Without the buffers, which no row stays in."""
        return {name: each for name, each in vars(self).items() if not name.startswith("out_") and name != "nothing"}

    def take(self, loop: Callable[..., int], inputs: Sequence[Any], rows: int) -> Partials:
        """Let rows in, in any order; what they evict."""
        if rows > len(self.out_pane):  # each row evicts one group at most
            self.out_pane, self.out_key, self.out_rows = (np.empty(rows, np.int64) for _ in range(3))
            self.out_states = [np.empty(rows, each.dtype) for each in self.states]
        done = int(loop(*inputs, self.key, self.pane, self.rows, self.born, *self.states, self.cursor,
                        self.out_pane, self.out_key, self.out_rows, *self.out_states))
        return (self.out_pane[:done].copy(), self.out_key[:done].copy(), self.out_rows[:done].copy(),
                [each[:done].copy() for each in self.out_states])

    def flush(self, before: int = INF) -> Partials | None:
        """Evict the groups of panes that begin before a time, in the order in which they took their slots."""
        if self.cursor[_OLDEST] >= before:
            return None
        passed = np.flatnonzero((self.rows > 0) & (self.pane < before))
        passed = passed[np.argsort(self.born[passed])]
        out = self.pane[passed], self.key[passed], self.rows[passed], [each[passed] for each in self.states]
        self.rows[passed], self.pane[passed] = 0, FREE
        left = self.pane[self.rows > 0]
        self.cursor[_OLDEST] = left.min() if len(left) else INF
        return out

    def resize(self, slots: int) -> Partials | None:
        """Another number of slots; all groups are evicted."""
        out = self.flush()
        self._free(slots)
        return out
