"""Change the result of an earlier latency band by its late rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from whimbrel.batch import Schema
from whimbrel.kernels import Kernel
from whimbrel.operators.temporal.recompute_kernel import RecomputeKernel
from whimbrel.plan import Operator, Properties, Reach


@dataclass(frozen=True, kw_only=True, eq=False)
class Recompute(Operator):
    """Compute the part of a result again that late rows change.

    The planner puts it where a query at several latencies reads other times. The first input is the result of the
    earlier latency band, the second one has all rows of the band, and the third one has only its late rows.

        time     0    5    10   15
        earlier  2────────────9────     (sum(col.x).past(6, ahead=1) of an earlier band)
        rows     2──4─────────9────
        late        4
        out      2──6─────────9────     (what starts in [3, 10] is computed again)

    Parameters
    ----------
    op : Operator
        Makes the result of the rows.
    own : Reach
        Rows that a range of the result needs.
    changes : Reach
        From late rows to what they change of the result. Steps between them add to it.

    Notes
    -----
    A late row at `t` changes what starts in ``[t - forward, t + back]``. All else is taken from the earlier result.
    Shapes: the rows of the result. State: rows and results from `back` before the watermark on, the times of late rows,
    and the state of the operator within a changed range. Source: Jayarajan et al., TiLT (ASPLOS 2023), section 5:
    boundary resolution, used for bands of Chandramouli et al., Impatience (ICDE 2018), section V.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 15, 4], "seen": [0, 15, 16], "x": [2, 9, 4]}, time="at", arrival="seen")
    >>> bands = log.select("x").select(s=wb.sum(col.x).past(6, ahead=1)).at_latencies(0, 20)
    >>> "recompute(temporal_columns(sum(col.x).past(6, ahead=1)))" in bands.explain()
    True
    >>> bands[1].collect()["s"].to_pylist()
    [2, 6, 9]
    """

    arity: ClassVar[int] = 3
    relates_inputs: ClassVar[bool] = False

    op: Operator
    own: Reach
    changes: Reach

    def schema(self, *upstream: Schema) -> Schema:
        return self.op.schema(upstream[1])

    def properties(self, *upstream: Properties) -> Properties:
        return replace(self.op.properties(upstream[1]), intervals_only=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return wanted, *self.op.requires(wanted, upstream[1]), frozenset()

    def narrowed(self, wanted: frozenset[str]) -> Recompute:
        return replace(self, op=self.op.narrowed(wanted))

    def kernel(self, *upstream: Schema) -> Kernel:
        return RecomputeKernel(self.op, upstream[1], self.own, self.changes)

    def show(self) -> str:
        return f"recompute({self.op.show()})"
