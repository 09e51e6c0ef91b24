"""Sizes of a sorter, as metrics of kernels."""

from __future__ import annotations

from whimbrel.disorder.sorter import Sorter


class SorterSizes:
    """Sizes of kernels that buffer rows in a sorter and nowhere else.

    Attributes
    ----------
    sorter : Sorter
    """

    sorter: Sorter

    @property
    def buffered_rows(self) -> int:
        return self.sorter.rows

    @property
    def buffered_bytes(self) -> int:
        return self.sorter.nbytes

    @property
    def sorted_runs(self) -> int:
        return len(self.sorter.runs)
