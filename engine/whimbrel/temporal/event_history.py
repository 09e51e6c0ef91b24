"""Remember the events that later ones may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Mask, Schema, frozen
from whimbrel.batch.pulse import Pulse
from whimbrel.batch.row_store import RowStore
from whimbrel.clock import INF, MIN_TIME
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.temporal.events_by_key import (
    gather_before,
    gather_by_key,
    link_events,
    needed_events,
    number_runs,
)
from whimbrel.temporal.bounds import Boundary, Bounds

Array = np.ndarray[Any, Any]

_link, _gather, _needed = Compiled(link_events), Compiled(gather_by_key), Compiled(needed_events)
_gather_before, _number_runs = Compiled(gather_before), Compiled(number_runs)
_SLOTS_AT_FIRST, _KEYS_AT_FIRST = 1_024, 64
_CROWDED = 65_536
_NONE = frozen(np.empty(0, np.int64))


@dataclass(frozen=True)
class KeyedEvents:
    """Events key by key, and the times at which they are looked up.

    Parameters
    ----------
    events : Batch
    ends : array of int64
    lasts : int
        They end so many ticks after `ends`.
    begins : array of int64
        Where the events of each key begin; the last entry is the end of the last key.
    times : array of int64
        The times, key by key.
    marks : array of int64
        Where those of each key begin; the last entry is the end of the last key.
    rows : array of int64, optional
        To which rows they belong; None: to all, in this order.
    own : array of int64, or range, optional
        For times at which one of the events starts, the position of that event. A range: all are of one key.
    passed : mapping of Boundary to array of int64
        For some boundaries, and each time, the position after the last event that has passed it: what is known already.
    """

    events: Batch
    ends: Array
    lasts: int
    begins: Array
    times: Array
    marks: Array
    rows: Array | None
    own: Array | range | None = None
    passed: Mapping[Boundary, Array] = field(default_factory=dict)

    def of_key(self, values: Array) -> Array:
        """For each time the value of its key."""
        return np.repeat(values, np.diff(self.marks))


def _ends(events: Batch) -> tuple[Array, int]:
    """Times, and how many ticks after them the events end."""
    return (events.sync, events.ends) if isinstance(events.ends, int) else (events.ends, 0)


def _timed(batch: Batch) -> Batch:
    """The batch with an array of times: those of a Pulse are computed again for each slice."""
    return batch.having(sync=batch.sync) if isinstance(batch.times, Pulse) else batch


class EventHistory:
    """Events in the order of time, one slot each. They are all of one key.

    Parameters
    ----------
    schema : Schema
        The columns that are kept.
    bounds : Bounds
        How far a time reads. Other events are not needed for it.
    """

    def __init__(self, schema: Schema, bounds: Bounds) -> None:
        self.back, self.kept, self.lookahead = bounds.back, bounds.rows, bounds.lookahead
        self.events = Batch.empty(schema)
        self.new: list[Batch] = []
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def append(self, batch: Batch, ids: Array, keys: int) -> None:
        """Add events.

        Parameters
        ----------
        batch : Batch
        ids : array of int32
            Keys of the events; negative where a key is missing. Not used where there is one key.
        keys : int
            How many keys there are.
        """
        self.new.append(_timed(batch))
        self.size += len(batch)

    def around(self, first: int, bound: int) -> KeyedEvents:
        """The events in the slots of a range, and all events that they may read, key by key."""
        return replace(self._at(self._whole().sync[first:bound]), own=range(first, bound))

    def around_some(self, first: int, some: Mask) -> KeyedEvents:
        """The same for some of the events from a slot on, and maybe for others between these."""
        rows = np.flatnonzero(some)
        own = first + rows
        return replace(self._at(self._whole().sync[own]), own=own, rows=rows)

    def at(self, times: Array, ids: Array) -> KeyedEvents:
        """The events that some times, in order, may read, key by key.

        Parameters
        ----------
        times : array of int64
        ids : array of int32
            Their keys, if there are keys; negative where a key is missing.
        """
        self._whole()
        return self._at(times)

    def since(self, keys: Array, time: int) -> KeyedEvents:
        """All events of some keys that a time, or a later one, may read; no times are looked up yet."""
        return self._first(len(self._whole()), _NONE)

    def until(self, given: KeyedEvents, time: int) -> KeyedEvents:
        """At least those of some events that a time, or an earlier one, may read."""
        return self._first(int(np.searchsorted(given.events.sync, time + self.lookahead, "right")), given.times)

    def _at(self, times: Array) -> KeyedEvents:
        return self._first(int(np.searchsorted(self.events.sync, int(times[-1]) + self.lookahead, "right")), times)

    def _first(self, stop: int, times: Array) -> KeyedEvents:
        events = self.events.slice(0, stop)
        return KeyedEvents(events, *_ends(events), np.array([0, stop]), times, np.array([0, len(times)]), None)

    def _whole(self) -> Batch:
        if self.new:
            self.events, self.new = Batch.concat([self.events, *self.new] if len(self.events) else self.new), []
        return self.events

    def forget(self, time: int, first: int) -> int:
        """Drop events that no event in the slot `first` or later, from `time` on, needs; the new `first`."""
        done = self._whole().slice(0, min(first, self.size))
        ends, lasts = _ends(done)
        horizon = max(MIN_TIME, time - self.back - lasts)
        drop = max(0, int(np.searchsorted(ends, horizon, "right")) - self.kept)
        self.events = self.events.slice(drop, len(self.events))
        self.size -= drop
        return first - drop

    @property
    def nbytes(self) -> int:
        return self.events.nbytes + sum(batch.nbytes for batch in self.new)

    def fork(self) -> EventHistory:
        clone = object.__new__(type(self))
        clone.__dict__.update(vars(self))
        clone.new = list(self.new)
        return clone


class KeyedHistory(EventHistory):
    """The same of many keys: events of one key hang together."""

    def __init__(self, schema: Schema, bounds: Bounds) -> None:
        super().__init__(schema, bounds)
        self.store = RowStore(schema)
        self.start, self.end, self.previous = (np.zeros(_SLOTS_AT_FIRST, np.int64) for _ in range(3))
        self.key = np.zeros(_SLOTS_AT_FIRST, np.int32)
        self.last, self.dense = (np.full(_KEYS_AT_FIRST, -1, np.int64) for _ in range(2))
        self.crowded = _CROWDED

    def append(self, batch: Batch, ids: Array, keys: int) -> None:
        base, self.size = self.size, self.size + len(batch)
        self.store.append(_timed(batch))
        if self.size > len(self.start):
            arrays = (extend(each, 2 * self.size, 0) for each in (self.start, self.end, self.previous))
            self.start, self.end, self.previous = arrays
            self.key = extend(self.key, 2 * self.size, 0)
        if keys > len(self.last):
            self.last, self.dense = (extend(array, 2 * keys, -1) for array in (self.last, self.dense))
        self.start[base:self.size], self.end[base:self.size], self.key[base:self.size] = batch.sync, batch.other, ids
        _link(base, frozen(ids), self.previous, self.last)

    def around(self, first: int, bound: int) -> KeyedEvents:
        return self._around(first, bound, self.key, self.dense)

    def around_some(self, first: int, some: Mask) -> KeyedEvents:
        runs = np.empty(first + len(some), np.int32)
        count = int(_number_runs(frozen(some), first, self.start, self.end, self.previous, self.back, self.kept, runs))
        return self._around(first, len(runs), runs, np.full(count, -1))

    def _around(self, first: int, bound: int, ids: Array, dense: Array) -> KeyedEvents:
        """The events that those in a range may read, by key or by run: by numbers that `dense` has an entry for."""
        rows = bound - first
        heads, begins, marks = (np.zeros(min(rows, len(dense)) + 1, np.int64) for _ in range(3))
        known = self.start[bound:self.size]
        stop = bound + int(np.searchsorted(known, int(self.start[bound - 1]) + self.lookahead, "right"))
        slots, at = np.empty(stop, np.int64), np.empty(rows, np.int64)
        keys = int(_gather(ids, first, bound, stop, self.start, self.end, self.previous, self.back, self.kept, dense,
                           heads, begins, marks, slots, at))
        begin = int(begins[0])
        own, asked = at[:marks[keys]] - begin, slots[at[:marks[keys]]]
        found = self._taken(slots, begins[:keys + 1], _NONE, marks[:keys + 1], asked - first)
        return replace(found, times=frozen(found.events.sync[own]), own=own)

    def at(self, times: Array, ids: Array) -> KeyedEvents:
        known = ids < len(self.last)  # others have no event yet
        rows = np.flatnonzero((ids >= 0) & known)
        rows = rows[np.argsort(ids[rows], kind="stable")]
        found, first, counts = np.unique(ids[rows], return_index=True, return_counts=True)
        return self._before(found, times[rows[first]], times[rows], np.append(0, np.cumsum(counts)), rows)

    def since(self, keys: Array, time: int) -> KeyedEvents:
        return self._before(keys, np.full(len(keys), time), _NONE, np.zeros(len(keys) + 1, np.int64), None)

    def until(self, given: KeyedEvents, time: int) -> KeyedEvents:
        return given

    def _before(self, keys: Array, firsts: Array, times: Array, marks: Array, rows: Array | None) -> KeyedEvents:
        """The events of some keys, from those on that the first time of each key may read."""
        begins, slots = np.zeros(len(keys) + 1, np.int64), np.empty(self.size, np.int64)
        _gather_before(keys, firsts, self.end, self.previous, self.last, self.back, self.kept, begins, slots)
        return self._taken(slots, begins, times, marks, rows)

    def _taken(self, slots: Array, begins: Array, times: Array, marks: Array, rows: Array | None) -> KeyedEvents:
        """The events in slots, which are at the end of an array."""
        begin = int(begins[0])
        slots, begins = slots[begin:], begins - begin
        events = self.store.take(slots)
        return KeyedEvents(events, *_ends(events), begins, times, marks, rows)

    def forget(self, time: int, first: int) -> int:
        if self.size < self.crowded and time < INF:
            return first
        needed = np.ones(self.size, np.bool_)
        _needed(self.key[:first], self.end[:first], max(MIN_TIME, time - self.back), self.kept,
                np.zeros(len(self.last), np.int64), needed[:first])
        slots = np.flatnonzero(needed)
        if len(slots) < self.size:
            self._keep(slots)
        self.crowded = max(_CROWDED, 2 * self.size)
        return first - int(np.count_nonzero(~needed[:first]))

    def _keep(self, slots: Array) -> None:
        events, ids = self.store.take(slots), self.key[slots]
        self.store, self.size, self.last[:] = RowStore(self.store.schema), 0, -1
        self.append(events, ids, 0)

    @property
    def nbytes(self) -> int:
        return sum(batch.nbytes for batch in self.store.chunks)

    def fork(self) -> KeyedHistory:
        clone = object.__new__(type(self))
        clone.__dict__.update({name: value.copy() if isinstance(value, np.ndarray) else value
                               for name, value in vars(self).items()})
        clone.store = self.store.fork()
        return clone
