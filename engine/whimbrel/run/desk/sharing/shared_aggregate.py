"""Aggregate rows once for many queries."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Field, Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import Col, Expr, ParameterValues, columns_of
from whimbrel.kernels import Kernel
from whimbrel.operators import GroupAggregate
from whimbrel.plan import Operator, Properties, structure
from whimbrel.run.desk.sharing.parameters_of_conditions import condition_at
from whimbrel.run.desk.sharing.shared_groups import GroupsPart, SharedGroups, distinct_keys, joined, tables_of
from whimbrel.run.desk.sharing.value_classes import SplitCondition

_NONE_JOINED: tuple[tuple[int, int], Sequence[GroupsPart]] = (0, 0), ()


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedAggregate(Operator):
    """Partial aggregates of panes for all queries of a desk that agree in their window and aggregates.

    A row is aggregated once for each pattern: the set of conditions that it meets. A query merges the partial
    aggregates of the patterns that are its own. Rows that meet no condition are left out.

        time     0    5    10
        rows     1 7  9 3             (queries: x > 2, x > 8)
        partial  {first}: 2, {first, second}: 1

    Parameters
    ----------
    states : GroupAggregate
        Partial aggregates, without keys.

    Notes
    -----
    It gives no rows: queries take theirs from its kernel when they need them. State: partial aggregates of one pane.
    """

    states: GroupAggregate

    def schema(self, *upstream: Schema) -> Schema:
        return self.states.schema(*upstream)

    def properties(self, *upstream: Properties) -> Properties:
        return self.states.properties(*upstream)

    def kernel(self, *upstream: Schema) -> SharedAggregateKernel:
        return SharedAggregateKernel(self.states, upstream[0])

    def show(self) -> str:
        shown = self.states.show().replace("states(", "shared aggregate(", 1)
        for name, aggregate in self.states.measures:
            shown = shown.replace(f"{name}={aggregate.show()}", aggregate.show(), 1)
        return shown


@dataclass(frozen=True, eq=False)
class Member:
    """What a query asks of a shared aggregate.

    Parameters
    ----------
    keys : tuple of Expr
    condition : SplitCondition
    begin : int or None
        The first time of rows that it reads.
    condition_key, key_keys : Hashable, tuple of Hashable
        Equal for equal conditions, and for equal keys.
    parameters : tuple of ParameterValues
        Those of the condition.
    """

    keys: tuple[Expr, ...]
    condition: SplitCondition
    begin: int | None
    condition_key: Hashable
    key_keys: tuple[Hashable, ...]
    parameters: tuple[ParameterValues, ...] = ()
    _newest: dict[tuple[Any, ...], tuple[Hashable, SplitCondition]] = field(default_factory=dict, init=False)

    def condition_at(self, start: int, rows: Schema) -> tuple[Hashable, SplitCondition]:
        """The condition from a start on until a parameter changes, and its key."""
        if self.condition.expr is None or not self.parameters:
            return self.condition_key, self.condition
        values = tuple(each.value_at(start, rows.unit) for each in self.parameters)
        if values not in self._newest:
            settled = condition_at(self.condition.expr, start, rows)
            self._newest.clear()
            self._newest[values] = structure(settled), SplitCondition.of(settled, rows)
        return self._newest[values]


class SharedAggregateKernel(Kernel):
    """Keeps partial aggregates for its members, and a list of those that are complete.

    Partial aggregates may leave before their pane ends, since queries merge them anyway: when members change, when
    another way to group them is better, and for checkpoints. It then has no state at all.

    Parameters
    ----------
    states : GroupAggregate
    rows : Schema

    Attributes
    ----------
    members, waiting : list of Member
        Those that get rows, and those whose rows have not begun, in the order of their begin.
    groups : list of SharedGroups
    parts : list of GroupsPart
        Partial aggregates that left, in the order of time.
    first : int
        How many parts were dropped before these.
    changes : int
        Grows whenever members or rows are added.
    joined_parts : tuple
        What :meth:`since` gave last, after the numbers of its first and last part.
    """

    def __init__(self, states: GroupAggregate, rows: Schema) -> None:
        self._states, self._rows = states, rows
        self.members: list[Member] = []
        self.waiting: list[Member] = []
        self.groups: list[SharedGroups] = []
        self._stale = False
        self._sets_of_keys = self._apart = frozenset[Hashable]()
        self._parameters: tuple[ParameterValues, ...] = ()
        self._edits = 0
        self._settled_at, self._settled_until = MIN_TIME, INF
        self.parts: list[GroupsPart] = []
        self.first = self.changes = 0
        self.joined_parts = _NONE_JOINED

    def fork(self) -> Self:
        clone = copy.copy(self)
        clone.members, clone.waiting = list(self.members), list(self.waiting)
        clone.groups = [groups.fork() for groups in self.groups]
        clone.parts, clone.joined_parts = [], _NONE_JOINED
        return clone

    def state_parts(self) -> dict[str, Any]:
        """Partial aggregates were taken by the queries before a checkpoint."""
        assert not self.buffered_rows
        return {"watermark": self.watermark}

    def add(self, member: Member) -> None:
        """Add a member, which gets the rows from its begin on."""
        if member.begin is None:
            self.members.append(member)
            self._stale = True
        else:
            self.waiting.append(member)
            self.waiting.sort(key=_begin)
        self.changes += 1

    def remove(self, member: Member) -> None:
        """Remove a member."""
        self.members = [each for each in self.members if each is not member]
        self.waiting = [each for each in self.waiting if each is not member]
        self._stale = True
        self.changes += 1

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        self.changes += 1
        batch = batch.compact()
        while self.waiting and len(batch) and _begin(self.waiting[0]) <= batch.time(-1):
            at = int(np.searchsorted(batch.sync, _begin(self.waiting[0])))
            self._take_in(batch.slice(0, at))
            batch = batch.slice(at, len(batch))
            while self.waiting and _begin(self.waiting[0]) <= batch.time(0):
                self.members.append(self.waiting.pop(0))
            self._stale = True
        self._take_in(batch)
        return []

    def _take_in(self, batch: Batch) -> None:
        """Take in rows, in parts in which no parameter changes."""
        while len(batch):
            rows = self._settled_rows(batch)
            self._take_in_settled(batch.slice(0, rows))
            batch = batch.slice(rows, len(batch))

    def _settled_rows(self, batch: Batch) -> int:
        """How many of the first rows read the same values of all parameters; new ones make its groups stale."""
        start, unit = batch.time(0), self._rows.unit
        if self._stale:
            self._parameters = tuple(dict.fromkeys(each for member in self.members for each in member.parameters))
        edits = sum(each.edits for each in self._parameters)
        if self._stale or start >= self._settled_until or edits != self._edits:
            self._edits = edits
            changes = [each.change_after(self._settled_at, unit) for each in self._parameters]
            if self._stale or start >= min(changes, default=INF):
                self._stale, self._settled_at = True, start
                changes = [each.change_after(start, unit) for each in self._parameters]
            self._settled_until = min(changes, default=INF)
        rows = len(batch)
        if self._settled_until <= batch.time(-1):
            rows = int(np.searchsorted(batch.sync, self._settled_until))
        for each in self._parameters:
            each.read(batch.time(rows - 1), unit)
        return rows

    def _take_in_settled(self, batch: Batch) -> None:
        while len(batch):
            if self._stale:
                self._regroup(batch.time(0))
            rows = len(batch)
            together = self.groups[0] if len(self.groups) == 1 < len(self._sets_of_keys) else None
            if together is not None and together.rows_to_sample:
                rows = min(rows, together.rows_to_sample)
            for table in self.groups:
                self.parts += table.push(batch.slice(0, rows))
            batch = batch.slice(rows, len(batch))
            if together is not None and together.is_sparse(len(self._sets_of_keys)):
                self._apart, self._stale = self._sets_of_keys, True

    def _regroup(self, start: int) -> None:
        """Begin with one table of groups, unless these sets of keys have shown to have few rows in each group."""
        self.flush()
        self._sets_of_keys = frozenset(member.key_keys for member in distinct_keys(self.members))
        self.groups = tables_of(self.members, self._by_cell, self._needed, self._rows, start,
                                apart=self._apart == self._sets_of_keys)
        self._stale = False

    @cached_property
    def _by_cell(self) -> GroupAggregate:
        return replace(self._states, keys=((self._cell, Col(self._cell)),))

    @property
    def _cell(self) -> str:
        name = "cell"
        while name in self._rows.names:
            name += "_"
        return name

    @cached_property
    def _needed(self) -> Schema:
        """The columns that are aggregated, and the number of a group and its pattern."""
        exprs = [expr for _, each in self._states.measures for expr in (each.expr, each.condition) if expr is not None]
        names = frozenset[str]().union(*map(columns_of, exprs))
        kept = self._rows.select([name for name in self._rows.names if name in names])
        return kept.with_fields([*kept, Field(self._cell, pa.int64())])

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.changes += 1
        grid = self._states.grid
        assert grid is not None
        self.watermark = watermark
        if watermark not in (INF, MIN_TIME):
            self.watermark = watermark - (watermark - grid.offset) % grid.hop + self._states.lead
        for groups in self.groups:
            self.parts += groups.advance(watermark)
        return []

    def flush(self) -> None:
        """Let all partial aggregates leave."""
        for groups in self.groups:
            self.parts += groups.flush()

    def kept(self) -> Sequence[GroupsPart]:
        """The partial aggregates that would leave now."""
        copy = self.fork()
        copy.flush()
        return copy.parts

    @property
    def end(self) -> int:
        """How many parts have left."""
        return self.first + len(self.parts)

    @property
    def left_rows(self) -> int:
        """How many partial aggregates have left and are kept."""
        return sum(len(part.batch) for part in self.parts)

    def forget(self, parts: int) -> None:
        """Drop the first parts that have left, up to a number of them in all."""
        if parts > self.first:
            del self.parts[: parts - self.first]
            self.first, self.joined_parts = parts, _NONE_JOINED

    def since(self, part: int) -> Sequence[GroupsPart]:
        """Parts that have left, without the first ones; those of one table of groups as one."""
        if self.joined_parts[0] != (part, self.end):
            self.joined_parts = (part, self.end), joined(self.parts[part - self.first:])
        return self.joined_parts[1]

    @property
    def groupings(self) -> list[int]:
        """How many members each of its tables of groups has."""
        return [len(groups.members) for groups in self.groups]

    @property
    def buffered_rows(self) -> int:
        return sum(groups.kernel.buffered_rows for groups in self.groups)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for groups in self.groups for text in groups.kernel.sources))


def _begin(member: Member) -> int:
    return MIN_TIME if member.begin is None else member.begin
