"""Windows of the last rows of each key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema, frozen
from whimbrel.batch.row_store import RowStore
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, Keys, columns_of, evaluate, key_of, type_of
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.windows.last_rows import end_earlier_rows
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, TimeGrid, fluent

Array = np.ndarray[Any, Any]

_end_earlier = Compiled(end_earlier_rows)
_SLOTS_AT_FIRST = 1024
_CROWDED = 65_536
"""So many rows are stored before those that have ended are removed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LastRows(Operator):
    """Keep the last `rows` events of each key active.

        time     0    5    10   15   20
        in       a  b    c    d          (points at 0, 3, 8, 13)
        out      a────────               (rows 2: [0, 8))
                    b──────────          ([3, 13))
                         c───────────    (never ends)
                              d──────

    An event ends once `rows` others of its key have started strictly later. Events of one key and time end together, so
    more than `rows` can be active after such events. The order in which they came never decides. For exactly `rows`,
    use SQL with a column that orders events of one time: ``sum(x) OVER (ORDER BY ts, seq ROWS 9 PRECEDING)``.

    Parameters
    ----------
    rows : int, at least 1
    keys : tuple of (str, Expr)
        Names and values of the ``group_by`` keys; a null is a key as any other.

    Notes
    -----
    The input duration is ignored. Shapes: one row out per row in, as start and end edges. State: the last `rows` events
    of each key. Source: the windows of rows of CQL (Arasu, Babu and Widom, VLDB Journal 2006), section 6, without their
    choice between simultaneous rows.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> events = wb.from_arrow({"at": [0, 3, 8, 13], "x": [1, 2, 3, 4]}, time="at")
    >>> events.last_rows(2).aggregate(total=wb.sum(col.x)).collect().to_pylist()[:3]
    [{'start': 0, 'end': 3, 'total': 1}, {'start': 3, 'end': 8, 'total': 3}, {'start': 8, 'end': 13, 'total': 5}]
    """

    accepts_edges: ClassVar[bool] = True

    rows: int
    keys: Keys = ()

    def schema(self, *upstream: Schema) -> Schema:
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1:
            raise PlanError(f"rows must be an integer of at least 1, got {self.rows!r}.", where=self.show(),
                            hint="Use last_rows(10) for the last ten events of each key.")
        for _, expr in self.keys:
            type_of(expr, upstream[0], where=self.show())
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        starts = known.time_grid if known.grid is None else TimeGrid(known.grid.hop, known.grid.offset)
        return Properties(intervals_only=False, causal=known.causal, time_grid=starts)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted.union(*(columns_of(expr) for _, expr in self.keys)),)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if key_of(self.keys, by[0]) else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        keys = [expr.name for _, expr in self.keys if isinstance(expr, Col)]
        whole = wanted.exact is Exact.LIFETIMES
        begin = wanted.start if wanted.starting and not whole else MIN_TIME
        return (wanted.only(keys).starts(begin, INF if whole else wanted.end),)

    def suffices(self, wanted: LineageRequest) -> bool:
        return wanted.exact < Exact.LIFETIMES

    def kernel(self, *upstream: Schema) -> Kernel:
        return LastRowsKernel(upstream[0], [expr for _, expr in self.keys], self.rows)

    def grouping_keys(self) -> Keys:
        return self.keys

    def show(self) -> str:
        keys = f"group_by({', '.join(name for name, _ in self.keys)})." if self.keys else ""
        return f"{keys}last_rows({self.rows})"


@fluent
def last_rows(schema: Schema, rows: int, *, keys: Keys = ()) -> LastRows:
    """Keep the last `rows` events of each key active. See :class:`whimbrel.operators.LastRows`.

    Parameters
    ----------
    rows : int
        An event ends once so many others of its key have started strictly later. Events of one time stay together.
    """
    return LastRows(rows=rows, keys=keys)


class LastRowsKernel(Kernel):
    """Emits each event as a start edge, and its end edge with the later row that ends it.

    Attributes
    ----------
    start, after, live : numpy.ndarray
        Per slot: when the row starts, the next slot of its group, whether it has not ended.
    head, tail, rows, ties : numpy.ndarray
        Per group: its first and its last live slot, how many are live, how many of them start with the first.
    """

    def __init__(self, schema: Schema, keys: Sequence[Expr], limit: int) -> None:
        self.key_exprs, self.limit = tuple(keys), limit
        self.keys = KeyTable([type_of(expr, schema) for expr in keys])
        self.store = RowStore(schema)
        self.crowded = _CROWDED
        self.start, self.after = np.zeros(_SLOTS_AT_FIRST, np.int64), np.zeros(_SLOTS_AT_FIRST, np.int64)
        self.live = np.zeros(_SLOTS_AT_FIRST, np.bool_)
        self.head, self.tail, self.rows, self.ties = (np.zeros(_SLOTS_AT_FIRST, np.int64) for _ in range(4))
        self.ids_given = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        rows = starts_only(batch.compact())
        if not len(rows):
            return []
        groups = frozen(self.keys.ids([evaluate(expr, rows) for expr in self.key_exprs], len(rows)))
        base = len(self.store)
        total = base + len(rows)
        self._grow(total)
        ids = self.ids_given + np.arange(len(rows))
        self.ids_given += len(rows)
        begun = rows.having(ends=np.full(len(rows), INF), ids=ids)
        self.store.append(begun)
        self.live[base:total] = True
        ended, at = np.empty(total, np.int64), np.empty(total, np.int64)
        count = int(_end_earlier(rows.sync, groups, self.limit, base, self.start, self.after, self.head, self.tail,
                                 self.rows, self.ties, ended, at))
        if not count:
            return [begun]
        ended, at = ended[:count].copy(), at[:count].copy()
        self.live[ended] = False
        edges = self.store.take(ended).having(sync=at, ends=self.start[ended])
        self._forget()
        out = Batch.concat([begun, edges])
        return [out.take(np.argsort(out.sync, kind="stable"))]

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return []

    @property
    def buffered_rows(self) -> int:
        return int(self.rows[: len(self.keys)].sum())

    def _grow(self, total: int) -> None:
        if total > len(self.start):
            self.start, self.after = extend(self.start, 2 * total, 0), extend(self.after, 2 * total, 0)
            self.live = extend(self.live, 2 * total, False)
        if len(self.keys) > len(self.head):
            for name in ("head", "tail", "rows", "ties"):
                setattr(self, name, extend(getattr(self, name), 2 * len(self.keys), 0))

    def _forget(self) -> None:
        """Remove rows that have ended, once there are many; the others get new slots."""
        stored = len(self.store)
        if stored < self.crowded:
            return
        alive = np.flatnonzero(self.live[:stored])
        number = np.cumsum(self.live[:stored]) - 1
        after = self.after[alive]
        self.start[: len(alive)] = self.start[alive]
        self.after[: len(alive)] = np.where(after < 0, -1, number[after])
        self.live[: len(alive)], self.live[len(alive) : stored] = True, False
        groups = np.flatnonzero(self.rows)
        self.head[groups], self.tail[groups] = number[self.head[groups]], number[self.tail[groups]]
        kept = self.store.take(alive)
        self.store = RowStore(kept.schema)
        self.store.append(kept)
        self.crowded = max(_CROWDED, 2 * len(alive))
