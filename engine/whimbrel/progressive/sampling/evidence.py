"""Interface of statistics of all blocks: degrees of freedom, whichever blocks are drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from whimbrel.batch import Column, Ticks

Array = np.ndarray[Any, Any]


class Evidence(NamedTuple):
    """What blocks tell of rows of an answer.

    Attributes
    ----------
    degrees : numpy.ndarray of float64
        Degrees of freedom of the variance between as many blocks as were drawn, by value and row.
    blocks : numpy.ndarray of int64
        By row, how many of these have rows of the group, as far as is known.
    """

    degrees: Array
    blocks: Array


class Statistics(ABC):
    """What is known of all blocks before a sample of them is drawn.

    Attributes
    ----------
    certain : numpy.ndarray of int64
        Blocks that are to be read first.
    """

    certain: Ticks

    @abstractmethod
    def evidence(self, keys: Sequence[Column], drawn: Array) -> Evidence:
        """Of rows with these starts and keys, of each of which so many blocks were drawn."""

    @abstractmethod
    def left(self, keys: Sequence[Column], unread: Array) -> Array | None:
        """What these blocks add to fields, by field and row with these starts and keys; None where it is not known."""
