"""Cutover of hybrid sources from history to feed.

The rules decide which rows of the history and of the feed are used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask
from whimbrel.clock import INF, MIN_TIME
from whimbrel.connect.feeds.runtime.client import Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.kernels import KeyTable


class Cutover(ABC):
    """A rule that selects rows of the history and then of the feed.

    Attributes
    ----------
    columns : tuple of str
        Columns that the rule reads.
    """

    columns: tuple[str, ...]

    @abstractmethod
    def begin(self) -> Cutover:
        """A copy without state."""

    @abstractmethod
    def show(self) -> str:
        """The rule as the user wrote it."""

    @abstractmethod
    def of_history(self, rows: Batch) -> Batch:
        """Rows of the history to use."""

    @abstractmethod
    def of_feed(self, rows: Batch) -> Batch:
        """Rows of the feed to use."""

    def offset_in(self, feed: Feed) -> Offset:
        """Offset at which to start the feed, if known; None for its beginning."""
        return None

    @abstractmethod
    def forget_offsets(self) -> None:
        """Forget the offsets of the history, because the topic or stream of the feed was recreated."""

    @abstractmethod
    def state(self) -> Any:
        """The state, as JSON."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Restore a state."""


class OffsetCutover(Cutover):
    """Drop rows of the feed whose offset is in the history.

    Parameters
    ----------
    offset : str
        A column that grows within each partition.
    within : str, optional
        The column of partitions.
    """

    def __init__(self, offset: str, within: str | None) -> None:
        self.offset, self.within = offset, within
        self.columns = (offset,) if within is None else (within, offset)
        self._last: dict[Any, int] = {}
        self._type = pa.null()

    def begin(self) -> OffsetCutover:
        return OffsetCutover(self.offset, self.within)

    def show(self) -> str:
        within = "" if self.within is None else f", partition={self.within!r}"
        return f"offset={self.offset!r}{within}"

    def of_history(self, rows: Batch) -> Batch:
        offsets, known = self._offsets(rows)
        for part, mask in self._parts(rows):
            if (mask & known).any():
                self._last[part] = max(self._last.get(part, MIN_TIME), int(offsets[mask & known].max()))
        return rows

    def of_feed(self, rows: Batch) -> Batch:
        offsets, known = self._offsets(rows)
        fresh = ~known  # a row without an offset cannot be found in the history
        for part, mask in self._parts(rows):
            fresh |= mask & (offsets > self._last.get(part, MIN_TIME))
        return rows if fresh.all() else rows.take(np.flatnonzero(fresh))

    def offset_in(self, feed: Feed) -> Offset:
        return feed.offset_after(self.offset, self.within, self._last)

    def forget_offsets(self) -> None:
        self._last = {}

    def state(self) -> str:
        return _text(pa.array(list(self._last), self._type), pa.array(list(self._last.values()), pa.int64()))

    def restore(self, state: str) -> None:
        parts, last = _arrays(state)
        self._type = parts.type
        self._last = dict(zip(parts.to_pylist(), last.to_pylist(), strict=True))

    def _offsets(self, rows: Batch) -> tuple[np.ndarray[Any, Any], Mask]:
        """Offsets, and which of them are not null."""
        column = rows.column(self.offset)
        return np.asarray(column.values), column.validity()

    def _parts(self, rows: Batch) -> Iterator[tuple[Any, Mask]]:
        if self.within is None:
            yield None, np.ones(len(rows), np.bool_)
            return
        parts = rows.column(self.within).to_arrow()
        if pa.types.is_temporal(parts.type):  # nanoseconds are more than Python's own times can tell
            parts = parts.cast(pa.int32() if parts.type.bit_width == 32 else pa.int64())
        self._type = parts.type.value_type if pa.types.is_dictionary(parts.type) else parts.type
        coded = parts.dictionary_encode(null_encoding="encode")
        codes = coded.indices.to_numpy(zero_copy_only=False)
        for code, part in enumerate(coded.dictionary.to_pylist()):
            yield part, codes == code


class TimeCutover(Cutover):
    """Use the history before a time and the feed from it.

    Parameters
    ----------
    column : str
    cut : int
        In ticks of the column.
    """

    def __init__(self, column: str, cut: int) -> None:
        self.columns, self.cut = (column,), cut

    def begin(self) -> TimeCutover:
        return self

    def show(self) -> str:
        return f"cutover={self.cut} in ticks"

    def of_history(self, rows: Batch) -> Batch:
        return self._kept(rows, np.asarray(rows.column(self.columns[0]).values) < self.cut)

    def of_feed(self, rows: Batch) -> Batch:
        return self._kept(rows, np.asarray(rows.column(self.columns[0]).values) >= self.cut)

    def forget_offsets(self) -> None:
        """Do nothing: the rule uses no offsets."""

    def state(self) -> Any:
        return []

    def restore(self, state: object) -> None:
        """Do nothing: the rule has no state."""

    def _kept(self, rows: Batch, mask: Mask) -> Batch:
        return rows if mask.all() else rows.take(np.flatnonzero(mask))


class KeyCutover(Cutover):
    """Drop rows of the feed whose key and time are in the last part of the history.

    Rows that are older than this part are dropped as well, as far as the history goes back.

    Parameters
    ----------
    columns : tuple of str
        The key.
    span_ticks : int
        Length of the part of the history that is kept for comparison, back from its newest row.
    """

    def __init__(self, columns: tuple[str, ...], span_ticks: int) -> None:
        self.columns, self.span_ticks = columns, span_ticks
        self._oldest, self._newest = INF, MIN_TIME
        self._recent: list[Batch] = []
        self._table: KeyTable | None = None
        self._saved: list[pa.Array] | None = None

    def begin(self) -> KeyCutover:
        return KeyCutover(self.columns, self.span_ticks)

    def show(self) -> str:
        return f"keys={list(self.columns)}, dedup_window={self.span_ticks} ticks"

    def of_history(self, rows: Batch) -> Batch:
        self._oldest = min(self._oldest, int(rows.sync.min()))
        self._newest = max(self._newest, int(rows.sync.max()))
        self._recent = [part for part in (*self._recent, rows.select(self.columns))
                        if int(part.sync.max()) >= self._newest - self.span_ticks]
        return rows

    def of_feed(self, rows: Batch) -> Batch:
        if int(rows.sync.min()) > self._newest:  # after all of the history
            return rows
        table = self._known(rows)
        before = len(table)
        ids = table.ids(_key(rows.sync, [rows.column(name) for name in self.columns]), len(rows))
        fresh = (ids >= before) & (rows.sync >= self._newest - self.span_ticks) | (rows.sync < self._oldest)
        return rows if fresh.all() else rows.take(np.flatnonzero(fresh))

    def _known(self, like: Batch) -> KeyTable:
        """Table of the keys in the history."""
        table = KeyTable([pa.int64(), *(like.schema.type_of(name) for name in self.columns)])
        if self._saved is not None:
            sync, *columns = map(Column.from_arrow, self._saved)
            if len(sync):
                table.ids([sync, *columns], len(sync))
        for part in self._recent:
            table.ids(_key(part.sync, [part.column(name) for name in self.columns]), len(part))
        return table

    def forget_offsets(self) -> None:
        """Do nothing: the rule uses no offsets."""

    def state(self) -> list[Any]:
        parts = [] if self._saved is None else [self._saved]
        parts += [[pa.array(rows.sync), *(_plain(rows.column(name).to_arrow()) for name in self.columns)]
                  for rows in self._recent]
        columns = [pa.concat_arrays(column) for column in zip(*parts, strict=True)]
        if columns:
            recent = pa.array(columns[0].to_numpy() >= self._newest - self.span_ticks)
            columns = [column.filter(recent) for column in columns]
        return [self._oldest, self._newest, _text(*columns)]

    def restore(self, state: list[Any]) -> None:
        self._oldest, self._newest, saved = state
        self._saved = _arrays(saved) or None


def _key(sync: Any, columns: list[Column]) -> list[Column]:
    return [Column(pa.int64(), sync), *columns]


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _text(*arrays: pa.Array) -> str:
    """Arrays of any type, as a string that JSON can hold."""
    schema = pa.schema([(str(number), array.type) for number, array in enumerate(arrays)])
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema) as writer:
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return b64encode(out.getvalue()).decode()


def _arrays(text: str) -> list[pa.Array]:
    """The arrays of such a string."""
    with pa.ipc.open_stream(b64decode(text)) as reader:
        return [column.combine_chunks() for column in reader.read_all().columns]
