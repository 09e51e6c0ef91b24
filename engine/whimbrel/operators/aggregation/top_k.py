"""Keep the k largest rows of each snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Column, Field, Schema, numpy_type
from whimbrel.batch.sort_keys import sort_key
from whimbrel.clock import INF
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import Col, Condition, Expr, Keys, check_name, columns_of, evaluate, key_of, trace, type_of
from whimbrel.kernels import Kernel, KeyTable
from whimbrel.operators.aggregation.multiset_values import FixedValues
from whimbrel.plan import (
    Exact,
    KnownInput,
    LineageRequest,
    Operator,
    Properties,
    Reach,
    fluent,
    is_ordered,
    reads_exactly,
)

Array = np.ndarray[Any, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, kw_only=True, eq=False)
class TopK(Operator):
    """Keep the k largest active events of each group.

    The k rows have the largest values.

        time     0    5    10   15
        in       2─────────
                      3────────
        out      2────                 (top_k(1, by=col.x): [0, 5), [5, 10), [10, 15))
                      3────
                           3────

    Parameters
    ----------
    k : int, > 0
    by : tuple of Expr
        The order of rows: the second value orders rows with equal first ones. Rows with null are skipped.
    descending : tuple of bool
        Whether the largest are first, for each of these.
    ties : bool
        Whether all rows of the last rank are kept. Otherwise the other columns decide, in their order, then the start.
    rank : str
        The column of the rank: one more than the rows before it. With ties it is RANK of SQL, and equal rows share one.
        Without ties it is ROW_NUMBER.
    keys : tuple of (str, Expr)
        Groups; none means all events together.

    Notes
    -----
    The lifetime of a result is its snapshot. Equal consecutive results are not merged. Shapes: up to k rows a
    snapshot, more with ties. State: the active events; of those that never end, the k largest of each group. Work: the
    active events at every time at which one starts or ends; after a tumbling window, only at its windows.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2], "x": [2, 5, 5], "n": ["a", "b", "c"]}, time="at").select("x", "n")
    >>> events.tumbling_window(10).top_k(1, by=wb.col.x).collect().to_pylist()
    [{'start': 0, 'end': 10, 'x': 5, 'n': 'b', 'rank': 1}, {'start': 0, 'end': 10, 'x': 5, 'n': 'c', 'rank': 1}]
    """

    k: int
    by: tuple[Expr, ...]
    descending: tuple[bool, ...]
    ties: bool = True
    rank: str = "rank"
    keys: Keys = ()

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()
        if self.k < 1:
            raise PlanError(f"k must be an integer of at least 1, got {self.k!r}.",
                            where=where, hint="Use a positive k, such as top_k(3, by=col.x).")
        for by in self.by:
            type_ = type_of(by, upstream[0], where=where)
            if not is_ordered(type_):
                raise ExpressionError(f"by must have an order, got {by.show()} of type {type_}.", where=where,
                                      hint="Order by numbers, booleans, times or strings.")
        for _, expr in self.keys:
            type_of(expr, upstream[0], where=where)
        return upstream[0].with_fields([*upstream[0], Field(self.rank, pa.int64())], where=where)

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(intervals_only=False, causal=upstream[0].causal, apart=upstream[0].no_period(),
                          points=upstream[0].points)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        if not self.ties:
            return (frozenset(upstream[0].names),)
        read = frozenset[str]().union(*map(columns_of, (*self.by, *(expr for _, expr in self.keys))))
        return (wanted - {self.rank} | read,)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0].of_changes()

    def partitioned(self, *by: str) -> str | None:
        return by[0] if key_of(self.keys, by[0]) else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        keys = [expr.name for _, expr in self.keys if isinstance(expr, Col)]
        below = wanted.only(keys).of_changes(inputs[0].longest, inputs[0].properties.grid)
        exact = max(reads_exactly(self), Exact.VALUES if self.ties else Exact.STARTS)
        return (below.exactly(exact),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return TopKKernel(self, upstream[0], self.schema(*upstream))

    def grouping_keys(self) -> Keys:
        return self.keys

    def show(self) -> str:
        options = "" if all(self.descending) else ", descending=False"
        options = options if len(set(self.descending)) == 1 else f", descending={list(self.descending)}"
        options += "" if self.ties else ", ties=False"
        options += "" if self.rank == "rank" else f", rank={self.rank!r}"
        by = self.by[0].show() if len(self.by) == 1 else f"[{', '.join(each.show() for each in self.by)}]"
        text = f"top_k({self.k}, by={by}{options})"
        return text if not self.keys else f"group_by({', '.join(name for name, _ in self.keys)}).{text}"


@fluent
def top_k(schema: Schema, k: int, by: Condition | str | Sequence[Condition | str], *,
          descending: bool | Sequence[bool] = True, ties: bool = True, rank: str = "rank", keys: Keys = ()) -> TopK:
    """Keep the k rows with the largest values, per group.

    There is a ranking for each snapshot. See :class:`whimbrel.operators.TopK`.

    Parameters
    ----------
    k : int
    by : Expr, callable or str, or a list
        The order of rows: an expression or the name of a column. The second orders rows with equal first values.
    descending : bool or list of bool
        False: the smallest instead. A list has a value for each of `by`.
    ties : bool
        Whether all rows of the last rank are kept, so that there may be more than k.
    rank : str
        The name of the column with the rank; without ties it is the number of the row, from 1.
    """
    check_name(rank, "top_k")
    values: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
    down = list(descending) if isinstance(descending, list | tuple) else [descending] * len(values)
    if not values or len(down) != len(values):
        raise PlanError(f"descending must have a value for each of by, got {len(down)} for {len(values)}.",
                        where="top_k(by=[...])", hint="Use by=[col.x, col.y], descending=[True, False].")
    return TopK(k=k, by=tuple(trace(each, where="top_k(by=...)", names=True) for each in values),
                descending=tuple(map(bool, down)), ties=ties, rank=rank, keys=keys)


class TopKKernel(Kernel):
    """Active rows with their group. When one starts or ends, its group is ranked again.

    Rows of windows that do not overlap start and end together. Such windows are ranked all at once.
    """

    def __init__(self, operator: TopK, upstream: Schema, schema: Schema) -> None:
        self.operator, self.schema = operator, schema
        self.waiting: list[Batch] = []
        self.active = Batch.empty(upstream)
        self.shown = Batch.empty(schema)
        self.groups = KeyTable([type_of(expr, upstream) for _, expr in operator.keys])
        self.active_groups = self.shown_groups = np.empty(0, np.int64)
        self.next_id = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.waiting.append(batch.compact())
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        if not self.waiting and not len(self.active):
            return []
        rows = Batch.concat(self.waiting or [Batch.empty(self.active.schema)])
        cut = len(rows) if watermark == INF else int(np.searchsorted(rows.sync, watermark, "left"))
        self.waiting = [rows.slice(cut, len(rows))] if cut < len(rows) else []
        rows = rows.slice(0, cut)
        groups = np.asarray(self.groups.ids([evaluate(expr, rows) for _, expr in self.operator.keys], cut), np.int64)
        out: list[Batch] = []
        if cut and not len(self.active):
            apart = _rows_apart(rows.sync, rows.other, watermark)
            if apart:
                out += self._ranked_apart(rows.slice(0, apart), groups[:apart])
                if apart == cut:
                    return out
                rows, groups = rows.slice(apart, cut), groups[apart:]
        times = np.unique(np.concatenate([rows.sync, rows.other, self.active.other]))
        for time in times[(times < watermark) & (times < INF)].tolist():
            first, last = np.searchsorted(rows.sync, time, "left"), np.searchsorted(rows.sync, time, "right")
            out += self._instant(time, rows.slice(int(first), int(last)), groups[first:last])
        return out

    @property
    def buffered_rows(self) -> int:
        return len(self.active) + sum(map(len, self.waiting))

    def _instant(self, time: int, new: Batch, new_groups: Array) -> list[Batch]:
        left = self.active.other == time
        changed = np.unique(np.concatenate([self.active_groups[left], new_groups]))
        stays = np.flatnonzero(~left)
        self.active = Batch.concat([self.active.take(stays), new])
        self.active_groups = np.concatenate([self.active_groups[stays], new_groups])
        self._forget(np.flatnonzero(np.isin(self.active_groups, changed)))
        over = np.isin(self.shown_groups, changed)
        ended = self.shown.take(np.flatnonzero(over))
        ended = Batch(self.schema, np.full(len(ended), time), ended.sync, ended.columns, ids=ended.ids)
        ranked, groups = self._ranked(time, np.flatnonzero(np.isin(self.active_groups, changed)))
        self.shown = Batch.concat([self.shown.take(np.flatnonzero(~over)), ranked])
        self.shown_groups = np.concatenate([self.shown_groups[~over], groups])
        return [batch for batch in (ended, ranked) if len(batch)]

    def _forget(self, indices: Array) -> None:
        """Remove rows that are never among the best, because enough better rows of their group never end."""
        lasting = indices[self.active.other[indices] == INF]
        if len(lasting) <= self.operator.k:
            return
        best, _ = self._best(self.active.take(lasting), self.active_groups[lasting])
        if len(best) == len(lasting):
            return
        stays = np.ones(len(self.active), np.bool_)
        stays[lasting] = False
        stays[lasting[best]] = True
        self.active, self.active_groups = self.active.take(np.flatnonzero(stays)), self.active_groups[stays]

    def _ranked(self, time: int, indices: Array) -> tuple[Batch, Array]:
        """Start edges of the best of these rows, and their groups."""
        rows, groups = self.active.take(indices), self.active_groups[indices]
        kept, ranks = self._best(rows, groups)
        ids = self.next_id + np.arange(len(kept))
        self.next_id += len(kept)
        columns = (*rows.take(kept).columns, Column(pa.int64(), ranks))
        ends = np.full(len(kept), INF, np.int64)
        return Batch(self.schema, np.full(len(kept), time), ends, columns, ids=ids), groups[kept]

    def _ranked_apart(self, rows: Batch, groups: Array) -> list[Batch]:
        """The best rows of each instant, where all rows that start at one have ended at the next."""
        instants = np.cumsum(_begins(rows.sync))
        kept, ranks = self._best(rows, instants * (int(groups.max()) + 1) + groups)
        best = rows.take(kept)
        out = Batch(self.schema, best.sync, best.other, (*best.columns, Column(pa.int64(), ranks)))
        return [out] if len(kept) else []

    def _best(self, rows: Batch, groups: Array) -> tuple[Array, Array]:
        """Where the best rows of each group are, group by group, and their ranks."""
        op = self.operator
        values = [evaluate(by, rows) for by in op.by]
        order_by = _together([_ranks(each) if down else ~_ranks(each)
                              for each, down in zip(values, op.descending, strict=True)])
        there = np.flatnonzero(np.logical_and.reduce([
            each.validity() if each.fixed else np.asarray(pc.is_valid(each.to_arrow())) for each in values]))
        if op.ties:
            order = there[np.lexsort((order_by[there], groups[there]))]
        else:
            named = {str(number): sort_key(column) for number, column in enumerate(rows.columns)}
            table = pa.table({"group": groups, "by": order_by} | named | {"first": rows.first_start})
            sort_keys = [(name, "ascending") for name in table.column_names]
            order = np.asarray(Column.from_arrow(pc.sort_indices(table, sort_keys)).values).astype(np.int64)
            order = order if len(there) == len(rows) else order[np.isin(order, there)]
        group, value = groups[order], order_by[order]
        begins = _begins(group)
        number = np.arange(1, len(order) + 1)
        rank = _latest(number, begins | _begins(value)) if op.ties else number
        rank = rank - _latest(number, begins) + 1
        kept = np.flatnonzero(rank <= op.k)
        return order[kept], rank[kept]


def _rows_apart(start: Array, end: Array, watermark: int) -> int:
    """How many of the first rows end together with all that start when they do, and before any other starts."""
    first = np.flatnonzero(_begins(start))
    earliest, latest = np.minimum.reduceat(end, first), np.maximum.reduceat(end, first)
    apart = (earliest == latest) & (latest < INF)
    apart[:-1] &= latest[:-1] <= start[first[1:]]
    apart[-1] &= latest[-1] <= watermark
    return len(start) if apart.all() else int(first[np.argmin(apart)])


def _begins(values: Array) -> Mask:
    """Whether each value is another one than that before it; the first is."""
    begins = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


def _latest(number: Array, begins: Mask) -> Array:
    """For each row, the number of the latest row that begins something; numbers are above 0."""
    return np.maximum.accumulate(number * begins)


def _together(ranks: list[Array]) -> Array:
    """Integers in the order of several, of which the first that differs decides; equal where all are."""
    if len(ranks) == 1:
        return ranks[0]
    order = np.lexsort(ranks[::-1])
    new = np.logical_or.reduce([np.diff(each[order], prepend=each[order][:1]) != 0 for each in ranks])
    together = np.empty(len(order), np.int64)
    together[order] = np.cumsum(new)
    return together


def _ranks(values: Column) -> Array:
    """Integers that are smaller for larger values; equal for equal ones."""
    if numpy_type(values.type) is not None:
        return ~FixedValues(values.type).encode(values)
    return np.asarray(pc.rank(values.to_arrow(), "descending", tiebreaker="min")).astype(np.int64)
