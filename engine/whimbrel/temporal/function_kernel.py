"""Kernel of functions of time: go from one boundary to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Schema, check_reach, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import KernelError
from whimbrel.kernels import PORTION_ROWS, Compiled, Kernel, KeyTable, scratch, time_order
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.temporal.function_times import FULL, OF_BOUNDARY, change_times, multiples
from whimbrel.kernels.primitives.temporal.window_times import window_change_times, window_multiples
from whimbrel.temporal.bounds import Boundary, Presence, function_bounds
from whimbrel.temporal.event_history import EventHistory, KeyedEvents, KeyedHistory
from whimbrel.temporal.part_columns import PartColumns
from whimbrel.temporal.parts import ReadColumns

Array = np.ndarray[Any, Any]

_change_times, _multiples = Compiled(change_times), Compiled(multiples)
_window_change_times, _window_multiples = Compiled(window_change_times), Compiled(window_multiples)
_NO_KEYS = frozen(np.empty(0, np.int32))
_KEYS_AT_FIRST = 64
_PORTION = PORTION_ROWS
"""Rows that are made at once."""
_INTERPRETED = 1_024
"""Most at once as long as loops are not compiled: soon they will be."""


class FunctionKernel(Kernel):
    """Remembers the events of each key, and goes from one boundary to the next one.

    A row is an interval if its end is known, else a start edge with an end edge to follow.

    Parameters
    ----------
    parts : ReadColumns
        The values.
    presences : sequence of Presence
        There is a row as long as one of these has a value.
    keys : tuple of str
    events, schema : Schema
        Of the input and of the output.
    every, offset : int
        Rows are at these multiples; 0: where something changes.
    where : str
        The operator, in the user's words.
    """

    def __init__(self, parts: ReadColumns, presences: Sequence[Presence], keys: tuple[str, ...], events: Schema,
                 schema: Schema, every: int, offset: int, where: str) -> None:
        self.names, self.schema, self.every, self.offset, self.where = keys, schema, every, offset, where
        self.parts, self.presences = PartColumns(parts, events), presences
        bounds = function_bounds(parts, presences)
        self.margin = 2 * bounds.span + every + 1
        self.lead = max(each.begin.lead for each in presences)
        self.cells = not every and any(each.begin.size for each in presences)
        self.boundaries, self.functions = _numbers(presences)
        self.window = _window(presences)
        self.history = (KeyedHistory if keys else EventHistory)(events.select(self.parts.reads), bounds)
        self.keys = KeyTable([events.type_of(name) for name in keys])
        self.following = np.full(_KEYS_AT_FIRST, INF)
        self.input_watermark = MIN_TIME
        self.span = INF
        self.open_rows = Batch.empty(schema)
        self.open_keys = np.empty(0, np.int64)
        self.ids = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        check_reach(batch, self.margin, self.where, in_order=True, ends=True)
        if self.cells and (endless := batch.other == INF).any():
            at = pa.scalar(int(batch.sync[endless][0])).cast(batch.schema.time_type).as_py()
            raise KernelError(f"Cannot give each cell of the event that is still active at {at} because its end is "
                              "unknown.", where=self.where, hint="Limit it with hold(limit=...) or clip_duration(...).")
        if not self.names:
            self.history.append(batch.select(self.parts.reads), _NO_KEYS, 1)
            self.following[0] = min(self.following[0], batch.time(0) - self.lead)
            return []
        ids = frozen(self.keys.ids([batch.column(name) for name in self.names], len(batch)))
        self.history.append(batch.select(self.parts.reads), ids, len(self.keys))
        if len(self.keys) > len(self.following):
            self.following = extend(self.following, 2 * len(self.keys), INF)
        first = np.full(len(self.keys), INF)
        first[ids[::-1]] = batch.sync[::-1] - self.lead
        np.minimum(self.following[:len(first)], first, out=self.following[:len(first)])
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        waiting = self.more
        self.input_watermark = watermark
        return [] if waiting else self.next_portion()

    @property
    def more(self) -> bool:
        return self.watermark < self._known

    @property
    def growing(self) -> str:
        return (f"a function has a row every {self.every:,} ticks" if self.every
                else "a function has a row for each window of a grid")

    @property
    def _known(self) -> int:
        """No boundary before this time can still come."""
        time = self.input_watermark
        if time in (INF, MIN_TIME):
            return time
        known = min(self.parts.known_until(time), *(each.known_until(time) for each in self.presences))
        return max(self.watermark, known)

    def next_portion(self) -> list[Batch]:
        out, rows = list[Batch](), 0
        while self.more and rows < PORTION_ROWS:
            made = self._next_range()
            out += made
            rows += sum(map(len, made))
        return out

    def _next_range(self) -> list[Batch]:
        """The rows of a range of time, from the watermark on."""
        known = self._known
        since = max(self.watermark, int(self.following.min()))
        if since >= known:
            self.watermark = known
            self.history.forget(known, len(self.history))
            return []
        limit = min(known, since + self.span)
        keys = np.flatnonzero(self.following < limit)
        found = self._rows(self.history.since(keys, since), since, limit, known)
        if found is None:  # more than the arrays hold
            self.span = max(1, (limit - since) // 2)
            return []
        given, until, closing, following = found
        self.following[keys] = following
        self.watermark = min(limit, int(following[0])) if len(keys) == 1 else limit
        if len(given.times) < self.portion // 4:
            self.span = min(INF, 2 * self.span)
        out = self._made(given, keys, until, closing)
        self.history.forget(self.watermark, len(self.history))
        return out

    def _rows(self, events: KeyedEvents, since: int, limit: int, known: int
              ) -> tuple[KeyedEvents, Array | int, Array, Array] | None:
        """The rows of a range: their times, what they read, and when they end.

        For each key also when the row ends that was open, and when its next row may begin. None: these are too many.
        """
        capacity, keys, boundaries = self.portion, len(events.begins) - 1, len(self.boundaries) // OF_BOUNDARY
        at, until = scratch("at", capacity), scratch("until", capacity)
        found = scratch("positions", capacity * boundaries)
        marks, closing, following = np.empty(keys + 1, np.int64), np.full(keys, INF), np.empty(keys, np.int64)
        last = events.begins[1:][events.begins[1:] > events.begins[:-1]] - 1
        # With every, an event that never ends counts for one tick.
        endless = bool(self.every and not events.lasts and (events.ends[last] == INF).any())
        ends = frozen(np.where(events.ends == INF, events.events.sync + 1, events.ends) if endless else events.ends)
        given = events.events.sync, ends, events.lasts, frozen(events.begins)
        ranges = (since, limit, self.every, self.offset) if self.every else (since, limit, known)
        times = (at,) if self.every else (at, until)
        keyed = (marks, following) if self.every else (marks, closing, following)
        if self.window is not None:
            loop = _window_multiples if self.every else _window_change_times
            entered, left = found[:capacity], found[capacity:2 * capacity]
            rows = int(loop(*given, *self.window, *ranges, *times, entered, left, *keyed))
        else:
            loop = _multiples if self.every else _change_times
            work = (scratch(name, boundaries) for name in ("passed", "head"))
            rows = int(loop(*given, self.boundaries, self.functions, *ranges, *work, *times, found, *keyed))
        if rows == FULL:
            return None
        known_positions = {} if endless else {
            boundary: frozen(found[number * capacity:number * capacity + rows])
            for number, boundary in enumerate(_boundaries(self.presences))}
        events = self.history.until(events, int(at[rows - 1])) if rows else events
        return (replace(events, ends=ends[:len(events.ends)], times=frozen(at[:rows].copy()), marks=marks,
                        passed=known_positions),
                self.every or frozen(until[:rows].copy()), closing, following)

    @property
    def portion(self) -> int:
        """Most rows that are made at once; of many keys not much fewer than are remembered, as they are gathered."""
        rows = _PORTION if self.parts.compiled else _INTERPRETED
        return max(rows, 4 * len(self.history)) if self.names else rows

    def _made(self, given: KeyedEvents, keys: Array, until: Array | int, closing: Array) -> list[Batch]:
        """Rows that begin in a range, and end edges of earlier ones."""
        out = self._ended(keys, closing) if len(self.open_keys) else []
        rows = len(given.times)
        if not rows:
            return out
        values = self.parts.columns(given, rows)
        key_columns = self.keys.values(given.of_key(keys)) if self.names else ()
        made = Batch(self.schema, given.times, until, (*key_columns, *values))
        out.append(made if self.every else self._opened(made, keys, given.marks))
        if not self.names:
            return out
        together = Batch.concat(out)
        order = time_order(together.sync)
        return [together if order is None else together.take(order)]

    def _opened(self, made: Batch, keys: Array, marks: Array) -> Batch:
        """The rows, with ids for those whose end is not known; each of them is the last one of its key."""
        some = np.flatnonzero(marks[1:] > marks[:-1])
        is_open = made.other[marks[some + 1] - 1] == INF
        keys, opened = keys[some[is_open]], marks[some[is_open] + 1] - 1
        if not len(opened):
            return made
        numbers = np.full(len(made), -1)
        numbers[opened] = np.arange(self.ids, self.ids + len(opened))
        self.ids += len(opened)
        made = made.having(ids=numbers)
        self.open_rows = Batch.concat([self.open_rows, made.take(opened)])
        self.open_keys = np.concatenate([self.open_keys, keys])
        return made

    def _ended(self, keys: Array, closing: Array) -> list[Batch]:
        """End edges of the rows that are open, where their end is known now."""
        ends = np.full(len(self.following), INF)
        ends[keys] = closing
        ends = ends[self.open_keys]
        ended = ends < INF
        if not ended.any():
            return []
        rows = self.open_rows.only(ended)
        self.open_rows, self.open_keys = self.open_rows.only(~ended), self.open_keys[~ended]
        edges = rows.having(sync=ends[ended], ends=rows.sync)
        order = time_order(edges.sync)
        return [edges if order is None else edges.take(order)]

    @property
    def buffered_rows(self) -> int:
        return len(self.history) + len(self.open_rows)

    @property
    def buffered_bytes(self) -> int:
        return self.history.nbytes + self.open_rows.nbytes

    @property
    def sources(self) -> tuple[str, ...]:
        return self.parts.sources

    def state_parts(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in (
            "parts", "presences", "schema", "names", "where", "boundaries", "functions", "window")}


def _boundaries(presences: Sequence[Presence]) -> list[Boundary]:
    """Each boundary once."""
    return list(dict.fromkeys(each for presence in presences for each in (presence.begin, presence.end)
                              if each is not None))


def _window(presences: Sequence[Presence]) -> tuple[int, int] | None:
    """Ticks from the starts and the ends of events to their two boundaries, if there is one function without a grid."""
    begin, end = presences[0].begin, presences[0].end
    if len(set(presences)) > 1 or end is None or begin.of_end or not end.of_end or begin.size or end.size:
        return None
    return begin.shift, end.shift


def _numbers(presences: Sequence[Presence]) -> tuple[Array, Array]:
    """Boundaries and functions, as loops take them."""
    boundaries = _boundaries(presences)
    number = {None: -1} | {each: at for at, each in enumerate(boundaries)}
    entries = [(each.of_end, each.shift, each.size, each.offset) for each in boundaries]
    functions = [number[each] for presence in dict.fromkeys(presences) for each in (presence.begin, presence.end)]
    return frozen(np.array(entries, np.int64).ravel()), frozen(np.array(functions, np.int64))
