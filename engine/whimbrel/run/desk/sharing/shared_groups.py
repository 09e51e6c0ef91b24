"""Groups of rows that several queries share, with patterns of conditions."""

from __future__ import annotations

import copy
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Schema, frozen
from whimbrel.clock import INF
from whimbrel.expr import Expr, evaluate, type_of
from whimbrel.kernels import Compiled, KeyTable, encode_keys
from whimbrel.kernels.primitives.rows.value_classes import cells_of_numbers, number_cells
from whimbrel.operators import GroupAggregate
from whimbrel.operators.aggregation.pane_kernel import PaneKernel
from whimbrel.run.desk.sharing.condition_patterns import ConditionPatterns
from whimbrel.run.desk.sharing.value_classes import SplitCondition

Array = np.ndarray[Any, Any]

_number_cells = Compiled(number_cells)
_cells_of_numbers = Compiled(cells_of_numbers)
FIRST_SPAN = 64
_FEW_PATTERNS = 16
_SHORT = 1 << 16
ROWS_A_GROUP = 8
"""Groups of all keys together are worth it from so many rows each, divided by the number of sets of keys: each set
would need a table of its own."""
SAMPLE_ROWS = 1 << 16
"""After so many rows it is known how many a group has."""
CELLS_LIMIT = 1 << 18
"""So many cells have a place of their own in arrays, whether they have rows or not; more are looked up."""
_MANY_SETS = 4
"""More sets share no groups of fewer rows: each result merges all of its groups."""


class Asks(Protocol):
    """What a query asks for."""

    @property
    def keys(self) -> tuple[Expr, ...]:
        """What it groups by."""

    def condition_at(self, start: int, rows: Schema) -> tuple[Hashable, SplitCondition]:
        """Which rows it reads from a start on until a parameter changes, and what is equal for equal conditions."""

    @property
    def key_keys(self) -> tuple[Hashable, ...]:
        """For each key: equal for equal ones."""


@dataclass(frozen=True, eq=False)
class GroupsPart:
    """Partial aggregates that left together, in the order of time.

    Parameters
    ----------
    groups : SharedGroups
        What they left.
    span : int
        The number of a cell is that of its group times the span, plus that of its pattern.
    batch : Batch
        Cells and states.
    """

    groups: SharedGroups
    span: int
    batch: Batch

    def rows_of(self, member: Asks, schema: Schema) -> Batch | None:
        """The partial aggregates of one member, with its keys; None if it has none."""
        number = self.groups.conditions.get(id(member))
        if number is None:
            return None
        wanted = self.groups.patterns.with_condition(number)
        if np.count_nonzero(wanted) <= _FEW_PATTERNS:
            order, starts = self._by_pattern
            ranges = [order[starts[pattern]:starts[pattern + 1]] for pattern in np.flatnonzero(wanted).tolist()
                      if pattern < len(starts) - 1]
            rows = np.sort(np.concatenate(ranges)) if ranges else np.empty(0, np.int64)
        else:
            rows = np.flatnonzero(wanted[self._patterns])
        if not len(rows):
            return None
        batch = self.batch if len(rows) == len(self.batch) else self.batch.take(rows)
        cells = np.asarray(batch.columns[0].values)
        keys = self.groups.table.values((cells // self.span).astype(np.int32))
        mine = tuple(keys[place] for place in self.groups.key_numbers(member))
        return batch.computed(schema, (*mine, *batch.columns[1:]))

    @cached_property
    def _patterns(self) -> Array:
        patterns: Array = np.asarray(self.batch.columns[0].values) & (self.span - 1)  # a span is a power of two
        return patterns

    @cached_property
    def _by_pattern(self) -> tuple[Array, Array]:
        """Rows by pattern, and where those of each begin."""
        short = np.uint16 if self.span <= _SHORT else np.int64  # NumPy sorts numbers of 16 bits by their digits
        order = np.argsort(self._patterns.astype(short, copy=False), kind="stable")
        return order, np.concatenate([[0], np.cumsum(np.bincount(self._patterns, minlength=self.span))])


def joined(parts: Sequence[GroupsPart]) -> Sequence[GroupsPart]:
    """Parts in which neighbors that are alike are one, so that each query looks for its rows in few of them."""
    return [GroupsPart(groups, span, Batch.concat([part.batch for part in alike]))
            for (groups, span), alike in groupby(parts, lambda part: (part.groups, part.span))]


class SharedGroups:
    """One table of groups: each cell has a group and a pattern.

    Parameters
    ----------
    keys : mapping of Hashable to Expr
    members : sequence of Asks
    states : GroupAggregate
        By cell.
    needed : Schema
        The columns that it reads; the last one is the number of the cell.
    rows : Schema
    start : int
        Of the first row.

    Attributes
    ----------
    conditions : dict of int to int
        By the identity of a member: the number of its condition.
    rows : int
        How many rows it has taken in.
    """

    def __init__(self, keys: Mapping[Hashable, Expr], members: Sequence[Asks], states: GroupAggregate, needed: Schema,
                 rows: Schema, start: int) -> None:
        self.keys, self.members, self._states, self._needed = tuple(keys.values()), members, states, needed
        self._place = {key: place for place, key in enumerate(keys)}
        self.table = KeyTable([type_of(key, rows) for key in self.keys])
        numbers: dict[Any, int] = {}
        distinct: list[SplitCondition] = []
        self.conditions: Mapping[int, int] = {}
        found = {}
        for member in members:
            what, condition = member.condition_at(start, rows)
            number = found[id(member)] = numbers.setdefault(what, len(distinct))
            if number == len(distinct):
                distinct.append(condition)
        self.conditions = found
        self.patterns = ConditionPatterns(distinct, rows)
        self.span = FIRST_SPAN
        self.rows = self._left_cells = 0
        self.kernel = self._new_kernel()

    def _new_kernel(self) -> PaneKernel:
        kernel = self._states.kernel(self._needed)
        assert isinstance(kernel, PaneKernel)
        kernel.cells = self._cells if self._cells <= CELLS_LIMIT else 0
        return kernel

    @property
    def _cells(self) -> int:
        """How many there may be."""
        return max(1, len(self.table)) * self.span

    def fork(self) -> Self:
        """A copy with groups of its own; patterns and keys only grow, so that they are shared."""
        clone = copy.copy(self)
        clone.kernel = self.kernel.fork()
        return clone

    def key_numbers(self, member: Asks) -> list[int]:
        """Numbers of the keys of a member among all keys."""
        return [self._place[key] for key in member.key_keys]

    def push(self, batch: Batch) -> list[GroupsPart]:
        """Take in rows; what panes that end have."""
        left = self._make_room()  # a copy may have met more patterns and groups
        found = self._cells_by_number(batch)
        cells, rows = self.patterns.of(batch) if found is None else found
        if not rows:
            return left
        self.rows += rows
        absent = None
        if 2 * rows < len(batch):
            kept = cells >= 0
            batch, cells = batch.only(kept), cells[kept]
        elif rows < len(batch):
            absent = frozen(cells < 0)
        if found is None:
            left += self._number(batch, cells, absent)
        columns = [batch.column(field.name) for field in self._needed.fields[:-1]]
        return left + self._left(self.kernel.push(Batch(
            self._needed, batch.times, batch.ends, (*columns, Column(pa.int64(), cells)), absent)))

    def _cells_by_number(self, batch: Batch) -> tuple[Array, int] | None:
        """The cell of each row, and how many have one; None if a pattern or a group must be looked up or is new."""
        by_number = self.patterns.by_number
        if by_number is None or len(self.keys) != 1 or self.table.columns[0].physical is None:
            return None
        name, first, patterns = by_number
        column, key = batch.column(name), evaluate(self.keys[0], batch)
        if column.valid is not None or key.valid is not None:
            return None
        cells = np.empty(len(batch), np.int64)
        rows = int(_cells_of_numbers(
            frozen(np.asarray(column.values).astype(np.int64, copy=False)), first, patterns,
            encode_keys(np.asarray(key.values)), self.table.columns[0].integers.direct, self.span, cells))
        return None if rows < 0 else (cells, rows)

    def _number(self, batch: Batch, patterns: Array, absent: Array | None) -> list[GroupsPart]:
        """Make patterns cells; what must leave for that."""
        left = self._make_room()
        if self.keys:
            groups = self.table.ids([evaluate(key, batch) for key in self.keys], len(batch), absent)
            _number_cells(frozen(groups), patterns, self.span)
            left += self._make_room()
        return left

    def _make_room(self) -> list[GroupsPart]:
        """Have space for all patterns and groups that are known; what must leave for that."""
        left: list[GroupsPart] = []
        if len(self.patterns) > self.span:
            left += self.flush()
            while len(self.patterns) > self.span:
                self.span *= 4
        if self.kernel.cells and self._cells > CELLS_LIMIT:
            left += self.flush()
        elif self.kernel.cells:
            self.kernel.cells = self._cells
        return left

    def advance(self, watermark: int) -> list[GroupsPart]:
        """What panes have that end before a time."""
        return self._left(self.kernel.advance(watermark))

    def flush(self) -> list[GroupsPart]:
        """Everything that there is."""
        left = self._left(self.kernel.advance(INF))
        self.kernel = self._new_kernel()
        return left

    @property
    def rows_to_sample(self) -> int:
        """After how many more rows it is known whether they share cells."""
        return max(SAMPLE_ROWS - self.rows, 0)

    def is_sparse(self, sets: int) -> bool:
        """Whether so many rows have shown that too few of them share a cell for a table of so many sets of keys."""
        cells = self._left_cells + self.kernel.buffered_rows
        return not self.rows_to_sample and ROWS_A_GROUP * cells > self.rows * min(sets, _MANY_SETS)

    def _left(self, batches: Any) -> list[GroupsPart]:
        parts = [GroupsPart(self, self.span, batch) for batch in batches if len(batch)]
        self._left_cells += sum(len(part.batch) for part in parts)
        return parts


def tables_of(members: Sequence[Asks], states: GroupAggregate, needed: Schema, rows: Schema, start: int, *,
              apart: bool) -> list[SharedGroups]:
    """Tables of groups for members: one with the keys of all, or one for each set of keys.

    Notes
    -----
    Source: Zhang, Koudas, Ooi and Srivastava, Multiple aggregations over data streams (SIGMOD 2005): a phantom.
    """
    def made(of: Sequence[Asks]) -> SharedGroups:
        keys = {same: key for member in distinct_keys(of)
                for same, key in zip(member.key_keys, member.keys, strict=True)}
        return SharedGroups(keys, of, states, needed, rows, start)

    if not apart:
        return [made(members)]
    by_keys: dict[Any, list[Asks]] = {}
    for member in members:
        by_keys.setdefault(member.key_keys, []).append(member)
    return [made(of) for of in by_keys.values()]


def distinct_keys(members: Sequence[Asks]) -> Collection[Asks]:
    """One member for each set of keys, or few: those of one desk have the same object for equal keys."""
    return {id(member.key_keys): member for member in members}.values()
