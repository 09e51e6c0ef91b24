"""Kernel of pattern detection.

Events wait until their time is complete. Then they advance the runs of the automaton.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Schema, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import Expr, evaluate, predicate, registers_of
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.patterns.pattern_runs import FREE, USED, advance_runs, drop_expired
from whimbrel.operators.patterns.automaton import Automaton
from whimbrel.operators.patterns.pattern import SimultaneousPattern

Array = np.ndarray[Any, Any]
Advance = Callable[[int], int]
"""Lets the events from a row on move runs; answers with the first row not done."""

CAPACITY = 16_384

_advance = Compiled(advance_runs)
_drop_expired = Compiled(drop_expired)


class DetectKernel(Kernel):
    """Runs that remember nothing: each is the set of states that its events may have led to.

    Parameters
    ----------
    schema : Schema
        Of the result.
    automaton : Automaton
    within : int
        Ticks after its begin at which a run accepts no more events; ``INF`` is no limit.
    keys : sequence of Expr
    overlapping : bool
        Whether a run may begin at an event that moved another one.
    in_order : bool
        Whether events of one key and time are taken one after the other, instead of passed over.
    """

    def __init__(self, schema: Schema, automaton: Automaton, within: int, keys: Sequence[Expr], *,
                 overlapping: bool = True, in_order: bool = False) -> None:
        self.schema, self.within, self.key_exprs = schema, within, tuple(keys)
        self.overlapping, self.in_order = overlapping, in_order
        self.conditions = tuple(automaton.conditions)
        self.parts = tuple(automaton.events)
        self.at_once = any(isinstance(part, SimultaneousPattern) for part in self.parts)
        self.first, self.last = automaton.first, automaton.last
        self.follow = np.array(automaton.follow, np.int64)
        self.keys = KeyTable([field.type for field in schema.fields[: len(keys)]])
        self.waiting: list[Batch] = []
        self.swept = MIN_TIME
        self.scalars = np.zeros(2, np.int64)
        self.head, self.length = np.full(1024, -1, np.int64), np.zeros(1024, np.int64)
        self.free, self.after, self.states, self.began, self.events = (np.zeros(CAPACITY, np.int64) for _ in range(5))
        self.out = [np.zeros(CAPACITY, np.int64) for _ in range(5)]
        self.count = np.zeros(1, np.int64)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.waiting.append(batch.compact())
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        out: list[Batch] = []
        if self.waiting:
            rows = Batch.concat(self.waiting)
            cut = len(rows) if watermark == INF else int(np.searchsorted(rows.sync, watermark, "left"))
            self.waiting = [rows.slice(cut, len(rows))] if cut < len(rows) else []
            out = self._run(rows.slice(0, cut)) if cut else []
        if self.runs and (watermark == INF or watermark - self.swept >= self.within):
            self._sweep(watermark)
        return out

    @property
    def runs(self) -> int:
        """Runs that are under way."""
        return int(self.scalars[USED] - self.scalars[FREE])

    @property
    def buffered_rows(self) -> int:
        return self.runs + sum(map(len, self.waiting))

    def _run(self, rows: Batch) -> list[Batch]:
        groups = frozen(self.keys.ids([evaluate(expr, rows) for expr in self.key_exprs], len(rows)))
        if len(self.keys) > len(self.head):
            self.head = extend(self.head, 2 * len(self.keys), -1)
            self.length = extend(self.length, 2 * len(self.keys), 0)
        if self.at_once:
            rows, groups, satisfied = self._by_instant(rows, groups)
        else:
            satisfied = self._satisfied(rows)
        alone = np.ones(len(rows), np.bool_) if self.in_order or self.at_once else _alone(rows.sync, groups)
        advance = self._advance(rows, groups, frozen(satisfied), frozen(alone))
        out = []
        row = 0
        while row < len(rows):
            before = row
            row = advance(row)
            if self.count[0]:
                out.append(self._batch(int(self.count[0])))
            elif row == before and not self._sweep(int(rows.sync[row])):
                self._grow()
        return out

    def _satisfied(self, rows: Batch) -> Array:
        """A bit per state that an event may lead to, as far as that does not hang on what a run remembers."""
        satisfied = np.zeros(len(rows), np.int64)
        for state, condition in enumerate(self.conditions):
            bits = True if registers_of(condition) else predicate(condition, rows)
            satisfied |= np.asarray(bits).astype(np.int64) << state
        return satisfied

    def _by_instant(self, rows: Batch, groups: Array) -> tuple[Batch, Array, Array]:
        """One row for all events of a key at one time, its group, and the states that they lead to together."""
        order = np.lexsort((groups, rows.sync))
        sync, group = rows.sync[order], groups[order]
        first = np.flatnonzero(np.append(True, (sync[1:] != sync[:-1]) | (group[1:] != group[:-1])))
        many = np.diff(np.append(first, len(order)))
        satisfied = np.zeros(len(first), np.int64)
        for state, part in enumerate(self.parts):
            if isinstance(part, SimultaneousPattern):
                fits = (many >= part.minimum) & (many <= (INF if part.maximum is None else part.maximum))
                for quantifier, clause in part.clauses:
                    hits = np.add.reduceat(predicate(clause, rows)[order].astype(np.int64), first)
                    fits &= {"some": hits > 0, "every": hits == many, "none": hits == 0}[quantifier]
            elif registers_of(part.condition):
                fits = many == 1
            else:
                fits = (many == 1) & predicate(part.condition, rows)[order][first]
            satisfied |= fits.astype(np.int64) << state
        return rows.take(order[first]), frozen(group[first]), satisfied

    def _advance(self, rows: Batch, groups: Array, satisfied: Array, alone: Array) -> Advance:
        def advance(row: int) -> int:
            return int(_advance(
                row, rows.sync, groups, satisfied, alone, self.within, self.first, self.last, self.overlapping,
                self.follow, self.scalars, self.free, self.head, self.length, self.after, self.states, self.began,
                self.events, self.count, *self.out))

        return advance

    def _sweep(self, now: int) -> int:
        """Forget runs whose time is over; answers how many there were."""
        self.swept = now
        return int(_drop_expired(now, self.within, self.scalars, self.free, self.head, self.length, self.after,
                                 self.began))

    def _grow(self) -> None:
        capacity = 2 * len(self.free)
        for name in ("free", "after", "states", "began", "events"):
            setattr(self, name, extend(getattr(self, name), capacity, 0))
        self.out = [np.zeros(2 * len(array), np.int64) for array in self.out]

    def _batch(self, rows: int) -> Batch:
        sync, end, group, first, events = (array[:rows].copy() for array in self.out)
        found = (Column(self.schema.fields[len(self.key_exprs)].type, first), Column(pa.int64(), events))
        return Batch(self.schema, sync, end, (*self.keys.values(group), *found, *self._remembered(rows)))

    def _remembered(self, rows: int) -> list[Column]:
        """Columns of what the runs of the first matches remember."""
        return []


def _alone(sync: Array, groups: Array) -> Array:
    """Whether each event is the only one of its key at its time."""
    order = np.lexsort((groups, sync))
    same = (sync[order][1:] == sync[order][:-1]) & (groups[order][1:] == groups[order][:-1])
    alone = np.ones(len(sync), np.bool_)
    alone[order[1:][same]] = False
    alone[order[:-1][same]] = False
    return alone
