"""Largest change back of the clocks of a time zone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from whimbrel.clock.calendar_grid import shown_by_clocks

_HOURS = 48
"""Clocks that go back twice within this time count as one change."""


@lru_cache(maxsize=64)
def largest_change_back(zone: str) -> int:
    """Seconds by which clocks of a zone go back within two days, at most.

    The years are 1900 to 2100.

    Parameters
    ----------
    zone : str

    Examples
    --------
    >>> largest_change_back("UTC"), largest_change_back("Australia/Lord_Howe")
    (0, 3600)
    """
    hours = np.arange(-613_608, 1_139_568) * 3_600
    offsets = shown_by_clocks(hours, zone, "s") - hours
    changes = np.flatnonzero(offsets[1:] < offsets[:-1]).tolist()
    return max((int(offsets[max(at - _HOURS, 0):at + 1].max() - offsets[at + 1]) for at in changes), default=0)
