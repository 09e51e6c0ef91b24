"""Borders of sliding windows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema, check_reach
from whimbrel.clock import INF, MIN_TIME
from whimbrel.clock.window_borders import Closed
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach, earlier


@dataclass(frozen=True, kw_only=True, eq=False)
class SlidingBorders(Operator):
    """Move the borders of sliding windows by a tick.

        time     0    5    10   15
        in       a─────────            (a: [0, 10), a sliding window of 10 ticks)
        out      a──────────           (closed="both": [0, 11), up to the event of 10)
        out       a─────────           (closed="left": [1, 11))

    The sliding window of a time has the events of the ticks before it. An event is active from its own time on if
    windows have what is on their last border. It is active one tick longer if they have what is on their first.

    Parameters
    ----------
    closed : {"left", "right", "both", "none"}

    Notes
    -----
    Shapes: at most one row out per row in. State: none.
    Source: docs/semantics.md, windows; the words are those of pandas.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5, 10], "x": [1, 2, 3]}, time="at")
    >>> sums = events.sliding_window(5, closed="both").aggregate(total=wb.sum(wb.col.x))
    >>> sums.between(5, 6).collect()["total"].to_pylist(), sums.between(10, 11).collect()["total"].to_pylist()
    ([3], [5])
    """

    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    closed: Closed

    @property
    def later(self) -> tuple[int, int]:
        """Ticks by which starts and ends move."""
        return int(self.closed in ("left", "none")), int(self.closed in ("left", "both"))

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known, (first, last) = upstream[0].duration, self.later
        duration = None if known is None or known + last - first <= 0 else known + last - first
        return replace(Properties(causal=upstream[0].causal, packed=upstream[0].packed), duration=duration)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        longest = inputs[0].longest
        return inputs[0].wider(1, 0, None if longest is None else longest + 1)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (replace(wanted.same(), start=earlier(wanted.start, 1)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return SlidingBordersKernel(self)

    def show(self) -> str:
        return f"sliding_borders(closed={self.closed!r})"


class SlidingBordersKernel(Stateless):
    """Moves both ends of every row."""

    def __init__(self, borders: SlidingBorders) -> None:
        self.borders = borders

    def apply(self, batch: Batch) -> Batch:
        check_reach(batch, 1, self.borders.show(), ends=True)
        first, last = self.borders.later
        rows = batch.having(sync=batch.sync + first, ends=batch.other + last, ids=None)
        return rows.take(np.flatnonzero(batch.other > batch.sync + 1)) if self.borders.closed == "none" else rows

    def output_watermark(self, watermark: int) -> int:
        return watermark if watermark in (INF, MIN_TIME) else watermark + self.borders.later[0]
