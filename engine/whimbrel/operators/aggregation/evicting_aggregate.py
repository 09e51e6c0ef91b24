"""Partial aggregation of rows before they are sorted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from whimbrel.batch import Schema
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.operators.aggregation.evicting_kernel import EvictingKernel
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.operators.aggregation.table_size import FIRST_SLOTS, MAX_SLOTS
from whimbrel.operators.windows.window import HoppingWindow
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach


@dataclass(frozen=True, kw_only=True, eq=False)
class EvictingAggregate(Operator):
    """Aggregate unordered rows to partial aggregates in an evicting table.

    A slot of the table holds one group in one pane. When a row of another group meets the slot, the older group leaves
    as a partial aggregate. Groups also leave when the watermark has passed their pane.

        time     0    5    10
        arrives  a a b a               (a and b share a slot)
        out      a:2 b:1 a:1           (counts)

    Parameters
    ----------
    window : HoppingWindow
        Starts are rounded to its hop. Partial aggregates last as long as it says.
    states : GroupAggregate
        From rows to states. Its merge must not depend on order.
    slots, max_slots : int
        Size of the table at first, and at most: powers of two.

    Notes
    -----
    The planner puts it in the place of :class:`Sort`, so that partial aggregates are sorted by pane and not rows. The
    table measures how many rows leave it. It grows while more slots help, and rows pass it while it saves little.
    Shapes: at most one row out per row in. State: the slots, and what waits to be sorted.
    Source: Cranor et al., Gigascope (SIGMOD 2003), section 3; Chandramouli et al., Impatience (ICDE 2018), section V.

    Examples
    --------
    >>> import whimbrel as wb
    >>> rows = {"at": [t // 7 * 7 + t * 3 % 7 for t in range(300_000)], "x": range(300_000)}
    >>> log = wb.from_arrow(rows, time="at", name="log", reorder_latency=10)
    >>> sums = log.tumbling_window(50_000).aggregate(total=wb.sum(wb.col.x))
    >>> print(sums.explain().splitlines()[-3].strip().split("   ")[0])
    └─ partial aggregate(total=sum(col.x)) in panes of 50000
    """

    takes_any_order: ClassVar[bool] = True

    window: HoppingWindow
    states: GroupAggregate
    slots: int = FIRST_SLOTS
    max_slots: int = MAX_SLOTS

    def schema(self, *upstream: Schema) -> Schema:
        return self.states.schema(self.window.schema(*upstream))

    def properties(self, *upstream: Properties) -> Properties:
        known = self.window.properties(*upstream)
        return replace(known, apart=None, packed=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return self.states.requires(wanted, *upstream)

    def reach(self, *inputs: Reach) -> Reach | None:
        return self.window.reach(*inputs)

    def partitioned(self, *by: str) -> str | None:
        return self.states.partitioned(*by)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        rows, = inputs
        windowed = replace(rows, properties=self.window.properties(rows.properties), longest=self.window.size)
        below, = self.states.lineage(wanted, windowed)
        return self.window.lineage(below, rows)

    def kernel(self, *upstream: Schema) -> EvictingKernel:
        measures = [self.states.accumulator(name, aggregate, upstream[0], remembers=False)
                    for name, aggregate in self.states.measures]
        scalars = [measure for measure in measures if isinstance(measure, ScalarAccumulator)]
        assert len(scalars) == len(measures)
        return EvictingKernel(self.schema(*upstream), self.window, [expr for _, expr in self.states.keys], scalars,
                              self.states.condition, self.slots, self.max_slots)

    def notes(self, *upstream: Schema) -> Sequence[str]:
        return self.states.notes(*upstream)

    def show(self) -> str:
        hop = replace(self.window, size=self.window.hop).show().partition("(")[2].rstrip(")")
        return f"{self.states.show().replace('states(', 'partial aggregate(')} in panes of {hop}"
