"""The contract of kernels whose watermark advances when inputs are idle."""

from __future__ import annotations

from abc import abstractmethod

from whimbrel.batch import Batch
from whimbrel.kernels import Kernel


class AdvancesWhenIdle(Kernel):
    """A kernel that reads rows in arrival order, and advances its watermark with them."""

    @abstractmethod
    def advance_idle(self, time: int) -> list[Batch]:
        """Advance as if the newest row of each idle input were at this time; return what that completes."""
