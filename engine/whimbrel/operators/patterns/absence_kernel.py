"""Kernel of patterns that end in an absence.

Matches wait until no event can follow them in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, check_reach
from whimbrel.clock import INF
from whimbrel.expr import Expr, evaluate, predicate
from whimbrel.kernels import Kernel, KeyTable

Array = np.ndarray[Any, Any]


class AbsenceKernel(Kernel):
    """Keeps the matches after which no event of their key starts in time.

    Parameters
    ----------
    matches : Kernel
        Finds all matches. It gives those that end before a watermark when it learns of the watermark.
    types : list of pyarrow.DataType
        Of the keys, which are the first columns of a match.
    keys : sequence of Expr
    condition : Expr or None
        Which events count.
    within : int
        Ticks after the last event of a match.
    where : str
        The operator, for errors.
    """

    def __init__(self, matches: Kernel, types: list[pa.DataType], keys: Sequence[Expr], condition: Expr | None,
                 within: int, where: str) -> None:
        self.matches, self.key_exprs, self.condition = matches, tuple(keys), condition
        self.within, self.where = within, where
        self.keys = KeyTable(types)
        self.times: list[Array] = []
        """Starts of events that count, from the last watermark on."""
        self.groups: list[Array] = []
        self.waiting: list[Batch] = []

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.waiting += self.matches.push(batch, port)
        rows = batch.compact()
        if self.condition is not None:
            rows = rows.take(np.flatnonzero(predicate(self.condition, rows)))
        if len(rows):
            self.times.append(rows.sync)
            self.groups.append(self.keys.ids([evaluate(expr, rows) for expr in self.key_exprs], len(rows)))
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.waiting += self.matches.advance(watermark, port)
        self.watermark = watermark
        times, groups = self._events_before(watermark)
        if not self.waiting:
            return []
        rows = Batch.concat(self.waiting)
        check_reach(rows, self.within + 1, self.where)
        rows = rows.take(np.flatnonzero(~self._followed(rows, times, groups)))
        known = np.ones(len(rows), np.bool_) if watermark == INF else rows.sync + self.within <= watermark
        later = rows.take(np.flatnonzero(~known))
        self.waiting = [later] if len(later) else []
        out = rows.take(np.flatnonzero(known))
        if not len(out):
            return []
        out = out.take(np.argsort(out.sync, kind="stable"))
        return [out.having(sync=out.sync + self.within, ends=1, ids=None)]

    def _events_before(self, watermark: int) -> tuple[Array, Array]:
        """Starts and keys of events before the watermark; they leave, since matches after them are later."""
        if not self.times:
            return np.empty(0, np.int64), np.empty(0, np.int32)
        times, groups = np.concatenate(self.times), np.concatenate(self.groups)
        cut = len(times) if watermark == INF else int(np.searchsorted(times, watermark, "left"))
        self.times, self.groups = ([times[cut:]], [groups[cut:]]) if cut < len(times) else ([], [])
        return times[:cut], groups[:cut]

    def _followed(self, rows: Batch, times: Array, groups: Array) -> Array:
        """Which matches have an event of their key after them, less than `within` later."""
        if not len(times):
            return np.zeros(len(rows), np.bool_)
        mine = self.keys.ids(list(rows.columns[: len(self.key_exprs)]), len(rows))
        group, time = np.append(groups, mine), np.append(times, rows.sync)
        match = np.arange(len(group)) >= len(groups)
        order = np.lexsort((match, time, group))  # events of the time of a match come before it
        place = np.where(match[order], len(order), np.arange(len(order)))
        following = np.append(np.minimum.accumulate(place[::-1])[::-1], len(order))[1:]
        matches = np.flatnonzero(match[order])
        found = following[matches]
        event = order[np.minimum(found, len(order) - 1)]
        followed = np.zeros(len(rows), np.bool_)
        own = order[matches]
        followed[own - len(groups)] = ((found < len(order)) & (group[event] == group[own])
                                       & (time[event] - time[own] < self.within))
        return followed

    @property
    def buffered_rows(self) -> int:
        return self.matches.buffered_rows + sum(map(len, self.waiting)) + sum(map(len, self.times))

    @property
    def buffered_bytes(self) -> int:
        return self.matches.buffered_bytes

    @property
    def sources(self) -> tuple[str, ...]:
        return self.matches.sources
