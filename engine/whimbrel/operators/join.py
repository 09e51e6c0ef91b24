"""Temporal join: equal keys and overlapping lifetimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from whimbrel.batch import Batch, Column, Field, Mask, Schema, frozen
from whimbrel.clock import MIN_TIME
from whimbrel.errors import PlanError, SchemaError
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.primitives.join import FRESH, LEFT, PLACE, RIGHT, temporal_join
from whimbrel.operators.measure import extend
from whimbrel.operators.rowstore import RowStore
from whimbrel.plan import Operator, Properties, fluent

Array = np.ndarray[Any, Any]

_join = Compiled(temporal_join)
_ROOM = 65_536


@dataclass(frozen=True, kw_only=True, eq=False)
class Join(Operator):
    """Pair events of two streams that have equal keys and are active at the same time.

        time     0    5    10   15
        left     a─────────
        right         b─────────
        out           ab───            ([max(starts), min(ends)))

    Parameters
    ----------
    on : tuple of (str, str)
        Pairs of key columns, left and right. A null key matches nothing. None: every pair that overlaps.
    suffix : str
        Added to right columns whose name the left has too.

    Notes
    -----
    Shapes: one row per overlapping pair; left columns, then right columns without the keys of the same name.
    State: the active events of both sides. Source: Trill (VLDB 2015), section 3.3.

    Examples
    --------
    >>> import whimbrel as wb
    >>> left = wb.from_arrow({"at": [0], "until": [10], "k": ["a"], "x": [1]}, time="at", end="until")
    >>> right = wb.from_arrow({"at": [5], "until": [15], "k": ["a"], "y": [2]}, time="at", end="until")
    >>> left.select("k", "x").join(right.select("k", "y"), on="k").collect().to_pylist()
    [{'start': 5, 'end': 10, 'k': 'a', 'x': 1, 'y': 2}]
    """

    arity: ClassVar[int] = 2

    on: tuple[tuple[str, str], ...]
    suffix: str = "_right"

    def schema(self, *upstream: Schema) -> Schema:
        left, right = upstream
        where = self.show()
        if left.unit != right.unit or left.zone != right.zone:
            raise PlanError(f"The two streams count time differently: {left.time_type} and {right.time_type}.",
                            where=where, hint="give both a time column of one type")
        for mine, theirs in self.on:
            types = left.type_of(mine, where=where), right.type_of(theirs, where=where)
            if types[0] != types[1]:
                raise SchemaError(f"Cannot match {mine!r} ({types[0]}) with {theirs!r} ({types[1]}).", where=where,
                                  hint="cast one side: .with_columns(name=col.name.cast(...))")
        added = [Field(name, right.type_of(old)) for old, name in self._right_names(*upstream)]
        return left.with_fields([*left, *added], where=where)

    def _right_names(self, left: Schema, right: Schema) -> list[tuple[str, str]]:
        keys = {theirs for mine, theirs in self.on if mine == theirs}
        return [(field.name, field.name + self.suffix if field.name in left else field.name)
                for field in right if field.name not in keys]

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=all(known.causal for known in upstream))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        left, right = upstream
        theirs = frozenset(old for old, new in self._right_names(left, right) if new in wanted)
        # A left column that shares its name decides how a right one is called, so it cannot be pruned away.
        shared = frozenset(old for old, new in self._right_names(left, right) if old != new)
        return (wanted & frozenset(left.names) | frozenset(mine for mine, _ in self.on) | shared,
                theirs | frozenset(theirs for _, theirs in self.on))

    def kernel(self, *upstream: Schema) -> Kernel:
        return JoinKernel(self, self.schema(*upstream), upstream, [old for old, _ in self._right_names(*upstream)])

    def show(self) -> str:
        keys = ", ".join(repr(mine) if mine == theirs else f"{mine!r}: {theirs!r}" for mine, theirs in self.on)
        return f"join(on={{{keys}}})" if any(mine != theirs for mine, theirs in self.on) else f"join(on=[{keys}])"


@fluent
def join(schema: Schema, right: Schema, on: str | Sequence[str] | Mapping[str, str], *, suffix: str = "_right") -> Join:
    """Pair events that have equal keys and are active at the same time. See :class:`whimbrel.operators.Join`.

    Parameters
    ----------
    right : Stream
    on : str, list of str, or dict
        Key columns; a dict pairs left names with right ones.
    suffix : str
        Added to right columns whose name the left has too.
    """
    if isinstance(on, str):
        on = [on]
    pairs = tuple(on.items()) if isinstance(on, Mapping) else tuple((name, name) for name in on)
    if not pairs:
        raise PlanError("join() needs a key.", where="join(on=...)", hint='such as on="origin"')
    return Join(on=pairs, suffix=suffix)


class _Side:
    """One input: rows that wait for the other side to catch up, and rows that are still active."""

    def __init__(self, schema: Schema, keys: list[str]) -> None:
        self.schema, self.keys = schema, keys
        self.waiting: list[Batch] = []
        self.frontier = MIN_TIME
        self.active = RowStore(schema)
        self.ends, self.after = np.zeros(_ROOM, np.int64), np.zeros(_ROOM, np.int64)
        self.head = np.full(1024, -1, np.int64)

    def fork(self) -> _Side:
        twin = object.__new__(_Side)
        twin.__dict__.update(self.__dict__)
        twin.waiting, twin.active = list(self.waiting), self.active.fork()
        twin.ends, twin.after, twin.head = self.ends.copy(), self.after.copy(), self.head.copy()
        return twin

    def until(self, time: int) -> Batch:
        """Waiting rows with ``sync <= time``."""
        if not self.waiting:
            return Batch.empty(self.schema)
        rows = Batch.concat(self.waiting).compact()
        cut = int(np.searchsorted(rows.sync, time, "right"))
        self.waiting = [rows.slice(cut, len(rows))] if cut < len(rows) else []
        return rows.slice(0, cut)

    def groups(self, rows: Batch, table: KeyTable) -> Array:
        """Ids of the keys; -1 where one is null."""
        columns = [rows.column(name) for name in self.keys]
        ids = table.ids(columns, len(rows))
        for column in columns:
            missing: Mask = ~column.validity()
            ids[missing] = -1
        return frozen(ids)

    def room_for(self, rows: int, groups: int) -> None:
        if rows > len(self.ends):
            self.ends, self.after = extend(self.ends, 2 * rows, 0), extend(self.after, 2 * rows, 0)
        if groups > len(self.head):
            self.head = extend(self.head, 2 * groups, -1)

    def forget(self, time: int, table: KeyTable) -> None:
        """Let go of events that ended, once they are most of what is kept."""
        kept = len(self.active)
        alive = np.flatnonzero(self.ends[:kept] > time)
        if kept < _ROOM or 2 * len(alive) > kept:
            return
        rows = self.active.take(alive)
        groups = self.groups(rows, table)
        self.active = RowStore(self.schema)
        self.active.append(rows)
        self.ends[: len(rows)] = rows.other
        # Hang the rows again, in order: each one's link is the row of its group before it.
        order = np.argsort(groups, kind="stable")
        same = groups[order[1:]] == groups[order[:-1]]
        self.after[: len(rows)] = -1
        self.after[order[1:][same]] = order[:-1][same]
        self.head[:] = -1
        hung = groups[order] >= 0
        self.head[groups[order][hung]] = order[hung]


class JoinKernel(Kernel):
    """Takes rows of both sides in time order, as far as both are known."""

    def __init__(self, join: Join, schema: Schema, upstream: tuple[Schema, ...], right_columns: list[str]) -> None:
        self.schema = schema
        self.right_columns = right_columns
        self.keys = KeyTable([upstream[0].type_of(mine) for mine, _ in join.on])
        self.sides = [_Side(upstream[0], [mine for mine, _ in join.on]),
                      _Side(upstream[1], [theirs for _, theirs in join.on])]

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.sides[port].waiting.append(batch)
        return []

    def advance(self, frontier: int, port: int = 0) -> list[Batch]:
        self.sides[port].frontier = frontier
        self.frontier = min(side.frontier for side in self.sides)
        left, right = self.sides
        new = [side.until(self.frontier) for side in self.sides]
        if not len(new[0]) and not len(new[1]):
            return []
        groups = [side.groups(rows, self.keys) for side, rows in zip(self.sides, new, strict=True)]
        bases = [len(side.active) for side in self.sides]
        for side, rows in zip(self.sides, new, strict=True):
            side.active.append(rows)
            side.room_for(len(side.active), len(self.keys))
        cursor = np.zeros(4, np.int64)
        cursor[PLACE] = FRESH
        matches = [np.empty(_ROOM, np.int64) for _ in range(4)]
        out = []
        while cursor[LEFT] < len(new[0]) or cursor[RIGHT] < len(new[1]):
            done = int(_join(cursor, new[0].sync, new[0].other, groups[0], bases[0],
                             new[1].sync, new[1].other, groups[1], bases[1],
                             left.ends, left.after, left.head, right.ends, right.after, right.head, *matches))
            if done:
                out.append(self._batch(*(array[:done] for array in matches)))
        for side in self.sides:
            side.forget(self.frontier, self.keys)
        return out

    def _batch(self, left: Array, right: Array, start: Array, end: Array) -> Batch:
        mine = self.sides[0].active.take(left)
        theirs = self.sides[1].active.take(right).select(self.right_columns)
        columns: tuple[Column, ...] = (*mine.columns, *theirs.columns)
        return Batch(self.schema, start.copy(), end.copy(), columns)

    @property
    def buffered_rows(self) -> int:
        return sum(len(side.active) + sum(map(len, side.waiting)) for side in self.sides)
