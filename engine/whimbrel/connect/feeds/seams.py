"""Where a history ends and a feed begins: which rows of each are told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask
from whimbrel.clock import MIN_TIME
from whimbrel.connect.feeds.client import Place
from whimbrel.connect.feeds.feed import Feed
from whimbrel.kernels import KeyTable


class Seam(ABC):
    """Decides row by row, in the order of history and then feed.

    Attributes
    ----------
    columns : tuple of str
        What it must see.
    """

    columns: tuple[str, ...]

    @abstractmethod
    def begin(self) -> Seam:
        """The same, having seen nothing."""

    @abstractmethod
    def of_history(self, rows: Batch) -> Batch:
        """Those of the history that are told."""

    @abstractmethod
    def of_feed(self, rows: Batch) -> Batch:
        """Those of the feed that are told."""

    def place_in(self, feed: Feed) -> Place:
        """Where the feed need not be read before, if it can tell; None for its beginning."""
        return None

    @abstractmethod
    def state(self) -> Any:
        """What it remembers, as JSON."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Remember it."""


class ByOffset(Seam):
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

    def begin(self) -> ByOffset:
        return ByOffset(self.offset, self.within)

    def of_history(self, rows: Batch) -> Batch:
        for part, mask in self._parts(rows):
            self._last[part] = max(self._last.get(part, MIN_TIME), int(self._offsets(rows)[mask].max()))
        return rows

    def of_feed(self, rows: Batch) -> Batch:
        fresh = np.zeros(len(rows), np.bool_)
        for part, mask in self._parts(rows):
            fresh |= mask & (self._offsets(rows) > self._last.get(part, MIN_TIME))
        return rows if fresh.all() else rows.take(np.flatnonzero(fresh))

    def place_in(self, feed: Feed) -> Place:
        return feed.place_behind(self.offset, self.within, self._last)

    def state(self) -> list[list[Any]]:
        return [[part, last] for part, last in self._last.items()]

    def restore(self, state: list[list[Any]]) -> None:
        self._last = {part: last for part, last in state}  # noqa: C416 - pairs, as JSON has them

    def _offsets(self, rows: Batch) -> np.ndarray[Any, Any]:
        return np.asarray(rows.column(self.offset).values)

    def _parts(self, rows: Batch) -> Iterator[tuple[Any, Mask]]:
        if self.within is None:
            yield None, np.ones(len(rows), np.bool_)
            return
        coded = rows.column(self.within).to_arrow().dictionary_encode(null_encoding="encode")
        codes = coded.indices.to_numpy(zero_copy_only=False)
        for code, part in enumerate(coded.dictionary.to_pylist()):
            yield part, codes == code


class ByTime(Seam):
    """History up to a time, the feed from it: rows of the history from then on, and of the feed before, are left out.

    Parameters
    ----------
    column : str
    cut : int
        In ticks of the column.
    """

    def __init__(self, column: str, cut: int) -> None:
        self.columns, self.cut = (column,), cut

    def begin(self) -> ByTime:
        return self

    def of_history(self, rows: Batch) -> Batch:
        return self._kept(rows, np.asarray(rows.column(self.columns[0]).values) < self.cut)

    def of_feed(self, rows: Batch) -> Batch:
        return self._kept(rows, np.asarray(rows.column(self.columns[0]).values) >= self.cut)

    def state(self) -> Any:
        return []

    def restore(self, state: object) -> None:
        """There is nothing to remember."""

    def _kept(self, rows: Batch, mask: Mask) -> Batch:
        return rows if mask.all() else rows.take(np.flatnonzero(mask))


class ByKey(Seam):
    """Rows of the feed with a key and time that the history has within its last span of time are left out.

    Parameters
    ----------
    columns : tuple of str
        The key.
    span_ticks : int
        How far before its newest row the history is remembered.
    """

    def __init__(self, columns: tuple[str, ...], span_ticks: int) -> None:
        self.columns, self.span_ticks = columns, span_ticks
        self._newest = MIN_TIME
        self._recent: list[Batch] = []
        self._table: KeyTable | None = None
        self._told: list[Any] | None = None

    def begin(self) -> ByKey:
        return ByKey(self.columns, self.span_ticks)

    def of_history(self, rows: Batch) -> Batch:
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
        fresh = (ids >= before) | (rows.sync < self._newest - self.span_ticks)
        return rows if fresh.all() else rows.take(np.flatnonzero(fresh))

    def _known(self, like: Batch) -> KeyTable:
        """Numbers of the keys that the history has."""
        table = KeyTable([pa.int64(), *(like.schema.type_of(name) for name in self.columns)])
        if self._told is not None:
            columns = [Column.from_arrow(pa.array(values, like.schema.type_of(name)))
                       for name, values in zip(self.columns, self._told[1], strict=True)]
            if self._told[0]:
                table.ids(_key(np.array(self._told[0], np.int64), columns), len(self._told[0]))
        for part in self._recent:
            table.ids(_key(part.sync, [part.column(name) for name in self.columns]), len(part))
        return table

    def state(self) -> list[Any]:
        if self._told is not None and not self._recent:
            return [self._newest, self._told]
        rows = Batch.concat(self._recent) if self._recent else None
        if rows is None:
            return [self._newest, [[], [[] for _ in self.columns]]]
        rows = rows.take(np.flatnonzero(rows.sync >= self._newest - self.span_ticks))
        return [self._newest, [rows.sync.tolist(),
                               [rows.column(name).to_arrow().to_pylist() for name in self.columns]]]

    def restore(self, state: list[Any]) -> None:
        self._newest, self._told = state


def _key(sync: Any, columns: list[Column]) -> list[Column]:
    return [Column(pa.int64(), sync), *columns]
