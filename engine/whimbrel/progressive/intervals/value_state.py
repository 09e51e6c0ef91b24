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
    """Of each state of a batch: the rows of its block, and how many blocks of the phase had been drawn before that."""

    rows: Array
    before: Array


class ValueState(ABC):
    """What is kept of the values of one aggregate, window by window and group by group.

    Attributes
    ----------
    name : str
        The column of its states.
    """

    name: str

    @abstractmethod
    def add(self, ids: Array, lists: pa.ListArray, groups: int, drawn: Drawn | None) -> None:
        """Take in the values of blocks: a list, in order, for each block and group, of so many groups in all.

        Without `drawn`, they are the last rows; the variance between blocks is not needed any more.
        """

    @abstractmethod
    def begin_phase(self) -> None:
        """What was read until now is known; what is read from now on is a sample again."""

    @abstractmethod
    def snapshot(self, groups: int, position: ScanPosition) -> ValueSnapshot:
        """What is known now, of so many groups."""

    @abstractmethod
    def state_parts(self) -> dict[str, Any]:
        """What rows have changed."""


class ValueSnapshot(ABC):
    """What was kept at one update, from which values and intervals are computed when somebody asks."""

    @abstractmethod
    def column(self, state: SampleState) -> Column:
        """The value of each group: the aggregate itself where all rows were read, an estimate elsewhere."""

    @abstractmethod
    def ends(self, state: SampleState, alpha: float) -> tuple[Array, Array]:
        """By group, ends of confidence sequences of level 1 - alpha; infinite: no bound."""

    def adds(self, state: SampleState, ids: Array, ends: Array, values: Column) -> list[Array]:
        """What lists of values of these rows, of some blocks, add to sums of which intervals are; none where unknown.

        Of several sums, such as those at either end of an interval, the one with the heaviest tails counts.
        """
        return []

    def certain(self, state: SampleState) -> tuple[Array, Array] | None:
        """Between what each value is whatever the rows hold that were not read; None where that may be all."""
        return None


def parts_of(lists: pa.ListArray) -> tuple[Array, Column]:
    """Where each list ends among the values of all, and these."""
    lengths = np.asarray(Column.from_arrow(lists.value_lengths()).values)
    return np.cumsum(lengths, dtype=np.int64), Column.from_arrow(lists.flatten())
