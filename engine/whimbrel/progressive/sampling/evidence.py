"""Interface of statistics of all blocks: degrees of freedom.

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
    """

    degrees: Array
    blocks: Array


class Statistics(ABC):
    """Statistics of all blocks, before a sample of them is drawn.

    Attributes
    ----------
    certain : numpy.ndarray of int64
        Blocks to read first.
    """

    certain: Ticks

    @abstractmethod
    def evidence(self, keys: Sequence[Column], drawn: Array) -> Evidence:
        """The evidence for rows with these starts and keys, by the number of drawn blocks."""

    @abstractmethod
    def left(self, keys: Sequence[Column], unread: Array) -> Array | None:
        """What these blocks add to fields, by field and row with these starts and keys; None if unknown."""
