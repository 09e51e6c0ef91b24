"""The read and unread blocks of each window, and the sampling fractions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Part(NamedTuple):
    """Of each window, how many blocks may hold events of it; their rows, and the squares of their rows."""

    blocks: Array
    rows: Array
    squares: Array


@dataclass(frozen=True)
class Read:
    """Of each window, the blocks that may hold events of it, and what follows from that.

    Attributes
    ----------
    window : numpy.ndarray of int64
        Of each row of the answer, the number of its window.
    drawn, left, later, before : Part
        Read in this phase; of this phase, not read yet; of later phases; read in earlier ones.
    rows_inside, rows_left : numpy.ndarray
        Source rows that were not read and can be of no other window; all that were not read and may be of it.
    phase, fraction : numpy.ndarray
        Blocks of this phase, read or not; the fraction of them that was read.
    growth : tuple of numpy.ndarray
        Rows that are left for each one that was drawn; and for each one read whenever, where none was.
    exact_windows, sampled : numpy.ndarray of bool
        Windows of which no block is left; those of which what was drawn is a sample, and says how much blocks differ.
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
        """Rows of the answer of which no block is left."""
        return self.exact_windows[self.window]
