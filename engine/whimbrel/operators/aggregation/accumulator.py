"""Contract of accumulators: the running state of one aggregate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Storage
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.plan import Aggregate
from whimbrel.plan.typed_aggregate import Inputs

Array = np.ndarray[Any, Any]


Remembered = tuple[Array, Array, Array, Array, Array]
"""Of the rows that are kept: start, end, and the chains: head per group (empty without chains), the next older and the
next newer row per slot."""


class Accumulator(ABC):
    """Input, state per group and output column of one aggregate."""

    name: str
    """The result column."""
    aggregate: Aggregate
    type: pa.DataType
    """Of the result column."""
    out_dtypes: Sequence[np.dtype[Any]]
    """Of what it writes for each row of a schedule."""

    @property
    def counts_rows(self) -> bool:
        """Whether the value is just the number of rows, which windows know anyway."""
        return False

    @property
    def fuses(self) -> bool:
        """Whether a generated loop can take it in."""
        return False

    @property
    def walks_rows(self) -> bool:
        """Whether it walks along the remembered rows of a group."""
        return False

    @abstractmethod
    def grow_groups(self, groups: int) -> None:
        """Grow the state to this many groups."""

    @abstractmethod
    def move_groups(self, old: Array, new: Array, groups: int) -> None:
        """Give groups other numbers, of so many; all that are not among `old` are as if they never had a row."""

    @abstractmethod
    def grow_slots(self, slots: int) -> None:
        """Grow the state to this many retained rows."""

    @abstractmethod
    def read(self, batch: Batch) -> Inputs:
        """What it takes of each row."""

    @abstractmethod
    def apply(self, schedule: OperationLog, inputs: Inputs, remembered: Remembered, outs: Outs,
              first: int = 0) -> int | None:
        """Replay a schedule, from one of its operations on: update states of groups and write what is to be shown.

        Returns the operation that could not be done for want of chains; None when all are done.
        """

    @abstractmethod
    def columns(self, outs: Outs, rows: int, storage: Storage | None = None) -> list[Column]:
        """What the last replay wrote for so many rows, as columns of the declared types; in a `storage` they stay."""

    @abstractmethod
    def fork(self) -> Accumulator:
        """An independent copy."""
