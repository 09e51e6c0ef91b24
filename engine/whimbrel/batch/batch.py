"""A batch: consecutive rows of one stream as a struct of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.batch.column import Column, frozen
from whimbrel.batch.fixed_width import Mask
from whimbrel.batch.pulse import Pulse
from whimbrel.batch.schema import Schema
from whimbrel.batch.storage import Storage
from whimbrel.clock import INF

Ticks = np.ndarray[Any, np.dtype[np.int64]]

@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of a stream, column by column. Immutable; slices and projections share memory.

    A row is one of these::

        interval    other > sync          true on [sync, other)
        start edge  other = INF           true from sync; an end edge with the same id may follow
        end edge    other < sync          the event that started at `other` ends at sync

    Parameters
    ----------
    schema : Schema
    times : numpy.ndarray of int64, or Pulse
        When each row happens, in ticks; or the numbers of samples on a timebase. Read them as :attr:`sync`.
    ends : numpy.ndarray of int64, or int
        The other end of each lifetime, in ticks; or the common duration of all rows. Read it as :attr:`other`.
    columns : tuple of Column
        Payload, in the order of the schema. End edges repeat the payload of their start.
        A column of event times may share the array of `sync`, also after rows are moved.
    absent : numpy.ndarray of bool, optional
        True for rows filtered out but not yet moved; None when all rows are there.
    ids : numpy.ndarray of int64, optional
        Joins an end edge to its start edge; None on streams that have intervals only.
    began : numpy.ndarray of int64, optional
        Starts of the events before a window on a grid rounded them; None where nothing was rounded.
    gaps : tuple of int, optional
        Bounds of the ticks between neighboring rows, for rows in time order; kernels then need not read the times.
    """

    schema: Schema
    times: Ticks | Pulse
    ends: Ticks | int
    columns: tuple[Column, ...]
    absent: Mask | None = None
    ids: Ticks | None = None
    began: Ticks | None = None
    gaps: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        # A batch of few rows costs as much as its constructor: only arrays that are there are looked at.
        times, ends = self.times, self.ends
        if isinstance(times, Pulse):
            if self.gaps is None:
                object.__setattr__(self, "gaps", times.gaps)
        elif (flags := times.flags).writeable or not flags.c_contiguous:
            object.__setattr__(self, "times", frozen(times))
        if not isinstance(ends, int) and ((flags := ends.flags).writeable or not flags.c_contiguous):
            object.__setattr__(self, "ends", frozen(ends))
        if self.absent is not None:
            object.__setattr__(self, "absent", frozen(self.absent))
        if self.ids is not None:
            object.__setattr__(self, "ids", frozen(self.ids))
        if self.began is not None:
            object.__setattr__(self, "began", frozen(self.began))

    def __len__(self) -> int:
        return len(self.times)

    @property
    def rows(self) -> int:
        """How many rows are there, without those that were filtered out and not yet moved."""
        return len(self.times) - (0 if self.absent is None else int(np.count_nonzero(self.absent)))

    @property
    def sync(self) -> Ticks:
        """When each row happens, in ticks."""
        return self.times.times() if isinstance(self.times, Pulse) else self.times

    def time(self, row: int) -> int:
        """When one row happens, in ticks; a negative row counts from the end."""
        return self.times.time(row) if isinstance(self.times, Pulse) else int(self.times[row])

    @property
    def other(self) -> Ticks:
        """The other end of each lifetime, in ticks."""
        return frozen(self.sync + self.ends) if isinstance(self.ends, int) else self.ends

    @property
    def first_start(self) -> Ticks:
        """Starts of the events before any window on a grid rounded them."""
        return self.sync if self.began is None else self.began

    def having(self, **changes: Any) -> Batch:
        """The same rows but for these attributes; times are named `sync`, be they an array or a Pulse."""
        to = changes.get
        return Batch(to("schema", self.schema), to("sync", self.times), to("ends", self.ends),
                     to("columns", self.columns), to("absent", self.absent), to("ids", self.ids),
                     to("began", self.began), to("gaps", None if "sync" in changes else self.gaps))

    def column(self, name: str) -> Column:
        return self.columns[self.schema.index(name)]

    def is_time(self, column: Column) -> bool:
        """Whether a column is the array that says when the rows happen."""
        times = self.times.made if isinstance(self.times, Pulse) else self.times
        return column.values is times and column.valid is None

    @property
    def nbytes(self) -> int:
        """Bytes of the payload and the timeline."""
        ends_bytes = 0 if isinstance(self.ends, int) else self.ends.nbytes
        times_bytes = 0 if isinstance(self.times, Pulse) else self.times.nbytes
        return int(times_bytes + ends_bytes + sum(column.values.nbytes for column in self.columns))

    def slice(self, start: int, stop: int) -> Batch:
        """Rows [start, stop) without copying."""
        if start == 0 and stop >= len(self.times):
            return self
        times = self.times[start:stop]
        shared = [self.is_time(column) for column in self.columns]
        sync = self._slice_of_sync(times, start, stop) if True in shared else None
        return Batch(self.schema, times, self.ends if isinstance(self.ends, int) else self.ends[start:stop],
                     tuple([Column(column.type, sync) if same and sync is not None else column.slice(start, stop)
                            for same, column in zip(shared, self.columns, strict=True)]),
                     None if self.absent is None else self.absent[start:stop],
                     None if self.ids is None else self.ids[start:stop],
                     None if self.began is None else self.began[start:stop], self.gaps)

    def _slice_of_sync(self, times: Ticks | Pulse, start: int, stop: int) -> Ticks:
        """The array of some times, which columns share."""
        if not isinstance(times, Pulse):
            return times
        sync = self.sync[start:stop]
        times.made_as(sync)
        return sync

    def take(self, rows: np.ndarray[Any, Any], storage: Storage | None = None) -> Batch:
        """The rows at these positions, in this order; in a `storage`, where they stay."""
        return self._taken(rows, storage, self.absent)

    def _taken(self, rows: np.ndarray[Any, Any], storage: Storage | None, absent: Mask | None) -> Batch:
        taken = np.ndarray.__getitem__ if storage is None else storage.take
        sync = taken(self.sync, rows)
        sync.setflags(write=False)
        return Batch(self.schema, sync, self.ends if isinstance(self.ends, int) else taken(self.ends, rows),
                     tuple([Column(column.type, sync) if self.is_time(column) else column.take(rows, storage)
                            for column in self.columns]),
                     None if absent is None else absent[rows],
                     None if self.ids is None else self.ids[rows],
                     None if self.began is None else self.began[rows])

    def computed(self, schema: Schema, columns: tuple[Column, ...]) -> Batch:
        """The same times and lifetimes with another payload."""
        return Batch(schema, self.times, self.ends, columns, self.absent, self.ids, self.began, self.gaps)

    def select(self, names: Sequence[str]) -> Batch:
        """Only these columns, in this order; moves no data."""
        if tuple(names) == self.schema.names:
            return self
        return self.computed(self.schema.select(names), tuple(self.column(name) for name in names))

    def with_absent(self, absent: Mask) -> Batch:
        """Also without these rows; moves no data."""
        absent = absent if self.absent is None else self.absent | absent
        return Batch(self.schema, self.times, self.ends, self.columns, absent, self.ids, self.began, self.gaps)

    def only(self, kept: Mask, storage: Storage | None = None) -> Batch:
        """The rows that are kept, the others dropped for good; in a `storage`, where they stay."""
        rows = self._taken(kept.nonzero()[0], storage, None)
        return rows if self.gaps is None else rows.having(gaps=(self.gaps[0], INF))

    def compact(self, storage: Storage | None = None) -> Batch:
        """Drop absent rows for good."""
        return self if self.absent is None else self.only(~self.absent, storage)

    @staticmethod
    def concat(batches: Sequence[Batch]) -> Batch:
        """Rows of several batches of one schema, one after the other."""
        if len(batches) == 1:
            return batches[0]
        compact = [batch.compact() for batch in batches]
        with_ids = any(batch.ids is not None for batch in compact)
        rounded = any(batch.began is not None for batch in compact)
        times = _times(compact)
        columns = []
        for parts in zip(*[batch.columns for batch in compact], strict=True):
            shared = all(map(Batch.is_time, compact, parts))
            columns.append(Column(parts[0].type, times.times() if isinstance(times, Pulse) else times) if shared
                           else Column.concat(parts))
        return Batch(compact[0].schema, times, _ends(compact), tuple(columns),
                     ids=np.concatenate([_ids(batch) for batch in compact]) if with_ids else None,
                     began=np.concatenate([batch.first_start for batch in compact]) if rounded else None)

    @staticmethod
    def empty(schema: Schema) -> Batch:
        none = np.empty(0, np.int64)
        return Batch(schema, none, none, tuple(Column.nulls(field.type, 0) for field in schema))


def _times(batches: Sequence[Batch]) -> Ticks | Pulse:
    """Times one after the other; without an array where all are consecutive samples."""
    times = batches[0].times
    for batch in batches[1:]:
        joined = times.joined(batch.times) if isinstance(times, Pulse) and isinstance(batch.times, Pulse) else None
        if joined is None:
            return frozen(np.concatenate([batch.sync for batch in batches]))
        times = joined
    return times


def _ends(batches: Sequence[Batch]) -> Ticks | int:
    first = batches[0].ends
    if isinstance(first, int) and all(isinstance(batch.ends, int) and batch.ends == first for batch in batches):
        return first
    return np.concatenate([batch.other for batch in batches])


def _ids(batch: Batch) -> Ticks:
    # -1: an interval needs no id, since no end edge will ever ask for it.
    return np.full(len(batch), -1, np.int64) if batch.ids is None else batch.ids
