"""Union of streams with one schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import MIN_TIME
from whimbrel.errors import PlanError, SchemaError, near_match
from whimbrel.kernels import Kernel
from whimbrel.operators.rows.pending_rows import PendingRows
from whimbrel.plan import HIDDEN, KnownInput, LineageRequest, Operator, Properties, Reach, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class Union(Operator):
    """Merge the events of several streams into one.

        time     0    5    10
        left     a────
        right       b────
        out      a────                 (a: [0, 5), b: [3, 8))
                    b────

    Parameters
    ----------
    None.

    Notes
    -----
    All streams have the same columns, in any order. The result has the order of the first. If time units differ, the
    result has the finest, in time and in timestamp columns. For equal starts, events of the first stream come first.
    Shapes: as many rows out as in. State: events of streams with a later watermark than the others. Source: Trill (VLDB
    2015), section 3.3.

    Examples
    --------
    >>> import whimbrel as wb
    >>> left = wb.from_arrow({"at": [0, 7], "x": [1, 2]}, time="at")
    >>> right = wb.from_arrow({"at": [3], "x": [5]}, time="at")
    >>> left.union(right).select("x").collect().to_pylist()
    [{'start': 0, 'end': 1, 'x': 1}, {'start': 3, 'end': 4, 'x': 5}, {'start': 7, 'end': 8, 'x': 2}]
    """

    relates_inputs: ClassVar[bool] = False

    def schema(self, *upstream: Schema) -> Schema:
        """Columns that all inputs have.

        A source may have more columns because another part of the plan reads them.
        """
        first, *others = upstream
        shared = [field for field in first if all(field.name in other for other in others)]
        return first.with_fields(shared)

    def properties(self, *upstream: Properties) -> Properties:
        durations, grids = {known.duration for known in upstream}, {known.grid for known in upstream}
        return Properties(duration=durations.pop() if len(durations) == 1 else None,
                          grid=grids.pop() if len(grids) == 1 else None, causal=all(known.causal for known in upstream),
                          points=all(known.points for known in upstream))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return tuple(wanted for _ in upstream)

    def reach(self, *inputs: Reach) -> Reach | None:
        first, *others = inputs
        together: Reach | None = first
        for other in others:
            together = None if together is None else together.combined(other)
        return together

    def partitioned(self, *by: str) -> str | None:
        return by[0] if len(set(by)) == 1 else HIDDEN

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.same(),) * len(inputs)

    def kernel(self, *upstream: Schema) -> Kernel:
        return UnionKernel(self.schema(*upstream), len(upstream))

    def show(self) -> str:
        return "union()"


@fluent
def union(schema: Schema, *others: Schema) -> Union:
    """Merge this stream with others. See :class:`whimbrel.operators.Union`.

    Parameters
    ----------
    *others : Stream
        With the same columns.
    """
    if not others:
        raise PlanError("union() needs another stream.", where="union()", hint="Add one, such as left.union(right).")
    for position, other in enumerate(others, 1):
        where = "union()" if len(others) == 1 else f"union(), stream {position} of {len(others)}"
        _check_same(schema, other, where)
    return Union()


def _check_same(left: Schema, right: Schema, where: str) -> None:
    for field in left:
        if field.name not in right:
            raise SchemaError(f"The other stream has no column {field.name!r}.", where=where,
                              hint=near_match(field.name, right.names))
        type_ = right.type_of(field.name)
        if type_ != field.type:
            raise SchemaError(f"Column {field.name!r} must have one type, got {field.type} here and {type_} in the "
                              f"other stream.",
                              where=where, hint="Cast one: .with_columns(name=col.name.cast(...)).")
    for name in right.names:
        if name not in left:
            raise SchemaError(f"Only the other stream has a column {name!r}.", where=where,
                              hint=f"Use .drop({name!r}), or rename it. {near_match(name, left.names)}")


class UnionKernel(Kernel):
    """Lets rows go once every stream has got there."""

    def __init__(self, schema: Schema, streams: int) -> None:
        self.schema = schema
        self.waiting = [PendingRows() for _ in range(streams)]
        self.watermarks = [MIN_TIME] * streams

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        columns = batch.compact().select(self.schema.names)
        self.waiting[port].add(replace(columns, schema=self.schema, ids=None))
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        self.watermark = min(self.watermarks)
        ready = [batch for waiting in self.waiting for batch in waiting.before(self.watermark)]
        if not ready:
            return []
        rows = Batch.concat(ready)
        return [rows.take(np.argsort(rows.sync, kind="stable"))]

    @property
    def buffered_rows(self) -> int:
        return sum(waiting.rows for waiting in self.waiting)

    @property
    def buffered_bytes(self) -> int:
        return sum(waiting.nbytes for waiting in self.waiting)

