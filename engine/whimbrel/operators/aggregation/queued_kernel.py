"""Base of kernels that give results of few rows in many portions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from whimbrel.batch import Batch
from whimbrel.clock import MIN_TIME
from whimbrel.kernels import Kernel


class QueuedKernel(Kernel):
    """Queues batches, until all portions before them are given.

    Attributes
    ----------
    todo : list
        Batches, the groups of their rows, and the row that is next.
    input_watermark : int
        The last watermark of the input. The output waits at :attr:`reached` while batches are queued.
    """

    def __init__(self) -> None:
        self.todo: list[list[Any]] = []
        self.input_watermark = MIN_TIME

    @property
    @abstractmethod
    def reached(self) -> int:
        """The time from which results are due."""

    @abstractmethod
    def close(self) -> list[Batch]:
        """The results that the watermark of the input settles, when nothing is queued."""

    def enqueue(self, batch: Batch, groups: np.ndarray[Any, Any]) -> list[Batch]:
        """Queue a batch; the first portion, if none is due before it."""
        self.todo.append([batch, groups, 0])
        return self.next_portion() if len(self.todo) == 1 else []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.input_watermark = watermark
        return self.after_portion([]) if self.todo else self.close()

    def after_portion(self, out: list[Batch]) -> list[Batch]:
        """A portion, with what follows it once nothing is queued."""
        if self.todo:
            self.watermark = min(self.input_watermark, self.reached)
            return out
        return out + (self.close() if self.input_watermark > MIN_TIME else [])

    @property
    def more(self) -> bool:
        return bool(self.todo)
