"""The contract of whatever judges rows by how late they come."""

from __future__ import annotations

from abc import abstractmethod

from whimbrel.batch import Batch
from whimbrel.kernels import Kernel


class AdvancesWhenIdle(Kernel):
    """A kernel that is given rows as they come, and follows how far time has come with them."""

    @abstractmethod
    def advance_idle(self, time: int) -> list[Batch]:
        """Go on as if the newest row of whatever is waited for were at this time; answer with what that completes."""
