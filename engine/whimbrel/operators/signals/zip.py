"""Pair rows of equal lifetime and key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Schema, SegmentType
from whimbrel.clock import INF, MIN_TIME, ticks_per_second
from whimbrel.errors import SchemaError
from whimbrel.expr import Keys
from whimbrel.kernels import Kernel, KeyTable
from whimbrel.operators.joins.join_schema import JoinedRow
from whimbrel.plan import Operator, Properties, fluent

_ONE_RATE = "Bring them to one rate first with resample()."


@dataclass(frozen=True, kw_only=True, eq=False)
class Zip(Operator):
    """Pair rows of equal lifetime and key.

        time     0    5    10   15
        left     a────b────c────
        right    x────     y────
        out      ax───     cy───

    Parameters
    ----------
    keys : tuple of str
        Columns that must be equal, too. The result has them once.
    suffix : str
        Added to right columns whose name the left has too.

    Notes
    -----
    Signals must have one timebase. Parts of windows with fewer samples, such as levels of a wavelet, keep that of
    their signal. Rows without a partner are left out. Of several rows of one lifetime and key, the first of the left is
    paired with the first of the right. A null key is equal to a null key.

    Shapes: at most one row per left row. State: rows that start at the watermark or later. Source: XStream (ICDE 2008),
    section 3 (zip).

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": range(4), "x": [1, 5, 2, 4]}, time="at").drop("at").assume(periodic=1)
    >>> windows = log.rewindow(2)
    >>> windows.zip(windows).collect()["x_right"].to_pylist()
    [{'index': 0, 'samples': [1, 5]}, {'index': 2, 'samples': [2, 4]}]
    """

    arity: ClassVar[int] = 2
    relates_inputs: ClassVar[bool] = False

    keys: tuple[str, ...] = ()
    suffix: str = "_right"

    @property
    def row(self) -> JoinedRow:
        """The columns of a pair."""
        return JoinedRow(tuple((name, name) for name in self.keys), self.suffix)

    def schema(self, *upstream: Schema) -> Schema:
        left, right = upstream
        for mine, theirs in product(left, right):
            if (isinstance(mine.type, SegmentType) and isinstance(theirs.type, SegmentType)
                    and mine.type.signal != theirs.type.signal):
                raise SchemaError(f"zip() needs signals of one timebase, got {mine.name!r} with {mine.type} and "
                                  f"{theirs.name!r} with {theirs.type}.", where=self.show(), hint=_ONE_RATE)
        return self.row.schema(left, right, where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        left, right = upstream
        return Properties(duration=left.duration, causal=left.causal and right.causal, apart=left.no_period())

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        left, right = upstream
        return self.row.needs(wanted, None, left, right)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] == by[1] and by[0] in self.keys else None

    def kernel(self, *upstream: Schema) -> Kernel:
        left, right = upstream
        return ZipKernel(left, right, self.schema(left, right), self.keys)

    def show(self) -> str:
        return f"zip({f'on={list(self.keys)!r}' if self.keys else ''})"


@fluent
def zip(schema: Schema, right: Schema, on: str | Sequence[str] | None = None, *, suffix: str = "_right",
        keys: Keys = (), known: Properties, right_known: Properties) -> Zip:
    """Pair rows of equal lifetime and key. See :class:`whimbrel.operators.Zip`.

    Parameters
    ----------
    right : Stream
    on : str or list of str, optional
        Key columns of both. By default those of ``group_by``, or of the signals.
    suffix : str
        Added to right columns whose name the left has too.
    """
    mine, theirs = _seconds_per_sample(schema, known), _seconds_per_sample(right, right_known)
    if mine is not None and theirs is not None and mine != theirs:
        raise SchemaError(f"zip() needs signals of one timebase, got samples every {float(mine):g} s and every "
                          f"{float(theirs):g} s.", where="zip()", hint=_ONE_RATE)
    if on is not None:
        return Zip(keys=(on,) if isinstance(on, str) else tuple(on), suffix=suffix)
    names = [name for name, _ in keys] or sorted(known.apart.per if known.apart is not None else ())
    return Zip(keys=tuple(name for name in names if name in right), suffix=suffix)


def _seconds_per_sample(schema: Schema, known: Properties) -> Fraction | None:
    """Seconds from one sample to the next; None for rows that are not samples, or have no unit of time."""
    per_second = ticks_per_second(schema.unit)
    samples = known.sampling if known.points else None
    return None if per_second is None or samples is None else samples.period / per_second


class ZipKernel(Kernel):
    """Buffers the rows of both sides until no other row can start before them."""

    def __init__(self, left: Schema, right: Schema, output: Schema, keys: tuple[str, ...]) -> None:
        self.output, self.columns = output, keys
        self.types = [pa.int64(), pa.int64(), *(left.type_of(name) for name in keys)]
        self.theirs = [name for name in right.names if name not in keys]
        self.sides = [Batch.empty(left), Batch.empty(right)]
        self.fresh: list[list[Batch]] = [[], []]
        self.watermarks = [MIN_TIME, MIN_TIME]

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.sides)) + sum(len(batch) for batches in self.fresh for batch in batches)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.fresh[port].append(batch.compact())
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        self.watermark = min(self.watermarks)
        rows = []
        for side, fresh in enumerate(self.fresh):
            waiting = [self.sides[side]] if len(self.sides[side]) or not fresh else []
            held, self.fresh[side] = Batch.concat([*waiting, *fresh]), []
            cut = len(held) if self.watermark == INF else int(np.searchsorted(held.sync, self.watermark, "left"))
            rows.append(held.slice(0, cut))
            self.sides[side] = held.slice(cut, len(held))
        left, right = rows
        return self._pairs(left, right) if len(left) and len(right) else []

    def _pairs(self, left: Batch, right: Batch) -> list[Batch]:
        table = KeyTable(self.types)
        mine, theirs = (_numbered(table.ids(self._key(side), len(side))) for side in (left, right))
        _, of_left, of_right = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
        if not len(of_left):
            return []
        order = np.argsort(of_left)
        one, other = left.take(of_left[order]), right.take(of_right[order])
        columns = (*one.columns, *(other.column(name) for name in self.theirs))
        return [one.having(schema=self.output, columns=columns)]

    def _key(self, side: Batch) -> list[Column]:
        return [Column(pa.int64(), side.sync), Column(pa.int64(), side.other),
                *(side.column(name) for name in self.columns)]


def _numbered(ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """For each row a number that no other has: of its group, and how many of the group are before it."""
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    begins = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
    count = np.arange(len(ids)) - np.repeat(begins, np.diff(np.append(begins, len(ids))))
    out = np.empty(len(ids), np.int64)
    out[order] = count
    return np.asarray(ids.astype(np.int64) + (out << 32))
