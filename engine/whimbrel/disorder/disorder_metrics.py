"""Four metrics of disorder in arrival order (Impatience, ICDE 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.sorting import disorder_metrics as primitive

Array = np.ndarray[Any, Any]

_count_inversions = Compiled(primitive.count_inversions)
_deal_to_runs = Compiled(primitive.deal_to_runs)


@dataclass(frozen=True, slots=True)
class Disorderliness:
    """How far a sequence of times is from being sorted (Impatience, ICDE 2018, section II and table I).

    Parameters
    ----------
    inversions : int
        Pairs of rows that are out of order.
    distance : int
        The largest number of places between two such rows.
    runs : int
        Maximal stretches that are in order.
    interleaved : int
        The least number of sorted runs that the rows can be split into.

    Examples
    --------
    >>> import numpy as np
    >>> measure_disorder(np.array([1, 4, 2, 3, 6, 5]))
    Disorderliness(inversions=3, distance=2, runs=3, interleaved=2)
    """

    inversions: int
    distance: int
    runs: int
    interleaved: int


def measure_disorder(times: Array) -> Disorderliness:
    """The four measures of times in the order of arrival."""
    if not len(times):
        return Disorderliness(0, 0, 0, 0)
    newest = np.maximum.accumulate(times)
    # A late row is furthest from the first larger row, which is where the running maximum passes it.
    late = np.flatnonzero(times < newest)
    distance = late - np.searchsorted(newest, times[late], "right")
    runs = 1 + int(np.count_nonzero(times[1:] < times[:-1]))
    times = np.ascontiguousarray(times)
    return Disorderliness(
        int(_count_inversions(times.copy(), np.empty_like(times))), int(distance.max(initial=0)), runs,
        int(_deal_to_runs(times, np.empty(runs, np.int64))))
