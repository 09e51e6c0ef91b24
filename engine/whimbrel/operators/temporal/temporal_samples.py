"""Add values of a second stream as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from whimbrel.batch import Field, Schema
from whimbrel.clock import MIN_TIME, TickUnit
from whimbrel.expr import columns_of
from whimbrel.kernels import Kernel
from whimbrel.operators.temporal.kernel import TimeSampleKernel
from whimbrel.operators.temporal.parts import ReadColumn, part_type
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, Reach, earlier, later


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
    parts : tuple of ReadColumn
        The columns.
    keys : tuple of str
        Key columns of both streams.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

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

    parts: tuple[ReadColumn, ...]
    keys: tuple[str, ...] = ()
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        rows, events = upstream
        return rows.with_fields((*rows.fields, *(Field(part.name, part_type(part, events)) for part in self.parts)),
                                where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        rows, events = upstream
        return replace(rows, packed=True, causal=rows.causal and events.causal and not self._lookahead)

    @property
    def _back(self) -> int:
        return max(part.back for part in self.parts)

    @property
    def _lookahead(self) -> int:
        return max(part.lookahead for part in self.parts)

    def reach(self, *inputs: Reach) -> Reach | None:
        rows, events = inputs
        if events.longest is None or any(part.kept for part in self.parts):
            return None
        read = events.wider(self._back + events.longest, self._lookahead, events.longest).combined(rows)
        return None if read is None else read.lasting(rows.longest)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] == by[1] and by[0] in self.keys else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        start = MIN_TIME if any(part.kept for part in self.parts) else earlier(wanted.start, self._back)
        longest = inputs[0].longest
        start = MIN_TIME if longest is None else earlier(start, longest)
        events = wanted.only(self.keys).during(start, later(wanted.end, self._lookahead), Exact.LIFETIMES)
        return wanted.only(inputs[0].schema.names).same(), events

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        read = (columns_of(expr) for part in self.narrowed(wanted).parts for expr in part.exprs)
        rows = (wanted - {part.name for part in self.parts}).union(self.keys)
        return rows, frozenset(self.keys).union(*read)

    def narrowed(self, wanted: frozenset[str]) -> TemporalSamples:
        parts = tuple(part for part in self.parts if part.name in wanted)
        return self if len(parts) in (0, len(self.parts)) else replace(self, parts=parts)

    def notes(self, *upstream: Schema) -> Sequence[str]:
        return [part.show(self.unit) for part in self.parts]

    def kernel(self, *upstream: Schema) -> Kernel:
        return TimeSampleKernel(self.parts, self.keys, upstream[1], self.schema(*upstream))

    def show(self) -> str:
        keys = f" per {', '.join(self.keys)}" if self.keys else ""
        return f"temporal_samples({', '.join(part.name for part in self.parts)}{keys})"
