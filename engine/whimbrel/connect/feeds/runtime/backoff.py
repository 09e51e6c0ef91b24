"""Exponential backoff with jitter for reconnects."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Backoff:
    """Waits that double up to a limit, with random jitter so that clients do not reconnect at the same time.

    Parameters
    ----------
    first_s, max_s : float
        The first and the longest wait, in seconds.

    Examples
    --------
    >>> waits = Backoff(1.0, 5.0, random.Random(1))
    >>> [round(waits.wait_s(), 1) for _ in range(4)], waits.attempts
    ([1.0, 1.5, 3.1, 4.6], 4)
    """

    first_s: float = 0.25
    max_s: float = 5.0
    chance: random.Random = field(default_factory=random.Random)
    attempts: int = 0

    def wait_s(self) -> float:
        """The next wait, in seconds."""
        longest = min(self.first_s * 2.0 ** min(self.attempts, 62), self.max_s)
        self.attempts += 1
        return longest * (1 - 0.3 * self.chance.random())

    def reset(self) -> None:
        """Start again with the first wait, after a connection succeeded."""
        self.attempts = 0
