"""The read and unread blocks of each window, and the sampling fractions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Part(NamedTuple):
    """By window, the number of blocks that may hold its events, their rows, and the squares of their rows."""

    blocks: Array
    rows: Array
    squares: Array


@dataclass(frozen=True)
class Read:
    """By window, the blocks that may hold its events.

    Attributes
    ----------
    window : numpy.ndarray of int64
        The index of the window of each result row.
    drawn, left, later, before : Part
        Blocks read in this phase; unread ones of this phase; those of later phases; those of earlier phases.
    rows_inside, rows_left : numpy.ndarray
        Unread source rows that can only be in this window; all unread source rows that may be in it.
    phase, fraction : numpy.ndarray
        Blocks of this phase; the fraction of them that was read.
    growth : tuple of numpy.ndarray
        Unread rows for each drawn row; and for each row read at any time, if none was drawn.
    exact_windows, sampled : numpy.ndarray of bool
        Windows without unread blocks; windows whose drawn blocks are a random sample.
    """

    window: Array
    drawn: Part
    left: Part
    later: Part
    before: Part
    rows_inside: Array
    rows_left: Array
    phase: Array
    fraction: Array
    growth: tuple[Array, Array]
    exact_windows: Array
    sampled: Array

    @cached_property
    def exact(self) -> Array:
        """Result rows of windows without unread blocks."""
        return self.exact_windows[self.window]
