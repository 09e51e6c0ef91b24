"""Cache of the gaps between the times of a table's rows."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.batch import Batch, Ticks
from whimbrel.kernels import ascends, with_gaps

_WORTH_KNOWING = 1 << 16
"""Smallest piece whose gaps are cached; shorter ones are scanned faster than looked up."""
_MAX_PIECES = 4_096


class KnownGaps:
    """Smallest and largest gap of pieces of an immutable table, by first row and length.

    A scan of the order of times takes as long as reading them, which is most of the time of a simple query.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[int, int], tuple[int, int]] = {}

    def with_known_gaps(self, batches: Iterator[Batch | None], row: int) -> Iterator[Batch | None]:
        """Add known gaps to the pieces that are in order; `row` is the first row of the first piece."""
        for batch in batches:
            if batch is None or len(batch) < _WORTH_KNOWING:
                yield batch
            else:
                known = self._of.get((row, len(batch)))
                yield self._looked_at(batch, row) if known is None else batch.having(gaps=known)
            row += 0 if batch is None else len(batch)

    def ordered(self, times: Ticks, first: int, stop: int) -> bool:
        """Whether rows are in order of time, from the cache or, for short pieces, by a scan."""
        return (first, stop - first) in self._of or (stop - first < _WORTH_KNOWING and ascends(times[first:stop]))

    def _looked_at(self, batch: Batch, row: int) -> Batch:
        batch = with_gaps(batch)
        if batch.gaps is not None:
            if len(self._of) >= _MAX_PIECES:  # too many different pieces, which will not repeat
                self._of.clear()
            self._of[row, len(batch)] = batch.gaps
        return batch
