"""Turn events into points at their ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF
from whimbrel.disorder import Sorter
from whimbrel.kernels import Kernel
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, earlier, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class PointAtEnd(Operator):
    """Turn each event into a point at its end.

    The point lasts one tick. Events without an end give none.

        time     0    5    10
        in       a────   b──           (a: [0, 5), b: [8, 11))
        out           a     b          ([5, 6), [11, 12))

    Notes
    -----
    An event without a known end gives nothing. Shapes: at most one row out per row in. State: events that have not
    ended. Source: Trill's PointAtEnd.

    Parameters
    ----------
    None.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 8], "until": [5, 11], "x": [2, 3]}, time="at", end="until").select("x")
    >>> events.point_at_end().collect().to_pylist()
    [{'start': 5, 'end': 6, 'x': 2}, {'start': 11, 'end': 12, 'x': 3}]
    """

    accepts_edges: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        # The results of windows are known at the ends of their windows.
        settled = known.lookahead is not None and known.time_grid is not None and known.time_grid.on(known.lookahead)
        return Properties(duration=1, causal=known.causal or settled, apart=upstream[0].no_period(), points=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.during(earlier(wanted.start, 1), earlier(wanted.end, 1), Exact.LIFETIMES),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return PointAtEndKernel()

    def show(self) -> str:
        return "point_at_end()"


@fluent
def point_at_end(schema: Schema) -> PointAtEnd:
    """Turn each event into a point at its end. See :class:`whimbrel.operators.PointAtEnd`."""
    return PointAtEnd()


class PointAtEndKernel(Kernel):
    """Sorts ends, those of intervals and those that come as edges."""

    def __init__(self) -> None:
        self.sorter = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        end = np.maximum(batch.sync, batch.other)  # an end edge happens at the end
        points = batch.having(sync=end, ends=1, ids=None).take(np.flatnonzero(end != INF))
        self.sorter.add(points)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return self.sorter.release(watermark)

    @property
    def buffered_rows(self) -> int:
        return self.sorter.rows

    @property
    def buffered_bytes(self) -> int:
        return self.sorter.nbytes
