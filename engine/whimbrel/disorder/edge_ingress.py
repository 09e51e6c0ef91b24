"""Ingress of start and end edges, matched by row id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column
from whimbrel.clock import INF
from whimbrel.disorder.ingress import Ingress
from whimbrel.errors import SourceError
from whimbrel.kernels import encode_keys
from whimbrel.plan import Source

Array = np.ndarray[Any, Any]
Key = tuple[int | str | None, ...]
"""When an event began, as its edges say, and its payload."""


class EdgeIngress(Ingress):
    """Applies late policies to edges, then joins ends to starts of equal payload, first in first out.

    A late start edge that is moved or dropped is stored until its end edge arrives. The end edge then gets the new
    start, or is dropped too. A row with ``other == sync`` is a punctuation: no row before that time follows.

        arrives   9 ┄   5 ┄   20 ┄ 5    (L = 0, late="adjust")
        current   9     9     20        so the start at 5 is moved to 9, and its end speaks of 9

    Late rows are moved to the current time and go through the sorter like all others, so that edges meet in an order
    that does not depend on batches. Until it leaves the sorter, a row carries in its id when it came to happen first.

    Attributes
    ----------
    open : dict
        Ids of events that began and have not ended.
    moved : dict
        Events whose start was late: where it was moved to, and their id.
    lost : dict
        How many starts were dropped whose end has not come.
    coming : int
        Late starts that have not left the sorter.
    tight : array of int64
        Times to come at which an event may end that was moved to begin there, in order.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.next_id = 0
        self.open: dict[Key, list[int]] = {}
        self.moved: dict[Key, list[tuple[int, int]]] = {}
        self.lost: dict[Key, int] = {}
        self.coming = 0
        self.tight = np.empty(0, np.int64)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        first = self.rows
        self.rows += len(batch)
        is_punctuation = batch.other == batch.sync
        moments = self.time.follow(batch, is_punctuation)
        late = (batch.sync < moments.current) & ~is_punctuation
        if late.any() and self.disorder.late == "raise":
            raise self._error(batch, int(np.flatnonzero(late)[0]), moments, first)
        self.watermark = self.time.now
        self.coming += int(np.count_nonzero(late & (batch.other == INF)))
        self._note_tight(batch, moments.current)
        rows = batch.having(sync=np.where(late, moments.current, batch.sync), ends=batch.other, ids=batch.sync)
        self.sorter.add(rows.take(np.flatnonzero(~is_punctuation)) if is_punctuation.any() else rows)
        return self._released()

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = max(self.watermark, watermark)
        return self._released()

    @property
    def buffered_rows(self) -> int:
        return self.sorter.rows + sum(map(len, self.open.values())) + sum(map(len, self.moved.values()))

    def _note_tight(self, batch: Batch, current: Array) -> None:
        """Times at which an event may end that was moved to begin there."""
        if self.moved or self.coming:
            ends = (batch.other < batch.sync) & (batch.sync <= current)
            self.tight = np.union1d(self.tight, current[ends])

    def _released(self) -> list[Batch]:
        """Rows whose time has come. Those that tight times put off by a tick are sorted in before what follows."""
        passed = int(np.searchsorted(self.tight, self.watermark, "right"))
        times, self.tight = [*self.tight[:passed].tolist(), self.watermark], self.tight[passed:]
        return [joined for time in times for rows in self.sorter.release(time) if len(joined := self._join(rows))]

    def _join(self, rows: Batch) -> Batch:
        """Give rows in time order their ids, and ends the start that their event has here."""
        assert rows.ids is not None
        late = rows.ids != rows.sync
        odd = np.flatnonzero((rows.other == INF) | (rows.other < rows.ids) | late)
        if not len(odd):
            return rows.having(ids=None)
        edges = rows.take(odd)
        assert edges.ids is not None
        ids, other, removed = np.full(len(rows), -1), rows.other.copy(), np.zeros(len(rows), np.bool_)
        too_soon = []
        for row, key, sync, first, end in zip(odd.tolist(), _keys(edges), edges.sync.tolist(), edges.ids.tolist(),
                                              edges.other.tolist(), strict=True):
            known: tuple[int, int] | None
            if end == INF:
                known = self._begin(key, sync, late=sync > first)
            elif end > first:  # a late interval
                known = (end, -1) if self.disorder.late == "adjust" and sync < end else None
            elif self._too_soon(key, sync):
                too_soon.append(row)
                known = None
            else:
                known = self._end(key, sync, late=sync > first)
            if known is None:
                removed[row] = True
            else:
                other[row], ids[row] = known
        self.late_dropped += int(np.count_nonzero(removed)) - len(too_soon)
        self.late_adjusted += int(np.count_nonzero(late & ~removed))
        counted = removed | late
        counted[too_soon] = False
        if counted.any():
            self.time.count_late(rows.take(np.flatnonzero(counted)))
        if too_soon:
            put_off = rows.take(np.array(too_soon))
            self.sorter.add(put_off.having(sync=put_off.sync + 1))
        joined = rows.having(ends=other, ids=ids)
        return joined.take(np.flatnonzero(~removed)) if removed.any() else joined

    def _begin(self, key: Key, sync: int, *, late: bool) -> tuple[int, int] | None:
        """No end known, and the id; None when the start is dropped."""
        self.coming -= late
        if late and self.disorder.drops:
            self.lost[key] = self.lost.get(key, 0) + 1
            return None
        number = self.next_id
        self.next_id += 1
        if late:
            self.moved.setdefault(key, []).append((sync, number))
        else:
            self.open.setdefault(key, []).append(number)
        return INF, number

    def _too_soon(self, key: Key, sync: int) -> bool:
        """Whether an event would end when it begins, which is not to be: it gets one tick."""
        return key in self.moved and self.moved[key][0][0] >= sync and key not in self.open

    def _end(self, key: Key, sync: int, *, late: bool) -> tuple[int, int] | None:
        """Start and id of the event that ends; None when the end is dropped."""
        if key in self.lost:
            self.lost[key] -= 1
            if not self.lost[key]:
                del self.lost[key]
            return None
        if late and self.disorder.drops:
            return None
        if key in self.moved and self.moved[key][0][0] < sync:
            start, number = _first(self.moved, key)
            return start, number
        if key in self.open:
            assert isinstance(key[0], int)
            return key[0], _first(self.open, key)
        if self.disorder.late == "raise":
            raise self._unmatched(key, sync)
        return None

    def _unmatched(self, key: Key, sync: int) -> SourceError:
        type_ = self.source.schema.time_type
        start, end = (pa.scalar(ticks).cast(type_).as_py() for ticks in (key[0], sync))
        return SourceError(f"An end edge of {self.source.name} at {end} needs a start edge at {start} with the same "
                           "payload.", where=f'sync="{self.source.time}"',
                           hint='Repeat the payload of the start edge, or use late="drop" to drop such rows.')


def _first(waiting: dict[Key, list[Any]], key: Key) -> Any:
    begun = waiting[key].pop(0)
    if not waiting[key]:
        del waiting[key]
    return begun


def _keys(edges: Batch) -> list[Key]:
    """What an end edge has in common with its start edge, row by row."""
    assert edges.ids is not None
    start = np.where(edges.other == INF, edges.ids, edges.other)
    return list(zip(start.tolist(), *map(_comparable, edges.columns), strict=True))


def _comparable(column: Column) -> list[int | str | None]:
    """Values that are equal when, and only when, those of the column are."""
    if not column.fixed:
        values = column.to_arrow().to_pylist()
        return values if pa.types.is_string(column.type) else [None if value is None else repr(value)
                                                               for value in values]
    keys: list[int | str | None] = encode_keys(np.asarray(column.values)).tolist()
    if column.valid is None:
        return keys
    return [key if valid else None for key, valid in zip(keys, column.valid.tolist(), strict=True)]
