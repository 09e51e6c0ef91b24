"""Changelog between two latency bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import MIN_TIME
from whimbrel.errors import SchemaError
from whimbrel.expr import Lit, can_be_key, evaluate
from whimbrel.kernels import Kernel, KeyTable
from whimbrel.operators.rows.pending_rows import PendingRows
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties

Array = np.ndarray[Any, Any]

INSERT, UNCHANGED, UPDATE, DELETE = range(4)
_LABELS = ("insert", "unchanged", "update", "delete")


@dataclass(frozen=True, kw_only=True, eq=False)
class Changelog(Operator):
    """Changelog of a latency band against the band before.

        time     0    5    10   15
        earlier  2────1────             (a count per 5)
        later    2────3────4────        (unchanged, update, insert; n_before: 2, 1, null)

    Rows match when they have the same start and the same keys. A row of the earlier band that is missing in the later
    one is a "delete": its values are null, and the columns with the earlier values keep them.

    Parameters
    ----------
    keys : tuple of str
        Columns that identify a row. If they are all columns, there are no updates, only inserts and deletes.
    band : str
        The name of the later band.

    Notes
    -----
    Inputs: the rows of the earlier band and those of the later one. With the later one alone, each row is an insert.
    Columns: those of the result, band, change ("insert", "unchanged", "update" or "delete") and, for each column that
    is not a key, its value before.
    State: rows of the earlier band at or after the watermark of the later one.
    Source: docs/semantics.md, order and late events.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 9, 2], "seen": [1, 5, 9, 10]}, time="at", arrival="seen", name="log")
    >>> counts = log.tumbling_window(4).aggregate(n=wb.count()).at_latencies(0, 10)
    >>> for row in counts.collect().to_pylist()[:2]:
    ...     print(row)
    {'start': 0, 'end': 4, 'n': 1, 'band': '0', 'change': 'insert', 'n_before': None}
    {'start': 0, 'end': 4, 'n': 2, 'band': '10', 'change': 'update', 'n_before': 1}
    """

    arity: ClassVar[int] = 2

    keys: tuple[str, ...]
    band: str

    def schema(self, *upstream: Schema) -> Schema:
        schema = upstream[-1]
        made = [Field("band", pa.string()), Field("change", pa.string()),
                *(Field(f"{field.name}_before", field.type) for field in schema if field.name not in self.keys)]
        for field in made:
            if field.name in schema:
                raise SchemaError(f"Latency bands add a column {field.name!r}, which the result already has.",
                                  where="at_latencies(...)",
                                  hint=f"Rename it first: .rename(another_name={field.name!r}).")
        return schema.with_fields([*schema, *made], where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=all(known.causal for known in upstream))

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.only(self.keys).same(Exact.STARTS),) * len(inputs)

    def kernel(self, *upstream: Schema) -> Kernel:
        return ChangelogKernel(self, upstream, self.schema(*upstream))

    def show(self) -> str:
        return f"changelog(band={self.band!r}, keys=[{', '.join(self.keys)}])"


class ChangelogKernel(Kernel):
    """Holds the rows of both answers until neither can get another one that starts as early."""

    def __init__(self, changelog: Changelog, upstream: Sequence[Schema], schema: Schema) -> None:
        self.changelog, self.schema = changelog, schema
        self.names = upstream[-1].names
        self.waiting = [PendingRows() for _ in upstream]
        self.watermarks = [MIN_TIME] * len(upstream)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.waiting[port].add(batch.compact().select(self.names))
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        self.watermark = min(self.watermarks)
        ready = [waiting.before(self.watermark) for waiting in self.waiting]
        later = ready[-1]
        earlier = ready[0] if len(ready) > 1 else []
        if not later and not earlier:
            return []
        rows = Batch.concat([*earlier, *later])
        return [self._changes(rows, sum(map(len, earlier)))]

    @property
    def buffered_rows(self) -> int:
        return sum(waiting.rows for waiting in self.waiting)

    @property
    def buffered_bytes(self) -> int:
        return sum(waiting.nbytes for waiting in self.waiting)


    def _changes(self, rows: Batch, earlier: int) -> Batch:
        """Rows of the later answer and what is gone of the earlier, of whose rows there are so many."""
        old = _partners(self._things(rows), earlier)
        new = np.arange(earlier, len(rows))
        revision = np.where(old < 0, INSERT, UNCHANGED)
        both = np.flatnonzero(old >= 0)
        revision[both[~self._alike(rows, old[both], new[both])]] = UPDATE
        left = np.ones(earlier, np.bool_)
        left[old[both]] = False
        deleted = np.flatnonzero(left)
        order = np.argsort(np.concatenate([rows.sync[new], rows.sync[deleted]]), kind="stable")
        shown = rows.take(np.concatenate([new, deleted])[order])
        revision = np.concatenate([revision, np.full(len(deleted), DELETE)])[order]
        before = np.concatenate([old, deleted])[order]
        values = [name for name in self.names if name not in self.changelog.keys]
        columns = [_null_where(shown.column(name), revision == DELETE) if name in values else shown.column(name)
                   for name in self.names]
        return replace(shown, schema=self.schema, columns=(
            *columns, evaluate(Lit(self.changelog.band), shown), _labels(revision),
            *(_taken(rows.column(name), before) for name in values)))

    def _things(self, rows: Batch) -> Array:
        """A number for what each row speaks of; of rows that say the same of it, the first, the second, and so on."""
        names = self.changelog.keys
        table = KeyTable([pa.int64(), *(rows.schema.type_of(name) for name in names)])
        things = table.ids([Column(pa.int64(), rows.sync), *(rows.column(name) for name in names)], len(rows))
        return things.astype(np.int64)

    def _alike(self, rows: Batch, old: Array, new: Array) -> Array:
        """Whether rows end together and have the same values."""
        same = rows.other[old] == rows.other[new]
        for name in self.names:
            if name not in self.changelog.keys:
                same &= _equal(rows.column(name), old, new)
        return same


def _partners(things: Array, earlier: int) -> Array:
    """For each later row the position of the earlier one of the same thing, in turn where there are several; or -1."""
    turns = np.concatenate([_turns(things[:earlier]), _turns(things[earlier:])])
    pairs = things * (int(turns.max(initial=0)) + 1) + turns
    order = np.argsort(pairs[:earlier], kind="stable")
    index = np.searchsorted(pairs[:earlier], pairs[earlier:], sorter=order)
    found = order[np.minimum(index, earlier - 1)] if earlier else np.full(len(index), -1)
    return np.where(pairs[found] == pairs[earlier:], found, -1) if earlier else found


def _turns(things: Array) -> Array:
    """How many equal values stand before each."""
    order = np.argsort(things, kind="stable")
    ranked = things[order]
    index = np.arange(len(things))
    first = np.maximum.accumulate(np.where(np.append(True, ranked[1:] != ranked[:-1])[: len(things)], index, 0))
    turns = np.empty(len(things), np.int64)
    turns[order] = index - first
    return turns


def _equal(column: Column, old: Array, new: Array) -> Array:
    if not can_be_key(column.type):
        one, other = column.take(old).to_arrow().to_pylist(), column.take(new).to_arrow().to_pylist()
        return np.array([left == right for left, right in zip(one, other, strict=True)], np.bool_)
    ids = KeyTable([column.type]).ids([column], len(column))
    return np.asarray(ids[old] == ids[new])


def _null_where(column: Column, absent: Array) -> Column:
    return _taken(column, np.where(absent, -1, np.arange(len(column)))) if absent.any() else column


def _taken(column: Column, indices: Array) -> Column:
    """The values at these places; null where a place is negative."""
    if (indices >= 0).all():
        return column.take(indices)
    nothing = Column.nulls(column.type, 1)
    return Column.concat([column, nothing]).take(np.where(indices < 0, len(column), indices))


def _labels(revision: Array) -> Column:
    ends = np.cumsum([0, *map(len, _LABELS)]).astype(np.int32)
    labels = pa.Array.from_buffers(pa.string(), len(_LABELS), [None, pa.py_buffer(ends),
                                                              pa.py_buffer("".join(_LABELS).encode())])
    codes = Column(pa.int8(), revision.astype(np.int8)).to_arrow()
    return Column(pa.string(), pa.DictionaryArray.from_arrays(codes, labels))
