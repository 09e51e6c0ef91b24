"""End events at the start of events of another stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.primitives.joins.clip import clip_starts
from whimbrel.kernels.primitives.joins.join import LEFT, RIGHT
from whimbrel.operators.joins.coverage import Coverage
from whimbrel.operators.joins.join_input import JoinInput
from whimbrel.operators.joins.join_schema import JoinedRow, On, Pairs, key_pairs
from whimbrel.plan import (
    Exact,
    KnownInput,
    LineageRequest,
    NonOverlapping,
    Operator,
    Properties,
    Reach,
    earlier,
    fluent,
    later,
)

Array = np.ndarray[Any, Any]

_clip = Compiled(clip_starts)
_CAPACITY = 65_536


@dataclass(frozen=True, kw_only=True, eq=False)
class Clip(Operator):
    """End each left event at the first later matching right start.

        time     0    5    10   15
        left     a─────────
                      b─────────
        right         c                (c: [5, 6))
                              d───     (d: [13, 17))
        out      a────                 (b starts with c, not before it)
                      b───────

    Parameters
    ----------
    on : tuple of (str, str)
        Pairs of key columns, left and right. None: every right start ends every left event.
    nulls_equal : bool
        Whether a null key matches a null key. Without it a null key matches nothing.
    apart : NonOverlapping, optional
        The left events start with right ones, one at a time, so that they do not overlap any more.

    Notes
    -----
    Right ends do not matter. Shapes: one row per left event; left columns. An event comes out when the watermark has
    passed its start, and its end when that is known. State: the active left events.
    Source: Trill (VLDB 2015), section 3.3 (ClipEventDuration).

    Examples
    --------
    >>> import whimbrel as wb
    >>> prices = wb.from_arrow({"at": [0, 4], "until": [9, 9], "k": ["a", "a"], "p": [7, 8]},
    ...                        time="at", end="until").select("k", "p")
    >>> prices.clip_at(prices, on="k").collect().to_pylist()
    [{'start': 0, 'end': 4, 'k': 'a', 'p': 7}, {'start': 4, 'end': 9, 'k': 'a', 'p': 8}]
    """

    arity: ClassVar[int] = 2

    on: Pairs = ()
    nulls_equal: bool = False
    apart: NonOverlapping | None = None

    def schema(self, *upstream: Schema) -> Schema:
        left, right = upstream
        JoinedRow(self.on).check(left, right, where=self.show())
        return left

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        return Properties(intervals_only=False, causal=all(each.causal for each in upstream), points=known.points,
                          apart=known.apart or self.apart, sampling=known.sampling)

    def reach(self, *inputs: Reach) -> Reach | None:
        longest, both = inputs[0].longest, inputs[0].combined(inputs[1])
        return None if longest is None or both is None else both.wider(0, longest, longest)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return wanted | {mine for mine, _ in self.on}, frozenset(theirs for _, theirs in self.on)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by in self.on else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        left, right = inputs
        row = JoinedRow(self.on)
        mine, theirs = row.sides(wanted, left.schema, right.schema, (0,))
        longest = INF if left.longest is None else left.longest
        end = later(wanted.end, longest) if wanted.exact is Exact.LIFETIMES else wanted.end
        if wanted.starting:
            return mine, theirs.starts(wanted.start, end)
        found = theirs.starts(earlier(wanted.start, longest), end)
        if row.pinned(theirs):  # whatever an earlier one has ended, the latest has ended, too
            found = replace(found, latest_before=later(wanted.start, 1))
        return mine.exactly(Exact.STARTS), found

    def kernel(self, *upstream: Schema) -> Kernel:
        left, right = upstream
        return ClipKernel(self.on, left, right, nulls_equal=self.nulls_equal)

    def show(self) -> str:
        parts = [JoinedRow(self.on).show()] if self.on else []
        parts += ["nulls_equal=True"] if self.nulls_equal else []
        return f"clip_at({', '.join(parts)})"


@fluent
def clip_at(schema: Schema, right: Schema, on: On | None = None, *, nulls_equal: bool = False) -> Clip:
    """End each event at the first matching start of `right`. See :class:`whimbrel.operators.Clip`.

    Parameters
    ----------
    right : Stream
    on : str, list of str, or dict, optional
        Key columns; a dict pairs left names with right ones. None: every right start ends all left events.
    nulls_equal : bool
        True: a null key matches a null key. By default it matches nothing, as in SQL.
    """
    return Clip(on=() if on is None else key_pairs(on, "clip_at"), nulls_equal=nulls_equal)


class ClipKernel(Kernel):
    """A right start covers what is left of the left events that it ends."""

    def __init__(self, on: Pairs, left: Schema, right: Schema, *, nulls_equal: bool) -> None:
        self.schema = left
        self.keys = KeyTable([left.type_of(mine) for mine, _ in on])
        self.sides = [JoinInput(left, [mine for mine, _ in on], left.names, nulls_equal=nulls_equal),
                      JoinInput(right, [theirs for _, theirs in on], (), nulls_equal=nulls_equal)]
        self.coverage = Coverage(covered=False)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.sides[port].push(batch)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.sides[port].watermark = watermark
        self.watermark = min(side.watermark for side in self.sides)
        left = self.sides[0]
        rows, starts = (side.take_waiting(self.watermark, inclusive=False) for side in self.sides)
        groups = left.groups(rows, self.keys)
        theirs = self.sides[1].groups(starts, self.keys)
        base = left.keep(rows, groups, self.keys)
        who, when, until = self._clipped(rows, base, starts, theirs)
        pieces = self.coverage.step(base, rows, who, when, until, self.watermark)
        out = [each.batch(self.schema, left.active.take(each.slot).columns) for each in pieces]
        if self.watermark == INF:
            left.end()
        elif (alive := left.forget(self.watermark)) is not None:
            self.coverage.stay(alive)
        return out

    def _clipped(self, rows: Batch, base: int, starts: Batch, theirs: Array) -> tuple[Array, ...]:
        """Slots of the rows that a right start ends, when, and when they would have ended."""
        left = self.sides[0]
        cursor = np.zeros(2, np.int64)
        found: list[tuple[Array, ...]] = [tuple(np.empty(0, np.int64) for _ in range(3))]
        while cursor[LEFT] < len(rows) or cursor[RIGHT] < len(starts):
            buffers = [np.empty(_CAPACITY, np.int64) for _ in range(3)]
            done = int(_clip(cursor, rows.sync, base, left.group, left.ends, left.blocks, left.slots, left.used,
                             starts.sync, theirs, *buffers))
            found.append(tuple(array[:done] for array in buffers))
            if done < _CAPACITY and cursor[LEFT] < len(rows):
                left.hang_again(base + int(cursor[LEFT]), int(rows.sync[cursor[LEFT]]))
        return tuple(np.concatenate(arrays) for arrays in zip(*found, strict=True))

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.sides))
