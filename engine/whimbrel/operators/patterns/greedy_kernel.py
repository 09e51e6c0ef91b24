"""Kernel of greedy patterns: it keeps the longest match of each begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch
from whimbrel.clock import INF, MIN_TIME
from whimbrel.disorder import Sorter
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.patterns.longest_matches import choose_longest

_choose = Compiled(choose_longest)
_NEVER = np.iinfo(np.int64).min


class GreedyKernel(Kernel):
    """Chooses among all matches, once the time of their begin is over.

    Parameters
    ----------
    matches : Kernel
        Finds all matches.
    types : list of pyarrow.DataType
        Of the keys, which are the first columns of a match; `first_time` is the next one.
    within : int
        Ticks after its begin at which a match accepts no more events.
    overlapping : bool
        Whether a match may begin within another one that is kept.
    """

    def __init__(self, matches: Kernel, types: list[Any], within: int, *, overlapping: bool) -> None:
        self.matches, self.within, self.overlapping = matches, within, overlapping
        self.keys = KeyTable(types)
        self.columns = len(types)
        self.last = np.full(1024, _NEVER, np.int64)
        self.waiting: list[Batch] = []
        self.earliest = INF
        self.sorter = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self._wait(self.matches.push(batch, port))
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self._wait(self.matches.advance(watermark, port))
        if self.waiting and (watermark == INF or self.earliest <= watermark):
            rows = Batch.concat(self.waiting)
            over = np.ones(len(rows), np.bool_) if watermark == INF else rows.other <= watermark
            self._choose(rows.take(np.flatnonzero(over)))
            self.waiting, self.earliest = [], INF
            self._wait([rows.take(np.flatnonzero(~over))])
        self.watermark = INF if watermark == INF else max(watermark - self.within + 1, MIN_TIME)
        return self.sorter.release(self.watermark)

    def _wait(self, batches: Any) -> None:
        for batch in batches:
            if len(batch):
                self.waiting.append(batch)
                self.earliest = min(self.earliest, int(batch.other.min()))

    def _choose(self, rows: Batch) -> None:
        """Sort in those that are kept, of matches whose begin can have no others."""
        groups = self.keys.ids(list(rows.columns[: self.columns]), len(rows))
        if len(self.keys) > len(self.last):
            self.last = extend(self.last, 2 * len(self.keys), _NEVER)
        first = rows.columns[self.columns].values
        order = np.lexsort((-rows.sync, first, groups))
        kept = np.zeros(len(rows), np.bool_)
        _choose(groups[order], first[order], rows.sync[order], self.last, self.overlapping, kept)
        self.sorter.add(rows.take(np.sort(order[kept])))

    @property
    def buffered_rows(self) -> int:
        return self.matches.buffered_rows + sum(map(len, self.waiting)) + self.sorter.rows

    @property
    def buffered_bytes(self) -> int:
        return self.matches.buffered_bytes + self.sorter.nbytes

    @property
    def sources(self) -> tuple[str, ...]:
        return self.matches.sources
