"""The contract of watermark generators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from whimbrel.batch import Batch, Mask
from whimbrel.clock import MIN_TIME

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ArrivalWatermarks:
    """Times at which rows arrived, one for each row.

    Attributes
    ----------
    current : array of int64
        A row before this time is late.
    newest : array of int64
        The largest time seen among the rows that it is compared with.
    """

    current: Array
    newest: Array


class WatermarkGenerator(ABC):
    """Follows the rows of a source in the order in which they arrive.

    Attributes
    ----------
    now : int
        No row before this time can still be on time, whatever comes.
    newest : int
        Largest time seen, in ticks.
    """

    def __init__(self) -> None:
        self.now = self.newest = MIN_TIME

    @abstractmethod
    def follow(self, batch: Batch, is_punctuation: Mask | None = None) -> ArrivalWatermarks:
        """Let rows pass, at least one; those that are `is_punctuation` are punctuations."""

    @abstractmethod
    def fork(self) -> Self:
        """An independent copy."""

    def where(self, batch: Batch, row: int) -> str:
        """What else than its number tells a reader where the row is; empty for nothing."""
        return ""

    def count_late(self, rows: Batch) -> None:  # noqa: B027 - a source without partitions has nothing to do
        """Remember which partitions these late rows are of."""

    def late_rows(self, maximum: int) -> Mapping[Any, int]:
        """Late rows by partition: the `maximum` partitions that have the most."""
        return {}
