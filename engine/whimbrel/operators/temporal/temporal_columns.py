"""Add values of other events of the same key as columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whimbrel.batch import Schema
from whimbrel.kernels import Kernel
from whimbrel.plan import (
    KnownInput,
    LineageRequest,
    Operator,
    Properties,
    Reach,
)
from whimbrel.temporal.bounds import column_bounds
from whimbrel.temporal.event_kernels import EventKernel
from whimbrel.temporal.parts import ReadColumns


@dataclass(frozen=True, kw_only=True, eq=False)
class TemporalColumns(Operator):
    """Add columns with values at other times and of windows.

    They are taken when each event starts.

        time     0    5    10   15
        in       2────4─────────6──      (x)
        out      2────4─────────6──      (x)
                 2    6         6        (sum(col.x).past(6))

    Events of one key must be one at a time. A missing key meets nothing: its columns are null.

    Parameters
    ----------
    parts : ReadColumns
        The columns.
    keys : tuple of str
        Key columns.

    Notes
    -----
    Shapes: one row out per row in, in the same order. State: the events that later ones may read, by key. With
    lookahead a row waits until the events that it reads are known. Source: Jayarajan et al., TiLT (ASPLOS 2023),
    section 4, evaluated where an event starts.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 5, 15], "x": [2, 4, 6]}, time="at").select("x")
    >>> log.with_columns(s=wb.sum(col.x).past(6)).collect()["s"].to_pylist()
    [2, 6, 6]
    """

    late_rows_change = "starts"

    parts: ReadColumns
    keys: tuple[str, ...] = ()

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0].with_fields((*upstream[0].fields, *self.parts.fields(upstream[0])), where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=True, causal=upstream[0].causal and not column_bounds(self.parts).lookahead)

    def reach(self, *inputs: Reach) -> Reach | None:
        return column_bounds(self.parts).reach(inputs[0])

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (column_bounds(self.parts).lineage(wanted.only(self.keys), inputs[0].longest),)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return ((wanted - self.parts.names).union(self.keys, self.parts.only(wanted).reads),)

    def narrowed(self, wanted: frozenset[str]) -> TemporalColumns:
        return replace(self, parts=self.parts.only(wanted))

    def kernel(self, *upstream: Schema) -> Kernel:
        return EventKernel(self.parts, self.keys, upstream[0], self.schema(*upstream))

    def show(self) -> str:
        return f"temporal_columns({self.parts.show(self.keys)})"
