"""Places of a beat, a range at a time: input rows become columns without times, and results become rows again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Schema, frozen, numpy_type
from whimbrel.clock import INF, MIN_TIME
from whimbrel.kernels import Kernel
from whimbrel.operators.beat_steps import Dense, Given, Step, in_order

Array = np.ndarray[Any, Any]

RANGE = 65_536
"""Most places that are computed at once: their columns stay in the second-level cache."""


class BeatKernel(Kernel):
    """Holds the rows within reach of the next result, and a result row until its end is known.

    Parameters
    ----------
    last : Step
        What makes the result.
    period : int
        Ticks from one place to the next.
    ports : int
    upstream : sequence of Schema
    """

    def __init__(self, last: Step, period: int, ports: int, upstream: Sequence[Schema]) -> None:
        self.steps, self.period = tuple(in_order(last)), period
        self.halos = _halos(self.steps)
        self.back = max(back for back, _ in self.halos) + 1
        self.ahead = max(ahead for _, ahead in self.halos)
        self.held = [Batch.empty(schema) for schema in upstream]
        self.waiting: list[list[Batch]] = [[] for _ in upstream]
        self.frontiers = [MIN_TIME] * ports
        self.phase: int | None = None
        self.next = 0
        self.open: Batch | None = None

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if len(batch):
            self.waiting[port].append(batch)
        return []

    def advance(self, frontier: int, port: int = 0) -> list[Batch]:
        self.frontiers[port] = frontier
        known = min(self.frontiers)
        self.held = [Batch.concat([held, *new]) if new else held
                     for held, new in zip(self.held, self.waiting, strict=True)]
        self.waiting = [[] for _ in self.held]
        out: list[Batch] = []
        if self.phase is None and any(map(len, self.held)):
            first = min(int(rows.sync[0]) for rows in self.held if len(rows))
            self.phase = first % self.period
            self.next = first // self.period - self.ahead
        if self.phase is not None and known > MIN_TIME:
            out = self._compute_until(self._stop(known))
        self.frontier = self._promise(known)
        return out

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.held)) + sum(len(batch) for new in self.waiting for batch in new)

    def _stop(self, known: int) -> int:
        """The first place of the result that may still change."""
        if known < INF:
            return -((self._phase - known) // self.period) - self.ahead
        last = max((int(rows.sync[-1]) for rows in self.held if len(rows)), default=None)
        return self.next if last is None else (last - self._phase) // self.period + self.back + 1

    def _promise(self, known: int) -> int:
        if known in (INF, MIN_TIME):
            return known
        if self.phase is None:
            return known - self.ahead * self.period
        begun = INF if self.open is None else int(self.open.sync[0])
        return min(begun, self._phase + self.next * self.period, known)

    @property
    def _phase(self) -> int:
        assert self.phase is not None
        return self.phase

    def _compute_until(self, stop: int) -> list[Batch]:
        places = [(rows.sync - self._phase) // self.period for rows in self.held]
        out = []
        while self.next < stop:
            near = [int(each[at]) for each in places
                    if (at := int(np.searchsorted(each, self.next - self.back))) < len(each)]
            if not near:
                self.next = stop
                break
            if min(near) - self.ahead > self.next:  # nothing is near: places that are empty cost nothing
                self.next = min(stop, min(near) - self.ahead)
                continue
            upto = min(stop, self.next + RANGE)
            result = self._range(self.next, upto, places)
            out += self._rows(result)
            self.next = upto
        keep = [int(np.searchsorted(each, self.next - self.back)) for each in places]
        self.held = [rows.slice(first, len(rows)) for rows, first in zip(self.held, keep, strict=True)]
        return out

    def _range(self, first: int, stop: int, places: Sequence[Array]) -> Dense:
        made: dict[int, Dense] = {}
        for step, (back, ahead) in zip(self.steps, self.halos, strict=True):
            a, b = first - back, stop + ahead
            if isinstance(step, Given):
                made[id(step)] = self._given(step, a, b, places[step.port])
            else:
                before, behind = step.halo
                given = [made[id(below)].between(a - before, b + behind) for below in step.inputs]
                made[id(step)] = step.compute(a, b, *given)
        return made[id(self.steps[-1])]

    def _given(self, step: Given, first: int, stop: int, places: Array) -> Dense:
        """The rows of one input at these places."""
        rows = self.held[step.port]
        a, b = (int(np.searchsorted(places, place)) for place in (first, stop))
        count = stop - first
        time = frozen(self._phase + self.period * np.arange(first, stop))
        if b - a == count:
            return Dense(first, count, time, tuple(column.slice(a, b) for column in rows.columns))
        at = places[a:b] - first
        there = np.zeros(count, np.bool_)
        there[at] = True
        changes = there.copy()
        changes[1:] |= there[:-1]
        changes[0] |= a > 0 and places[a - 1] == first - 1
        columns = tuple(_spread(column.slice(a, b), at, count) for column in rows.columns)
        return Dense(first, count, time, columns, frozen(there), frozen(changes))

    def _rows(self, result: Dense) -> list[Batch]:
        """Events of a range that have ended, and the open one of the range before, if it has."""
        schema = self.steps[-1].schema
        if result.changes is None:
            rows, first = Batch(schema, result.time, self.period, result.columns), result.time[:1]
            if result.present is not None:
                rows = rows.take(np.flatnonzero(result.present))
            open_ = len(rows) > 0 and rows.sync[-1] == result.time[-1]
        else:
            changed = np.flatnonzero(result.changes)
            begun = changed if result.present is None else changed[result.present[changed]]
            following = np.append(result.time[changed], INF)[1:]
            ends = following if result.present is None else following[result.present[changed]]
            rows = Batch(schema, result.time[begun], ends, tuple(column.take(begun) for column in result.columns))
            first, open_ = result.time[changed[:1]], len(rows) > 0 and ends[-1] == INF
        out = []
        if self.open is not None and len(first):
            out.append(self.open.having(ends=first))
            self.open = None
        # Where the last one ends is known when something changes behind the range.
        if open_:
            self.open = rows.slice(len(rows) - 1, len(rows))
            rows = rows.slice(0, len(rows) - 1)
        return [*out, rows] if len(rows) else out


def _halos(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """For each step, how many places before and behind a range of the result it is needed at."""
    needed = {id(step): (0, 0) for step in steps}
    for step in reversed(steps):
        back, ahead = needed[id(step)]
        before, behind = step.halo
        for below in step.inputs:
            widest = needed[id(below)]
            needed[id(below)] = max(widest[0], back + before), max(widest[1], ahead + behind)
    return [needed[id(step)] for step in steps]


def _spread(column: Column, at: Array, count: int) -> Column:
    """The values at these places; nothing of worth at the others."""
    physical = numpy_type(column.type)
    assert physical is not None
    values = np.zeros(count, physical)
    values[at] = column.values
    if column.valid is None:
        return Column(column.type, values)
    valid = np.ones(count, np.bool_)
    valid[at] = column.valid
    return Column(column.type, values, valid)
