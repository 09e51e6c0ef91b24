"""Add values of a second stream as columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from whimbrel.batch import Schema
from whimbrel.kernels import Kernel
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach
from whimbrel.temporal.bounds import column_bounds
from whimbrel.temporal.event_kernels import TimeSampleKernel
from whimbrel.temporal.parts import ReadColumns


@dataclass(frozen=True, kw_only=True, eq=False)
class TemporalSamples(Operator):
    """Add columns with values of the second stream.

    They are taken when each row of the first one starts.

        time     0    5    10   15
        left     •─────────•───────      (one each 10 ticks)
        right    2────4─────────6──      (x)
        out      2─────────6───────      (sum(col.x).past(10))

    Rows of the first stream may overlap. Events of one key of the second one must be one at a time. A missing key meets
    nothing: its columns are null.

    Parameters
    ----------
    parts : ReadColumns
        The columns.
    keys : tuple of str
        Key columns of both streams.

    Notes
    -----
    Shapes: one row out per row of the first stream, in the same order. State: the events that later rows may read, by
    key, and the rows that wait for them. Source: Jayarajan et al., TiLT (ASPLOS 2023), section 4: time domains with a
    precision.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 5, 15], "x": [2, 4, 6]}, time="at").select("x")
    >>> log.over_time(every=10, s=wb.sum(col.x).past(10)).collect()["s"].to_pylist()
    [2, 4, 6]
    """

    arity: ClassVar[int] = 2

    parts: ReadColumns
    keys: tuple[str, ...] = ()

    def schema(self, *upstream: Schema) -> Schema:
        rows, events = upstream
        return rows.with_fields((*rows.fields, *self.parts.fields(events)), where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        rows, events = upstream
        causal = rows.causal and events.causal and not column_bounds(self.parts).lookahead
        return replace(rows, packed=True, causal=causal)

    def reach(self, *inputs: Reach) -> Reach | None:
        rows, events = inputs
        read = column_bounds(self.parts).reach(events)
        both = None if read is None else read.combined(rows)
        return None if both is None else both.lasting(rows.longest)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] == by[1] and by[0] in self.keys else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        events = column_bounds(self.parts).lineage(wanted.only(self.keys), inputs[0].longest)
        return wanted.only(inputs[0].schema.names).same(), events

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted - self.parts.names).union(self.keys), self.parts.only(wanted).reads.union(self.keys)

    def narrowed(self, wanted: frozenset[str]) -> TemporalSamples:
        return replace(self, parts=self.parts.only(wanted))

    def kernel(self, *upstream: Schema) -> Kernel:
        return TimeSampleKernel(self.parts, self.keys, upstream[1], self.schema(*upstream))

    def show(self) -> str:
        return f"temporal_samples({self.parts.show(self.keys)})"
