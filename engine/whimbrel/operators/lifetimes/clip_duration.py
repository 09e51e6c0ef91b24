"""Limit the duration of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import Duration, TickUnit, check_positive, duration_ticks, quote_ticks
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.lifetimes.lifetime import end_after
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class ClipDuration(Operator):
    """End each event at most this long after its start.

        time     0    5    10
        in       a────  b────────      (a: [0, 5), b: [7, 16))
        out      a────  b─────         (6: [0, 5), [7, 13))

    Parameters
    ----------
    longest : int, > 0
        Ticks that an event may last.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Afterwards every event has an end. Shapes: one row out per row in. State: none.
    Source: Trill (VLDB 2015), section 3.1 (ClipEventDuration).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 7], "until": [5, None], "x": [2, 3]}, time="at", end="until").select("x")
    >>> events.clip_duration(6).collect().to_pylist()
    [{'start': 0, 'end': 5, 'x': 2}, {'start': 7, 'end': 13, 'x': 3}]
    """

    row_by_row: ClassVar[bool] = True

    longest: int
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        check_positive(self.unit, where=self.show(), longest=self.longest)
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0].duration
        return Properties(duration=None if known is None else min(known, self.longest), causal=upstream[0].causal,
                          apart=upstream[0].apart, points=upstream[0].points, packed=upstream[0].packed,
                          sampling=upstream[0].sampling)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.same(Exact.STARTS),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return ClipDurationKernel(self.longest)

    def show(self) -> str:
        return f"clip_duration({quote_ticks(self.longest, self.unit)})"


@fluent
def clip_duration(schema: Schema, longest: Duration) -> ClipDuration:
    """Limit the duration of events. See :class:`whimbrel.operators.ClipDuration`."""
    ticks = duration_ticks(longest, schema.unit, where=f"clip_duration({longest!r})")
    return ClipDuration(longest=ticks, unit=schema.unit)


class ClipDurationKernel(Stateless):
    """Brings ends forward."""

    def __init__(self, longest: int) -> None:
        self.longest = longest

    def apply(self, batch: Batch) -> Batch:
        latest = end_after(batch.sync, np.full(len(batch), self.longest))
        return batch.having(ends=np.minimum(batch.other, latest), ids=None)
