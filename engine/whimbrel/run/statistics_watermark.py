"""What is known of the rows of a finished log that have not been read."""

from __future__ import annotations

import numpy as np

from whimbrel.plan import Blocks, FilteredSource, OrderingSpec, Source, UnsortedSource, WithOrdering

_BLOCK_ROWS = 65_536
"""Rows of a block at least: time goes on behind blocks, and each time costs something."""


class StatisticsWatermark:
    """How early rows that follow can be, going by the bounds of the blocks that they lie in.

        block       1       2       3
        times     2 ... 9  7 ... 20  18 ... 30
        behind it   7        18      nothing is told

    Parameters
    ----------
    blocks : Blocks
        In the order of reading.

    Examples
    --------
    >>> ahead = StatisticsWatermark(Blocks(*np.array([[0, 3, 6], [3, 6, 9], [2, 7, 18], [9, 20, 30]])))
    >>> [ahead.earliest(rows) for rows in (0, 2, 3, 6, 8)]
    [2, 2, 7, 18, 18]
    """

    def __init__(self, blocks: Blocks) -> None:
        self._stop = blocks.stop
        self._earliest = np.minimum.accumulate(blocks.earliest[::-1])[::-1]

    def earliest(self, rows: int) -> int:
        """A time before which no row starts that comes after so many."""
        block = int(np.searchsorted(self._stop, rows, "right"))
        return int(self._earliest[min(block, len(self._stop) - 1)])


def statistics_watermark(source: Source) -> StatisticsWatermark | None:
    """What a source that promises no order knows; None where that is nothing, or rows tell as much themselves."""
    while isinstance(source, FilteredSource | WithOrdering | UnsortedSource):
        source = source.source
    blocks = None if source.live or source.disorder == OrderingSpec() else source.blocks(_BLOCK_ROWS)
    return None if blocks is None or not len(blocks) else StatisticsWatermark(blocks)
