"""How many sorted runs a sort holds as rows come (Impatience, ICDE 2018, figure 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.online_sort import count_runs
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.sorting import impatience as primitive

Array = np.ndarray[Any, Any]

_MAX_RUNS = 65_536
_counted = Compiled(count_runs)


def runs_over_time(times: Array, *, every: int, latency: int, cuts: bool) -> Array:
    """Sorted runs after each `every` rows.

    Parameters
    ----------
    times : array of int64, shape (rows,)
        Event times in the order of arrival.
    every : int
        Rows between punctuations.
    latency : int
        Ticks by which a punctuation is earlier than the newest row.
    cuts : bool
        Whether a punctuation takes finished rows out of their runs. With it this is Impatience sort. Without it, it is
        Patience sort, whose runs stay until the end.

    Returns
    -------
    array of int64, shape (ceil(rows / every),)
    """
    rows = len(times)
    chunks = 2 * (rows // primitive.CHUNK) + 2 * _MAX_RUNS
    pool = [np.empty(chunks * primitive.CHUNK, np.int64) for _ in range(2)]
    after = np.zeros(chunks, np.int64)
    runs, tails = np.zeros(primitive.COLUMNS * _MAX_RUNS, np.int64), np.zeros(_MAX_RUNS, np.int64)
    scalars = np.zeros(primitive.SCALARS, np.int64)
    scalars[primitive.FREE] = chunks
    counts = np.zeros(-(-rows // every), np.int64)
    done = _counted(times, every, latency, cuts, np.arange(rows), *pool, after, np.arange(chunks), runs, tails,
                    scalars, np.empty(rows, np.int64), np.empty(rows, np.int64), np.zeros(_MAX_RUNS, np.int64), counts)
    assert done == rows
    return counts
