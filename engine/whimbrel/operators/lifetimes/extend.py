"""Change the duration of events by an amount."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF, Duration, TickUnit, duration_ticks, quote_ticks
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.lifetimes.lifetime import end_after
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, Reach, earlier, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class Extend(Operator):
    """Move the end of each event. Its start does not change.

        time     0    5    10
        in       a────  b──            (a: [0, 5), b: [7, 10))
        out      a───────              (3: [0, 8), [7, 13))
                        b─────
        out      a─                    (-3: [0, 2), and b is dropped)

    Parameters
    ----------
    by : int
        Ticks to move the end by; a negative amount drops events whose duration is then not positive.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    An event without a known end still has none. An event that would end after the last int64 tick has no known end,
    either. A negative amount needs look-ahead: whether a shortened event is true depends on its
    later end. Shapes: at most one row out per row in. State: none.
    Source: Trill (VLDB 2015), section 3.1 (ExtendLifetime).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 7], "until": [5, 10], "x": [2, 3]}, time="at", end="until").select("x")
    >>> events.extend(3).collect().to_pylist()
    [{'start': 0, 'end': 8, 'x': 2}, {'start': 7, 'end': 13, 'x': 3}]
    >>> events.extend(-3).collect().to_pylist()
    [{'start': 0, 'end': 2, 'x': 2}]
    """

    row_by_row: ClassVar[bool] = True

    by: int
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        duration = None if known.duration is None or known.duration + self.by <= 0 else known.duration + self.by
        return Properties(duration=duration, causal=known.causal and self.by >= 0, packed=known.packed,
                          sampling=known.sampling if self.by >= 0 else known.with_missing_samples())

    def reach(self, *inputs: Reach) -> Reach | None:
        longest = inputs[0].longest
        return inputs[0].lasting(None if longest is None else max(1, longest + self.by))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        if wanted.starting and wanted.exact < Exact.LIFETIMES and self.by >= 0:
            return (wanted.starts(wanted.start, wanted.end),)
        return (wanted.during(earlier(wanted.start, max(self.by, 0)), wanted.end, Exact.LIFETIMES),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return ExtendKernel(self.by)

    def show(self) -> str:
        return f"extend({quote_ticks(self.by, self.unit)})"


@fluent
def extend(schema: Schema, by: Duration) -> Extend:
    """Move the end of each event, later or (negative) earlier. See :class:`whimbrel.operators.Extend`."""
    return Extend(by=duration_ticks(by, schema.unit, where=f"extend({by!r})"), unit=schema.unit)


class ExtendKernel(Stateless):
    """Moves ends that are known."""

    def __init__(self, by: int) -> None:
        self.by = by

    def apply(self, batch: Batch) -> Batch:
        other = batch.other
        end = np.where(other == INF, INF, end_after(other, np.full(len(other), self.by)))
        batch = batch.having(ends=end, ids=None)
        return batch if self.by >= 0 else batch.take(np.flatnonzero(end > batch.sync))
