"""Contributions of the blocks of a phase to the states of groups."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

_MAX_KEPT = 1 << 24
"""The largest number of values to keep for a phase."""


class Added(NamedTuple):
    """By addition, the group, the number of blocks of the phase drawn before, and its fields."""

    groups: Array
    before: Array
    fields: Array


class Additions:
    """The additions of the blocks of a phase.

    Parameters
    ----------
    width : int
        The number of fields of a state.

    Attributes
    ----------
    too_many : bool
        Whether there are too many additions, so that none is kept.
    """

    def __init__(self, width: int) -> None:
        self._width, self.too_many = width, False
        self._parts: list[tuple[Array, Array, Array]] = []
        self._kept = 0

    def add(self, groups: Array, before: Array, fields: Array) -> None:
        """Keep what blocks added: the groups, the number of blocks before, and fields by field and state."""
        self._kept += fields.size
        self.too_many = self.too_many or self._kept > _MAX_KEPT
        self._parts = [] if self.too_many else [*self._parts, (groups.astype(np.int64), before, fields)]

    def begin_phase(self) -> None:
        """Discard the additions of earlier phases."""
        self._parts, self._kept, self.too_many = [], 0, False

    @property
    def so_far(self) -> Added | None:
        """A copy of all additions; None if there are too many."""
        if self.too_many:
            return None
        if len(self._parts) > 1:
            groups, before, fields = zip(*self._parts, strict=True)
            self._parts = [(np.concatenate(groups), np.concatenate(before), np.concatenate(fields, axis=1))]
        nothing = np.empty(0, np.int64)
        return Added(*(self._parts[0] if self._parts else (nothing, nothing, np.empty((self._width, 0)))))

    def state_parts(self) -> dict[str, Any]:
        """The parts of the state that change."""
        added = self.so_far
        return {"too_many": self.too_many, "_kept": self._kept, "_parts": [] if added is None else [tuple(added)]}
