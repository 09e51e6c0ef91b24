"""Derive a watermark from block statistics of a bounded log."""

from __future__ import annotations

import numpy as np

from whimbrel.plan import Blocks, FilteredSource, OrderingSpec, Source, UnsortedSource, WithOrdering

_BLOCK_ROWS = 65_536
"""Minimum rows of a block: the watermark advances after each block, at a cost."""


class StatisticsWatermark:
    """The earliest time of rows not yet read, from the minima of the remaining blocks.

        block       1       2       3
        times     2 ... 9  7 ... 20  18 ... 30
        after it    7        18      none

    Parameters
    ----------
    blocks : Blocks
        In the order of reading.

    Examples
    --------
    >>> bounds = StatisticsWatermark(Blocks(*np.array([[0, 3, 6], [3, 6, 9], [2, 7, 18], [9, 20, 30]])))
    >>> [bounds.earliest(rows) for rows in (0, 2, 3, 6, 8)]
    [2, 2, 7, 18, 18]
    """

    def __init__(self, blocks: Blocks) -> None:
        self._stop = blocks.stop
        self._earliest = np.minimum.accumulate(blocks.earliest[::-1])[::-1]

    def earliest(self, rows: int) -> int:
        """A time before which no row starts after the first `rows` rows."""
        block = int(np.searchsorted(self._stop, rows, "right"))
        return int(self._earliest[min(block, len(self._stop) - 1)])


def statistics_watermark(source: Source) -> StatisticsWatermark | None:
    """The statistics of a source without declared order; None without statistics, or with ordered rows."""
    while isinstance(source, FilteredSource | WithOrdering | UnsortedSource):
        source = source.source
    blocks = None if source.live or source.disorder == OrderingSpec() else source.blocks(_BLOCK_ROWS)
    return None if blocks is None or not len(blocks) else StatisticsWatermark(blocks)
