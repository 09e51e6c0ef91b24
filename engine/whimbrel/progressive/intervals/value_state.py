"""Interface of aggregates whose states are their values: quantiles, distinct counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.progressive.sampling.block_scan import ScanPosition
from whimbrel.progressive.sampling.sample_state import SampleState

Array = np.ndarray[Any, Any]


class Drawn(NamedTuple):
    """By state of a batch, the rows of its block, and the number of blocks of the phase drawn before."""

    rows: Array
    before: Array


class ValueState(ABC):
    """The values of one aggregate, by window and group.

    Attributes
    ----------
    name : str
        The column of its states.
    """

    name: str

    @abstractmethod
    def add(self, ids: Array, lists: pa.ListArray, groups: int, drawn: Drawn | None) -> None:
        """Add the values of blocks: a sorted list for each block and group, of this many groups in all.

        Without `drawn`, they are the last rows; the variance between blocks is not needed any more.
        """

    @abstractmethod
    def begin_phase(self) -> None:
        """Start a phase: rows read until now are known, and a new sample begins."""

    @abstractmethod
    def snapshot(self, groups: int, position: ScanPosition) -> ValueSnapshot:
        """The values at this moment, for this many groups."""

    @abstractmethod
    def state_parts(self) -> dict[str, Any]:
        """The parts of the state that change."""


class ValueSnapshot(ABC):
    """The values at one update; results and intervals are computed on first use."""

    @abstractmethod
    def column(self, state: SampleState) -> Column:
        """The value of each group: exact if all rows were read, else an estimate."""

    @abstractmethod
    def ends(self, state: SampleState, alpha: float) -> tuple[Array, Array]:
        """By group, ends of confidence sequences of level 1 - alpha; infinite: no bound."""

    def adds(self, state: SampleState, ids: Array, ends: Array, values: Column) -> list[Array]:
        """What lists of values of blocks add to the sums for intervals; empty if unknown.

        With several sums, such as those at both ends of an interval, the heaviest tails count.
        """
        return []

    def certain(self, state: SampleState) -> tuple[Array, Array] | None:
        """The smallest and the largest possible value by group; None if every value is possible."""
        return None


def parts_of(lists: pa.ListArray) -> tuple[Array, Column]:
    """The ends of the lists among all values, and the values."""
    lengths = np.asarray(Column.from_arrow(lists.value_lengths()).values)
    return np.cumsum(lengths, dtype=np.int64), Column.from_arrow(lists.flatten())
