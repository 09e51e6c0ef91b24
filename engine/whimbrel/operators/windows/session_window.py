"""Session windows: rewrite lifetimes to sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from whimbrel.batch import Batch, Schema, check_reach, frozen
from whimbrel.clock import (
    INF,
    MIN_TIME,
    Duration,
    TickUnit,
    check_positive,
    duration_ticks,
    grid_offset,
    quote_ticks,
    show_grid,
)
from whimbrel.disorder import Sorter
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, Keys, columns_of, evaluate, key_of, type_of
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend, move, renumber
from whimbrel.kernels.primitives.windows.sessions import assign_sessions
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, fluent

__all__ = ["Emit"]

Array = np.ndarray[Any, Any]
Emit = Literal["change", "close"]

_assign = Compiled(assign_sessions)
_GROUPS_AT_FIRST = 1024
_PIECE_ROWS = 262_144
"""Most rows that pieces are put together to."""
_NOTHING = frozen(np.zeros(0, np.bool_))
LONG_AGO = MIN_TIME
"""A last event before every other, from which no duration overflows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SessionWindow(Operator):
    """End all events of a session together.

    A session ends after a period without events of its key.

        time     0    5    10   15   20
        in       a  b         c         (points at 0, 3, 13)
        out      a───────               (timeout 5: [0, 8), [3, 8), [13, 18))
                    b────
                              c────
        out      a───────     c────     (emit="close": a and b both [0, 8))
                 b───────

    A session closes at its last event + `timeout`. An event at that time starts a new one. An aggregate over it
    shows each change as it happens. With ``emit="close"`` every event lasts for the whole of its session, so that an
    aggregate gives one row for each session, once it has closed.

    Parameters
    ----------
    timeout : int, > 0
        Ticks without an event after which a session closes.
    max_duration : int, optional
        A session is cut at multiples of this, in ticks. The first cut is at least this long after its start. What
        follows within `timeout` of the last event is cut at each multiple. A session lasts less than twice as
        long, and long sessions of all keys are cut at the same times.
    cut_offset : int
        Where those multiples begin, in ticks: weeks on a Monday, others at the epoch.
    emit : {"change", "close"}
    keys : tuple of (str, Expr)
        Names and values of the ``group_by`` keys; sessions are per key.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    The input duration is ignored. Shapes: one row out per row in; as start and end edges, unless ``emit="close"``.
    State: the events of open sessions, and the last time of each key. With ``emit="close"`` and an aggregate by the
    same keys after it: a state for each open session.
    Source: SessionTimeoutWindow of Trill's open source; cut as in Azure Stream Analytics.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 3, 13], "user": ["a", "a", "a"]}, time="at").group_by("user")
    >>> events.session_window(5, emit="close").aggregate(n=wb.count()).collect().to_pylist()
    [{'start': 0, 'end': 8, 'user': 'a', 'n': 2}, {'start': 13, 'end': 18, 'user': 'a', 'n': 1}]
    """

    accepts_edges: ClassVar[bool] = True

    timeout: int
    max_duration: int | None = None
    cut_offset: int = 0
    emit: Emit = "change"
    keys: Keys = ()
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()
        check_positive(self.unit, where=where, timeout=self.timeout, max_duration=self.max_duration)
        if self.emit not in ("change", "close"):
            raise PlanError(f"emit must be 'change' or 'close', got {self.emit!r}.", where=where,
                            hint='Use "close" for one row per session.')
        for _, expr in self.keys:
            type_of(expr, upstream[0], where=where)
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        closed = self.emit == "close"
        return Properties(intervals_only=closed, causal=upstream[0].causal and not closed)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted.union(*(columns_of(expr) for _, expr in self.keys)),)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if key_of(self.keys, by[0]) else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        keys = [expr.name for _, expr in self.keys if isinstance(expr, Col)]
        whole = self.emit == "close" or wanted.exact is Exact.LIFETIMES
        if wanted.starting and not whole:
            return (wanted.only(keys).starts(wanted.start, wanted.end),)
        return (wanted.only(keys).starts(MIN_TIME, INF if whole else wanted.end),)

    def suffices(self, wanted: LineageRequest) -> bool:
        # Sessions that are cut begin where the one before them was cut.
        return self.max_duration is None and (self.emit == "close" or wanted.exact < Exact.LIFETIMES)

    def kernel(self, *upstream: Schema) -> Kernel:
        keys = [expr for _, expr in self.keys]
        kind = ClosedSessionKernel if self.emit == "close" else SessionKernel
        return kind(upstream[0], keys, self.timeout, self.max_duration or 0, self.cut_offset, self.show())

    def grouping_keys(self) -> Keys:
        return self.keys

    def show(self) -> str:
        text = quote_ticks(self.timeout, self.unit)
        if self.max_duration is not None:
            text += f", max_duration={show_grid(self.max_duration, self.cut_offset, self.unit)[0]}"
        text += "" if self.emit == "change" else f", emit={self.emit!r}"
        keys = f"group_by({', '.join(name for name, _ in self.keys)})." if self.keys else ""
        return f"{keys}session_window({text})"


@fluent
def session_window(schema: Schema, timeout: Duration, max_duration: Duration | None = None, *, emit: Emit = "change",
                   keys: Keys = ()) -> SessionWindow:
    """Round lifetimes to sessions that end after `timeout` without events.

    See :class:`whimbrel.operators.SessionWindow`.

    Parameters
    ----------
    timeout : str, timedelta or int
        Time without events of a key after which its session closes.
    max_duration : str, timedelta or int, optional
        Cut longer sessions at multiples of this. No session lasts twice as long. Weeks (``"1w"``) are cut on
        Mondays.
    emit : {"change", "close"}
        With "close" an aggregate gives one row for each session.
    """
    where = f"session_window({timeout!r})"
    longest = None if max_duration is None else duration_ticks(max_duration, schema.unit, where=where)
    offset = 0 if max_duration is None else grid_offset(max_duration, schema.unit, where=where)
    return SessionWindow(timeout=duration_ticks(timeout, schema.unit, where=where), max_duration=longest,
                         cut_offset=offset, emit=emit, keys=keys, unit=schema.unit)


class SessionKernel(Kernel):
    """Sends each event on at once, as a start edge unless its session closes in the same step.

    Attributes
    ----------
    held : list of Batch
        Rows of open sessions, in pieces, in arrival order. Their groups identify their sessions, because between
        two steps a group has at most one.
    held_group, due : list of array, list of int
        Of each piece: the groups of its rows, and a time before which no session of them closes. Until then it is left
        as it is, or a session that never ends would be copied with every batch.
    closes, closing : array of bool, of int64
        Per group, within a step: whether the session of its held rows closes, and which one that is.
    """

    def __init__(self, schema: Schema, keys: Sequence[Expr], timeout: int, longest: int, begin: int,
                 where: str) -> None:
        self.timeout, self.longest, self.begin, self.where = timeout, longest, begin, where
        self.key_exprs = tuple(keys)
        self.keys = KeyTable([type_of(expr, schema) for expr in keys])
        self.last = np.full(_GROUPS_AT_FIRST, LONG_AGO, np.int64)
        self.current = np.full(_GROUPS_AT_FIRST, -1, np.int64)
        self.closes, self.closing = np.zeros(_GROUPS_AT_FIRST, np.bool_), np.zeros(_GROUPS_AT_FIRST, np.int64)
        self.first, self.deadline, self.cut, self.owner = (np.zeros(0, np.int64) for _ in range(4))
        self.none = Batch.empty(schema)
        self.held: list[Batch] = []
        self.held_group: list[Array] = []
        self.due: list[int] = []
        self.ids_given = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        rows = starts_only(batch.compact())
        check_reach(rows, self.timeout + 2 * self.longest, self.where)
        return self._step(rows.having(ends=INF, ids=None), int(rows.sync[-1])) if len(rows) else []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return self._step(self.none, watermark)

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.held))

    def _step(self, new: Batch, until: int) -> list[Batch]:
        """Take in rows, and close the sessions whose time has come."""
        begun = len(self.first)
        group, session = self._assign(new)
        closed = self.deadline <= until
        ended, of_ended = self._end(np.flatnonzero(closed[:begun]), until)
        out, going_on = self._emit(ended, of_ended, new, session, closed)
        if len(going_on):
            stays = ~closed[session]
            self._hold(going_on, group[stays], int(self.deadline[session[stays]].min()))
        kept = np.flatnonzero(~closed)
        self.current[self.owner[closed]] = -1
        self.current[self.owner[kept]] = np.arange(len(kept))
        for name in ("first", "deadline", "cut", "owner"):
            setattr(self, name, getattr(self, name)[kept])
        return out

    def _assign(self, rows: Batch) -> tuple[Array, Array]:
        """The group and the session of each row; sessions that begin are added."""
        if self.keys.is_crowded:
            self._remove_keys()
        groups = self.keys.ids([evaluate(expr, rows) for expr in self.key_exprs], len(rows))
        if len(self.keys) > len(self.last):
            self.last = extend(self.last, 2 * len(self.keys), LONG_AGO)
            self.current = extend(self.current, 2 * len(self.keys), -1)
            self.closes = extend(self.closes, 2 * len(self.keys), False)
            self.closing = extend(self.closing, 2 * len(self.keys), 0)
        begun = len(self.first)
        for name in ("first", "deadline", "cut", "owner"):
            setattr(self, name, extend(getattr(self, name), begun + len(rows), 0))
        session = np.zeros(len(rows), np.int64)
        count = int(_assign(rows.sync, frozen(groups), self.timeout, self.longest, self.begin, self.last, self.current,
                            begun, self.first, self.deadline, self.cut, self.owner, session))
        for name in ("first", "deadline", "cut", "owner"):
            setattr(self, name, getattr(self, name)[:count])
        return groups, session

    def _remove_keys(self) -> None:
        """Keep only the keys with an open session, or with one that was cut and may continue."""
        known = len(self.keys)
        used = self.current[:known] >= 0
        if self.longest:
            used |= self.last[:known] > max(self.watermark, MIN_TIME + self.timeout) - self.timeout
        old = np.flatnonzero(used)
        self.keys, new = self.keys.keep_only(old)
        groups = max(_GROUPS_AT_FIRST, 2 * len(old))
        self.last = move(self.last, old, new, groups, LONG_AGO)
        self.current = move(self.current, old, new, groups, -1)
        self.closes, self.closing = np.zeros(groups, np.bool_), np.zeros(groups, np.int64)
        self.owner = renumber(self.owner, old, new).astype(np.int64)
        self.held_group = [renumber(group, old, new) for group in self.held_group]

    def _end(self, closed: Array, until: int) -> tuple[Batch, Array]:
        """Held rows whose session is one of these that close, and the session of each; they leave."""
        pieces = list(zip(self.held, self.held_group, self.due, strict=True))
        self.held, self.held_group, self.due = [], [], []
        ended, sessions = [], []
        self.closes[self.owner[closed]] = True
        self.closing[self.owner[closed]] = closed
        for rows, group, due in pieces:
            over = self.closes[group] if due <= until else _NOTHING
            if over.any():
                removed, stay = np.flatnonzero(over), np.flatnonzero(~over)
                ended.append(rows.take(removed))
                sessions.append(self.closing[group[removed]])
                if len(stay):
                    self._hold(rows.take(stay), group[stay], until)
            else:
                self._hold(rows, group, due if due > until else int(self.deadline[self.current[group]].min()))
        self.closes[self.owner[closed]] = False
        return (Batch.concat(ended), np.concatenate(sessions)) if ended else (self.none, np.zeros(0, np.int64))

    def _hold(self, rows: Batch, group: Array, due: int) -> None:
        """Append a piece, and merge the small ones."""
        while self.held and len(self.held[-1]) <= min(2 * len(rows), _PIECE_ROWS - len(rows)):
            rows = Batch.concat([self.held.pop(), rows])
            group = np.concatenate([self.held_group.pop(), group])
            due = min(due, self.due.pop())
        self.held.append(rows)
        self.held_group.append(group)
        self.due.append(due)

    def _emit(self, ended: Batch, of_ended: Array, new: Batch, session: Array,
              closed: Array) -> tuple[list[Batch], Batch]:
        """New rows with the end edges of earlier ones, and the new rows of open sessions."""
        edges = ended.having(sync=self.deadline[of_ended], ends=ended.sync)
        going_on = ~closed[session]
        ids = np.where(going_on, self.ids_given + np.cumsum(going_on), -1)
        self.ids_given += int(np.count_nonzero(going_on))
        rows = replace(new, ends=np.where(going_on, INF, self.deadline[session]), ids=ids)
        out = Batch.concat([rows, edges])
        in_order = [out.take(np.argsort(out.sync, kind="stable"))] if len(out) else []
        return in_order, rows.take(np.flatnonzero(going_on))


class ClosedSessionKernel(SessionKernel):
    """Holds the events of a session until it closes."""

    def __init__(self, schema: Schema, keys: Sequence[Expr], timeout: int, longest: int, begin: int,
                 where: str) -> None:
        super().__init__(schema, keys, timeout, longest, begin, where)
        self.done = Sorter()

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        super().advance(watermark, port)
        self.watermark = min(watermark, int(self.first.min())) if len(self.first) else watermark
        return self.done.release(self.watermark)

    @property
    def buffered_rows(self) -> int:
        return super().buffered_rows + self.done.rows

    def _emit(self, ended: Batch, of_ended: Array, new: Batch, session: Array,
              closed: Array) -> tuple[list[Batch], Batch]:
        over = closed[session]
        for rows, whole in ((ended, of_ended), (new.take(np.flatnonzero(over)), session[over])):
            self.done.add(rows.having(sync=self.first[whole], ends=self.deadline[whole], began=rows.first_start))
        return [], new.take(np.flatnonzero(~over))
