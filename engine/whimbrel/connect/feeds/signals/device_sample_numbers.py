"""Sample numbers of a device that may lose samples."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass
class DeviceSampleNumbers:
    """Numbers the samples of a device.

    Samples are counted. If the time of the device is ahead of the count by more than `step_s`, samples are missing, and
    the numbers go ahead. They never go back.

    Parameters
    ----------
    per_second : Fraction
        Samples per second.
    step_s : float
        Largest difference between count and time that is not a gap.
    zero_s : float, optional
        Time of sample 0 on the clock of the device; default: that of the first chunk.
    next : int
        The next sample.

    Examples
    --------
    >>> numbered = DeviceSampleNumbers(Fraction(100), 0.5)
    >>> numbered.number(10, 7.0), numbered.number(10, 7.11), numbered.number(10, 9.2), numbered.missing
    (0, 10, 220, 200)
    """

    per_second: Fraction
    step_s: float
    zero_s: float | None = None
    next: int = 0
    missing: int = 0

    def number(self, count: int, seconds: float) -> int:
        """The number of the first of so many samples, of which the first has this time."""
        if self.zero_s is None:
            self.zero_s = seconds
        by_time = round(Fraction(seconds - self.zero_s) * self.per_second)
        if by_time - self.next > self.step_s * self.per_second:
            self.missing += by_time - self.next
            self.next = by_time
        first = self.next
        self.next += count
        return first

    @property
    def offset(self) -> dict[str, Any]:
        """What a resumed run has to know."""
        return {"zero_s": self.zero_s, "next": self.next}
