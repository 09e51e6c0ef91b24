"""Keep the first event of each id within a span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Schema, check_reach, frozen
from whimbrel.batch.sort_keys import sort_key
from whimbrel.clock import INF, MIN_TIME, Duration, TickUnit, check_positive, duration_ticks, quote_ticks
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, Keys, check_key, evaluate, key_of, named_columns, type_of
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend, move
from whimbrel.kernels.primitives.windows.first_within import first_within
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, fluent

Array = np.ndarray[Any, Any]

_first_within = Compiled(first_within)
_IDS_AT_FIRST = 1024


@dataclass(frozen=True, kw_only=True, eq=False)
class DistinctWithin(Operator):
    """Keep the first event of each id within a span.

        time     0    5    10   15
        in       a  a b  a    a      (ids at 0, 3, 5, 8, 13)
        out      a    b         a    (span 10: the event at 13 is 13 after the first one)

    An event is dropped if one of its id that was kept started less than `span` before it. Dropped events do not
    prolong the span. Of events of one id and time, one is kept: that with the smallest values, column by column, nulls
    last.

    Parameters
    ----------
    span : int, > 0
        Ticks.
    keys : tuple of (str, Expr)
        Names and values of the id; a null is an id as any other.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Lifetimes do not change. Shapes: at most one row out per row in. State: a time for each id of the last `span`.
    Source: duplicates within a watermark of Apache Spark (``dropDuplicatesWithinWatermark``), by event time.

    Examples
    --------
    >>> import whimbrel as wb
    >>> alarms = wb.from_arrow({"at": [0, 3, 5, 8, 13], "id": ["a", "a", "b", "a", "a"]}, time="at")
    >>> alarms.distinct_within(10, by="id").collect()["start"].to_pylist()
    [0, 5, 13]
    """

    span: int
    keys: Keys
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()
        check_positive(self.unit, where=where, span=self.span)
        for name, expr in self.keys:
            check_key(name, type_of(expr, upstream[0], where=where), where)
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        return Properties(intervals_only=known.intervals_only, duration=known.duration, grid=known.grid,
                          causal=known.causal, time_grid=known.time_grid, points=known.points, apart=known.no_period(),
                          sampling=known.with_missing_samples(), calendar=known.calendar)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (frozenset(upstream[0].names),)  # all of them order events of one time

    def partitioned(self, *by: str) -> str | None:
        return by[0] if key_of(self.keys, by[0]) else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        keys = [expr.name for _, expr in self.keys if isinstance(expr, Col)]
        if wanted.starting:
            return (wanted.only(keys).starts(MIN_TIME, wanted.end),)
        return (wanted.only(keys).during(MIN_TIME, wanted.end, Exact.LIFETIMES),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return DistinctWithinKernel(upstream[0], [expr for _, expr in self.keys], self.span, self.show())

    def show(self) -> str:
        by = ", ".join(name for name, _ in self.keys)
        return f"distinct_within({quote_ticks(self.span, self.unit)}, by={by})"


@fluent
def distinct_within(schema: Schema, span: Duration, *, by: str | Expr | Sequence[str | Expr] = (),
                    keys: Keys = ()) -> DistinctWithin:
    """Keep the first event of each id within a span. See :class:`whimbrel.operators.DistinctWithin`.

    Parameters
    ----------
    span : str, timedelta or int, > 0
        An event is dropped if one of its id that was kept started less than this before it.
    by : str, Expr or sequence of them
        The id, in addition to the keys of ``group_by``.
    """
    named = (by,) if isinstance(by, str | Expr) else tuple(by)
    known = {name for name, _ in keys}
    chosen = (*keys, *(each for each in named_columns("distinct_within", named, {}) if each[0] not in known))
    if not chosen:
        raise PlanError("distinct_within() needs an id.", where=f"distinct_within({span!r})",
                        hint='Add its column, such as distinct_within("10m", by="id").')
    ticks = duration_ticks(span, schema.unit, where=f"distinct_within({span!r})")
    return DistinctWithin(span=ticks, keys=chosen, unit=schema.unit)


class DistinctWithinKernel(Kernel):
    """Knows for each id when its last event that was kept started."""

    def __init__(self, schema: Schema, keys: Sequence[Expr], span: int, where: str) -> None:
        self.key_exprs, self.span, self.where = tuple(keys), span, where
        self.types = [type_of(expr, schema) for expr in keys]
        self.keys = KeyTable(self.types)
        self.last = np.full(_IDS_AT_FIRST, MIN_TIME, np.int64)
        self.waiting: list[Batch] = []

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.waiting.append(batch.compact())
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        if not self.waiting:
            return []
        rows = Batch.concat(self.waiting)
        cut = len(rows) if watermark == INF else int(np.searchsorted(rows.sync, watermark, "left"))
        self.waiting = [rows.slice(cut, len(rows))] if cut < len(rows) else []
        found = self._first(rows.slice(0, cut)) if cut else rows.slice(0, 0)
        if self.keys.is_crowded:
            self._forget(watermark)
        return [found] if len(found) else []

    @property
    def buffered_rows(self) -> int:
        return len(self.keys) + sum(map(len, self.waiting))

    def _first(self, rows: Batch) -> Batch:
        check_reach(rows, self.span, self.where, in_order=True)
        groups = self.keys.ids([evaluate(expr, rows) for expr in self.key_exprs], len(rows))
        if len(self.keys) > len(self.last):
            self.last = extend(self.last, 2 * len(self.keys), MIN_TIME)
        alone = ~_after_smaller(rows, groups)
        if not alone.all():
            rows, groups = rows.take(np.flatnonzero(alone)), groups[alone]
        kept = np.zeros(len(rows), np.bool_)
        _first_within(rows.sync, frozen(groups), self.span, self.last, kept)
        return rows if kept.all() else rows.take(np.flatnonzero(kept))

    def _forget(self, watermark: int) -> None:
        """Remove the ids whose span is over; the others get new numbers."""
        known = len(self.keys)
        alive = np.flatnonzero(self.last[:known] > (watermark if watermark == INF else watermark - self.span))
        self.keys, numbers = self.keys.keep_only(alive)
        self.last = move(self.last, alive, numbers, max(_IDS_AT_FIRST, 2 * len(alive)), MIN_TIME)


def _after_smaller(rows: Batch, groups: Array) -> Array:
    """Which rows have one of the same id and time with smaller values; of equal rows all but one."""
    order = np.lexsort((groups, rows.sync))
    sync, group = rows.sync[order], groups[order]
    same = (sync[1:] == sync[:-1]) & (group[1:] == group[:-1])
    out = np.zeros(len(rows), np.bool_)
    if not same.any():
        return out
    several = order[np.append(same, False) | np.append(False, same)]
    taken = rows.take(several)
    columns = [pa.array(taken.sync), pa.array(groups[several]), *map(sort_key, taken.columns), pa.array(taken.other)]
    table = pa.table(columns, names=[str(number) for number in range(len(columns))])
    by = [(name, "ascending") for name in table.column_names]
    ranked = several[pc.sort_indices(table, sort_keys=by).to_numpy()]
    sync, group = rows.sync[ranked], groups[ranked]
    out[ranked[1:][(sync[1:] == sync[:-1]) & (group[1:] == group[:-1])]] = True
    return out
