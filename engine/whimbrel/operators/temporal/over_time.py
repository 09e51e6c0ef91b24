"""Evaluate functions of time where they change, or at multiples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from whimbrel.batch import Schema
from whimbrel.clock import TickUnit, quote_ticks
from whimbrel.expr import Col, Keys
from whimbrel.kernels import Kernel
from whimbrel.plan import (
    KnownInput,
    LineageRequest,
    NonOverlapping,
    Operator,
    Properties,
    Reach,
    Sampling,
    TimeGrid,
    later,
)
from whimbrel.temporal.bounds import Bounds, Presence, function_bounds
from whimbrel.temporal.function_kernel import FunctionKernel
from whimbrel.temporal.parts import ReadColumns


@dataclass(frozen=True, kw_only=True, eq=False)
class OverTime(Operator):
    """Make a stream of functions of time.

    A new event begins wherever one of them may change: where an event starts or ends, or enters or leaves a window.

        time     0    5    10   15
        in       2────4─────────6──      (x)
        out      2────6────4────6──────  (sum(col.x).past(6))

    Equal neighbors are not joined. Events of one key must be one at a time, and have a key.

    Parameters
    ----------
    parts : ReadColumns
        The columns.
    presences : tuple of Presence
        There is an event as long as one of these functions has a value.
    keys : tuple of str
        Key columns.
    every : int
        Give one event at each multiple of so many ticks instead; 0: where something changes.
    offset : int
        Shifts the multiples.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Shapes: key columns, then one column a part. Ends that are not known yet follow as end edges. At multiples, an input
    event whose end never comes counts for the tick of its start. State: the events that later times may read, by key,
    and one row for each key whose end is not known. Source: Jayarajan et al., TiLT (ASPLOS 2023), sections 4 and 5:
    snapshot buffers, whose loop goes from change to change.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 5, 15], "x": [2, 4, 6]}, time="at").select("x")
    >>> log.over_time(s=wb.sum(col.x).past(6)).collect().to_pylist()
    [{'start': 0, 'end': 5, 's': 2}, {'start': 5, 'end': 6, 's': 6}, {'start': 6, 'end': 11, 's': 4},
     {'start': 15, 'end': 21, 's': 6}]
    """

    late_rows_change = "lifetimes"

    parts: ReadColumns
    presences: tuple[Presence, ...]
    keys: tuple[str, ...] = ()
    every: int = 0
    offset: int = 0
    unit: TickUnit = None

    @property
    def _bounds(self) -> Bounds:
        return function_bounds(self.parts, self.presences)

    def _longest(self, events: int | None) -> int | None:
        """Most ticks that a row lasts."""
        if self.every:
            return self.every
        return None if events is None or self._bounds.rows else events + self._bounds.span

    def schema(self, *upstream: Schema) -> Schema:
        keys = [upstream[0].fields[upstream[0].index(name, where=self.show())] for name in self.keys]
        return upstream[0].with_fields((*keys, *self.parts.fields(upstream[0])), where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        lookahead = self._bounds.lookahead
        return Properties(intervals_only=self.every > 0, duration=self.every or None,
                          causal=upstream[0].causal and not lookahead,
                          time_grid=TimeGrid(self.every, self.offset) if self.every and not lookahead else None,
                          apart=NonOverlapping(frozenset(self.keys), declared=False),
                          sampling=Sampling(Fraction(self.every), self.offset, frozenset(self.keys)) if self.every
                          else None)

    def reach(self, *inputs: Reach) -> Reach | None:
        bounds, longest = self._bounds, self._longest(inputs[0].longest)
        if longest is None:
            return None
        known = replace(bounds, lookahead=bounds.lookahead + longest).reach(inputs[0])
        return None if known is None else known.lasting(longest)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys else None

    def grouping_keys(self) -> Keys:
        return tuple((key, Col(key)) for key in self.keys)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        rows = wanted.only(self.keys).of_changes(self._longest(inputs[0].longest))
        return (self._bounds.around(replace(rows, end=later(rows.end, 1))),)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (self.parts.only(wanted).reads.union(self.keys),)

    def narrowed(self, wanted: frozenset[str]) -> OverTime:
        return replace(self, parts=self.parts.only(wanted))

    def kernel(self, *upstream: Schema) -> Kernel:
        return FunctionKernel(self.parts, self.presences, self.keys, upstream[0], self.schema(*upstream), self.every,
                              self.offset, self.show())

    def show(self) -> str:
        every = f", every={quote_ticks(self.every, self.unit)}" if self.every else ""
        return f"over_time({self.parts.show(self.keys)}{every})"
