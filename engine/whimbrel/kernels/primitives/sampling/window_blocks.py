"""Find the blocks that may have rows of a window."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

KINDS = 4
"""Of blocks: read in this phase, of this phase and not read yet, of later ones, read in earlier ones."""
DRAWN, LEFT, LATER, BEFORE = range(KINDS)
FACTS = 6
"""Numbers that follow for each window."""


def blocks_of_windows(kinds: Array, rows: Array, begun: Array, by_begin: Array, ended: Array, by_end: Array,
                      first: Array, last: Array, random: bool, found: Array, facts: Array, exact: Array,
                      sampled: Array) -> None:
    """Count the blocks that may lie within each range of time, and say what follows from that.

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
    random : bool
        Whether what was read in this phase is a random sample of it.
    found : numpy.ndarray of float64
        What is written: by kind, power and range, the sum of the 0th, 1st and 2nd power of the rows of blocks.
    facts : numpy.ndarray of float64
        Output, by range, one number after the other. A lower bound of the rows in it that were not read; the rows that
        were not read; the blocks of this phase; the fraction of them that was read. Then how many more rows each row of
        this phase represents, and each row of any phase if this phase has read none.
    exact, sampled : numpy.ndarray of bool
        Output, by range: whether nothing is left of it; whether the rows that were read are a random sample, with
        enough blocks for a variance.
    """
    blocks, ranges = rows.shape[0], first.shape[0]
    sums = np.zeros((2, blocks + 1, KINDS * 3))
    for which in range(2):
        for rank in range(blocks):
            block = by_begin[rank] if which == 0 else by_end[rank]
            for each in range(KINDS * 3):
                sums[which, rank + 1, each] = sums[which, rank, each]
            size, kind = rows[block], kinds[block] * 3
            sums[which, rank + 1, kind] += 1
            sums[which, rank + 1, kind + 1] += size
            sums[which, rank + 1, kind + 2] += size * size
    for each in range(ranges):
        begun_before, ended_before = np.searchsorted(begun, first[each]), np.searchsorted(ended, first[each])
        begun_within = np.searchsorted(begun, last[each], "right")
        ended_within = np.searchsorted(ended, last[each], "right")
        for kind in range(KINDS * 3):
            found[kind * ranges + each] = sums[0, begun_within, kind] - sums[1, ended_before, kind]
        left, later = LEFT * 3 + 1, LATER * 3 + 1
        facts[each] = max(0.0, sums[1, ended_within, left] - sums[0, begun_before, left]
                         + sums[1, ended_within, later] - sums[0, begun_before, later])
        drawn_blocks, left_blocks = found[DRAWN * 3 * ranges + each], found[LEFT * 3 * ranges + each]
        later_blocks = found[LATER * 3 * ranges + each]
        drawn_rows, left_rows = found[(DRAWN * 3 + 1) * ranges + each], found[left * ranges + each]
        later_rows, before_rows = found[later * ranges + each], found[(BEFORE * 3 + 1) * ranges + each]
        phase = drawn_blocks + left_blocks
        unlike = later_rows if drawn_rows > 0 else later_rows + left_rows
        facts[ranges + each] = left_rows + later_rows
        facts[2 * ranges + each] = phase
        facts[3 * ranges + each] = drawn_blocks / max(phase, 1.0)
        facts[4 * ranges + each] = left_rows / drawn_rows if drawn_rows > 0 else 0.0
        facts[5 * ranges + each] = unlike / (drawn_rows + before_rows) if drawn_rows + before_rows > 0 else 0.0
        exact[each] = left_blocks == 0 and later_blocks == 0
        sampled[each] = random and drawn_blocks >= 2 and later_blocks == 0
