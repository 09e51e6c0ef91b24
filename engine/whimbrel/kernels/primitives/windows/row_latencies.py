"""Find which of several reorder latencies takes each row."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def smallest(time: int, newest: int, earliest: int, latencies: Array) -> int:
    """The number of the smallest latency that takes a row, or how many latencies there are."""
    mine = 0
    while mine < latencies.shape[0] and newest >= earliest + latencies[mine] and time < newest - latencies[mine]:
        mine += 1
    return mine


def find_latencies(sync: Array, newest: int, earliest: int, latencies: Array, band: Array, rows: Array) -> int:
    """Write the number of the smallest latency that takes each row, or how many latencies there are.

    Parameters
    ----------
    sync : array of int64
    newest, earliest : int
        Largest time so far, and the least that there is.
    latencies : array of int64
        Growing.
    band : array of int8
        Out.
    rows : array of int64
        Out: how many rows have each number, added.

    Returns
    -------
    int
        The largest time now.
    """
    for row in range(sync.shape[0]):
        time, mine = sync[row], 0
        if time >= newest:
            newest = time
        else:
            mine = smallest(time, newest, earliest, latencies)
        band[row] = mine
        rows[mine] += 1
    return newest


def find_latencies_after(sync: Array, newest: Array, earliest: int, latencies: Array, band: Array,
                          rows: Array) -> None:
    """As :func:`find_latencies`, with the time from which the lateness of each row counts."""
    for row in range(sync.shape[0]):
        mine = smallest(sync[row], newest[row], earliest, latencies)
        band[row] = mine
        rows[mine] += 1
