"""Recompute the columns of events that read late rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar

from whimbrel.batch import Schema
from whimbrel.kernels import Kernel
from whimbrel.operators.temporal.recompute_rows_kernel import RecomputeRowsKernel
from whimbrel.operators.temporal.temporal_columns import TemporalColumns
from whimbrel.plan import Operator, Properties


@dataclass(frozen=True, kw_only=True, eq=False)
class RecomputeRows(Operator):
    """Compute columns again for the events that read a late one.

    The planner puts it where a query at several latencies reads earlier events of a key, which may have any age. The
    first input is the result of the earlier latency band, the second one has all rows of the band, and the third one
    has only its late rows.

        time     0    5    10   15
        earlier  2────────────9────     (col.x.previous() of an earlier band: null, 2)
        rows     2──4─────────9────
        late        4
        out      2──4─────────9────     (null, 2, 4; later rows read 9, and are as before)

    Parameters
    ----------
    ops : tuple of TemporalColumns
        Make the result of the rows, one after the other.

    Notes
    -----
    A late row changes the rows of its key until it is too old for them: in ticks, and in events of the key that came
    after it. Only these are computed again. For the next operator they are changed rows, which count as late ones. A
    window of rows is cut at a time, so its value has the same bits wherever late rows come before it. Shapes: the rows
    of the second input. State: that of `ops`, for each key how long a late row is still read, and rows that wait for
    the other inputs. Source: Jayarajan et al., TiLT (ASPLOS 2023), section 5: boundary resolution, used for bands of
    Chandramouli et al., Impatience (ICDE 2018), section V.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 15, 4], "seen": [0, 15, 16], "x": [2, 9, 4]}, time="at", arrival="seen")
    >>> bands = log.select(s=wb.sum(col.x).past(rows=2)).at_latencies(0, 20)
    >>> "recompute_rows(temporal_columns(sum(col.x).past(rows=2)))" in bands.explain()
    True
    >>> bands[1].collect()["s"].to_pylist()
    [2, 6, 13]
    """

    arity: ClassVar[int] = 3
    relates_inputs: ClassVar[bool] = False

    ops: tuple[TemporalColumns, ...]

    def schema(self, *upstream: Schema) -> Schema:
        return reduce(lambda schema, op: op.schema(schema), self.ops, upstream[1])

    def properties(self, *upstream: Properties) -> Properties:
        return replace(reduce(lambda known, op: op.properties(known), self.ops, upstream[1]), intervals_only=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        added = frozenset[str]()
        for op in reversed(self.narrowed(wanted).ops):
            added |= op.parts.names
            wanted, = op.requires(wanted)
        return added, wanted, frozenset()

    def narrowed(self, wanted: frozenset[str]) -> RecomputeRows:
        ops = list[TemporalColumns]()
        for op in reversed(self.ops):
            ops.insert(0, op.narrowed(wanted))
            wanted, = op.requires(wanted)
        return replace(self, ops=tuple(ops))

    def kernel(self, *upstream: Schema) -> Kernel:
        return RecomputeRowsKernel(self.ops, upstream[1])

    def show(self) -> str:
        return f"recompute_rows({', '.join(op.show() for op in self.ops)})"
