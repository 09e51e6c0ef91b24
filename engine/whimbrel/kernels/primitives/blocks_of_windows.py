"""Which blocks of a scan may hold rows of which window."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

KINDS = 4
"""Of blocks: read in this phase, of this phase and not read yet, of later ones, read in earlier ones."""
DRAWN, LEFT, LATER, BEFORE = range(KINDS)


def blocks_of_windows(kinds: Array, rows: Array, begun: Array, by_begin: Array, ended: Array, by_end: Array,
                      first: Array, last: Array, found: Array, inside: Array) -> None:
    """Count the blocks that may lie within each range of time, and the rows of those that lie within it whole.

    Parameters
    ----------
    kinds : numpy.ndarray of int64
        Of each block.
    rows : numpy.ndarray of float64
        Of each block.
    begun, ended : numpy.ndarray of int64
        The first times of blocks, and the last ones, each in order.
    by_begin, by_end : numpy.ndarray of int64
        Blocks in these orders.
    first, last : numpy.ndarray of int64
        Of each range, both included.
    found : numpy.ndarray of float64
        What is written: by kind, power and range, the sum of the 0th, 1st and 2nd power of the rows of blocks.
    inside : numpy.ndarray of float64
        What is written: by range, rows that were not read and lie in it; never too many.
    """
    blocks, ranges = rows.shape[0], first.shape[0]
    sums = np.zeros((2, blocks + 1, KINDS * 3))
    for which in range(2):
        for place in range(blocks):
            block = by_begin[place] if which == 0 else by_end[place]
            for each in range(KINDS * 3):
                sums[which, place + 1, each] = sums[which, place, each]
            size, kind = rows[block], kinds[block] * 3
            sums[which, place + 1, kind] += 1
            sums[which, place + 1, kind + 1] += size
            sums[which, place + 1, kind + 2] += size * size
    for each in range(ranges):
        begun_before, ended_before = np.searchsorted(begun, first[each]), np.searchsorted(ended, first[each])
        begun_within = np.searchsorted(begun, last[each], "right")
        ended_within = np.searchsorted(ended, last[each], "right")
        for kind in range(KINDS * 3):
            found[kind * ranges + each] = sums[0, begun_within, kind] - sums[1, ended_before, kind]
        left, later = LEFT * 3 + 1, LATER * 3 + 1
        inside[each] = max(0.0, sums[1, ended_within, left] - sums[0, begun_before, left]
                           + sums[1, ended_within, later] - sums[0, begun_before, later])
