"""Interface of statistics of blocks: degrees of freedom.

They do not depend on the blocks that are drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from whimbrel.batch import Column, Ticks

Array = np.ndarray[Any, Any]


class Evidence(NamedTuple):
    """Degrees of freedom of the variance between blocks.

    Attributes
    ----------
    degrees : numpy.ndarray of float64
        For as many blocks as were drawn, by value and row.
    blocks : numpy.ndarray of int64
        By row, the expected number of drawn blocks with rows of the group.
    of_some : bool
        Whether they are from some blocks. Drawn blocks with heavier tails then make intervals wider. They never
        withhold one.
    """

    degrees: Array
    blocks: Array
    of_some: bool = False

    def degrees_with(self, drawn_degrees: Array, enough: Array, of: Array | int) -> Array:
        """Degrees of freedom for the widths of these values.

        Parameters
        ----------
        drawn_degrees, enough : numpy.ndarray of float64
            By value and row: those of the drawn blocks; as many as an interval needs.
        of : numpy.ndarray of int64 or int
            The values.
        """
        degrees = self.degrees[of]
        return np.fmin(degrees, np.fmax(drawn_degrees, enough)) if self.of_some else degrees


class Statistics(ABC):
    """Statistics of blocks, before a sample of them is drawn.

    Attributes
    ----------
    certain : numpy.ndarray of int64
        Blocks to read first.
    basis : str
        What approximate intervals rest on, for the user.
    """

    certain: Ticks
    basis: str

    @abstractmethod
    def evidence(self, keys: Sequence[Column], drawn: Array) -> Evidence:
        """The evidence for rows with these starts and keys, by the number of drawn blocks."""

    @abstractmethod
    def left(self, keys: Sequence[Column], unread: Array) -> Array | None:
        """What these blocks add to fields, by field and row with these starts and keys; None if unknown."""
