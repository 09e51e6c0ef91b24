"""Where a history ends and a feed begins: which rows of each are told."""

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
    """Decides row by row, in the order of history and then feed.

    Attributes
    ----------
    columns : tuple of str
        What it must see.
    """

    columns: tuple[str, ...]

    @abstractmethod
    def begin(self) -> Cutover:
        """The same, having seen nothing."""

    @abstractmethod
    def show(self) -> str:
        """How it decides, as the user said."""

    @abstractmethod
    def of_history(self, rows: Batch) -> Batch:
        """Those of the history that are told."""

    @abstractmethod
    def of_feed(self, rows: Batch) -> Batch:
        """Those of the feed that are told."""

    def offset_in(self, feed: Feed) -> Offset:
        """Where the feed need not be read before, if it can tell; None for its beginning."""
        return None

    @abstractmethod
    def forget_offsets(self) -> None:
        """What the feed reads was made anew: from now on its offsets are not those of the history."""

    @abstractmethod
    def state(self) -> Any:
        """What it remembers, as JSON."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Remember it."""


class OffsetCutover(Cutover):
    """Rows of the feed whose offset the history has are left out: by a column that grows, in each part by itself.

    Parameters
    ----------
    offset : str
    within : str, optional
        The column of parts, such as partitions.
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
        fresh = ~known  # nothing says that the history has a row without an offset
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
        """Offsets, and which of them are known."""
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
    """History up to a time, the feed from it: rows of the history from then on, and of the feed before, are left out.

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
        """It does not go by offsets."""

    def state(self) -> Any:
        return []

    def restore(self, state: object) -> None:
        """There is nothing to remember."""

    def _kept(self, rows: Batch, mask: Mask) -> Batch:
        return rows if mask.all() else rows.take(np.flatnonzero(mask))


class KeyCutover(Cutover):
    """Rows of the feed with a key and time that the history has within its last span of time are left out.

    So are those behind that span, as far as the history goes: nobody remembers whether it has them.

    Parameters
    ----------
    columns : tuple of str
        The key.
    span_ticks : int
        How far before its newest row the history is remembered.
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
        if int(rows.sync.min()) > self._newest:  # behind all of the history
            return rows
        table = self._known(rows)
        before = len(table)
        ids = table.ids(_key(rows.sync, [rows.column(name) for name in self.columns]), len(rows))
        fresh = (ids >= before) & (rows.sync >= self._newest - self.span_ticks) | (rows.sync < self._oldest)
        return rows if fresh.all() else rows.take(np.flatnonzero(fresh))

    def _known(self, like: Batch) -> KeyTable:
        """Numbers of the keys that the history has."""
        table = KeyTable([pa.int64(), *(like.schema.type_of(name) for name in self.columns)])
        if self._saved is not None:
            sync, *columns = map(Column.from_arrow, self._saved)
            if len(sync):
                table.ids([sync, *columns], len(sync))
        for part in self._recent:
            table.ids(_key(part.sync, [part.column(name) for name in self.columns]), len(part))
        return table

    def forget_offsets(self) -> None:
        """It does not go by offsets."""

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
