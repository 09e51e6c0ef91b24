"""What lies between the times of a table's rows: looked at once, and not anew in each query."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.batch import Batch, Ticks
from whimbrel.kernels import ascends, with_gaps

_WORTH_KNOWING = 1 << 16
"""Fewest rows of a piece whose gaps are remembered: shorter ones are looked at sooner than they are found."""
_MAX_PIECES = 4_096


class KnownGaps:
    """Gaps of pieces of a table that does not change, by where they begin and how long they are.

    To look at the order of times takes as long as to read them, which is most of what a simple query does.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[int, int], tuple[int, int]] = {}

    def with_known_gaps(self, batches: Iterator[Batch | None], row: int) -> Iterator[Batch | None]:
        """These pieces, the first of which begins at a row, with the gaps of those that are in order."""
        for batch in batches:
            if batch is None or len(batch) < _WORTH_KNOWING:
                yield batch
            else:
                known = self._of.get((row, len(batch)))
                yield self._looked_at(batch, row) if known is None else batch.having(gaps=known)
            row += 0 if batch is None else len(batch)

    def ordered(self, times: Ticks, first: int, stop: int) -> bool:
        """Whether rows are known to be in the order of time, or found to be, where that is not worth knowing."""
        return (first, stop - first) in self._of or (stop - first < _WORTH_KNOWING and ascends(times[first:stop]))

    def _looked_at(self, batch: Batch, row: int) -> Batch:
        batch = with_gaps(batch)
        if batch.gaps is not None:
            if len(self._of) >= _MAX_PIECES:  # pieces of ever other lengths: they do not come again
                self._of.clear()
            self._of[row, len(batch)] = batch.gaps
        return batch
