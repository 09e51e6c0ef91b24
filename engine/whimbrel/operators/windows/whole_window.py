"""One window for the whole log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.kernels import Kernel
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import EVERYTHING, KnownInput, LineageRequest, Operator, Properties


@dataclass(frozen=True, kw_only=True, eq=False)
class WholeWindow(Operator):
    """Make all events last from the first one on.

        time     0    5    10   15
        in         a     b         (points at 2 and 8)
        out        a──────────────
                   b──────────────

    An aggregate then has one row for each group, over all of its events. It is known when the log ends, so the planner
    refuses a live stream. ``window_start()`` is the time of the first event of all groups, and ``window_end()`` is
    null. No window is empty, so ``fill=`` adds no row.

    Parameters
    ----------
    None.

    Notes
    -----
    The input duration is ignored. Shapes: one row out per row in. State: the time of the first event.
    Source: docs/semantics.md, windows.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [2, 8], "x": [1, 4]}, time="at")
    >>> events.tumbling_window(wb.WHOLE).aggregate(total=wb.sum(wb.col.x)).collect().to_pylist()
    [{'start': 2, 'end': None, 'total': 5}]
    """

    accepts_edges: ClassVar[bool] = True

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=False, starts_only=True, intervals_only=False, packed=upstream[0].packed,
                          whole=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (EVERYTHING,)  # the first event of all says when the window begins

    def kernel(self, *upstream: Schema) -> Kernel:
        return WholeKernel()

    def show(self) -> str:
        return "tumbling_window(WHOLE)"


class WholeKernel(Kernel):
    """Remembers when the first event started."""

    def __init__(self) -> None:
        self.first = INF
        self.ids_given = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        rows = starts_only(batch.compact())
        if not len(rows):
            return []
        if self.first == INF:
            self.first = int(rows.sync[0])
        ids = self.ids_given + np.arange(len(rows))
        self.ids_given += len(rows)
        return [rows.having(sync=np.full(len(rows), self.first), ends=np.full(len(rows), INF), ids=ids,
                            began=rows.first_start)]

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark if watermark in (INF, MIN_TIME) else min(watermark, self.first)
        return []
