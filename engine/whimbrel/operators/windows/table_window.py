"""Windows from a table of starts and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Schema, Ticks, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import PlanError
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach

__all__ = ["TradingCalendar", "calendar"]


@dataclass(frozen=True, eq=False)
class TradingCalendar:
    """Sessions of a calendar, in order and without overlap.

    Parameters
    ----------
    starts, ends : pyarrow.Array
        Timestamps or integers.
    """

    starts: pa.Array
    ends: pa.Array

    def __repr__(self) -> str:
        return f"calendar({len(self.starts)} sessions)"

    def window(self, schema: Schema, where: str) -> TableWindow:
        """The windows for a stream, in its ticks."""
        given, wanted = self.starts.type, schema.time_type
        timed = pa.types.is_timestamp(given)
        if timed != pa.types.is_timestamp(wanted):
            raise PlanError(f"The calendar has {given}, but the times of the stream are {wanted}.", where=where,
                            hint="Use sessions of timestamps." if schema.unit else "Use sessions of integers.")
        if timed and (given.tz is None) != (wanted.tz is None):
            hint = f"assume_timezone(column, {wanted.tz!r})" if wanted.tz else "local_timestamp(column)"
            raise PlanError(f"Sessions with a zone meet times without one, or the reverse: {given} and {wanted}.",
                            where=where, hint=f"Use pyarrow.compute.{hint} for the columns of the calendar.")
        try:
            starts, ends = (frozen(each.cast(schema.time_type).cast(pa.int64()).to_numpy(zero_copy_only=False).copy())
                            for each in (self.starts, self.ends))
        except pa.ArrowInvalid:
            raise PlanError(f"The calendar has {self.starts.type}, but the times of the stream are "
                            f"{schema.time_type}.", where=where,
                            hint="Cast the columns of the calendar to the type of the stream's times.") from None
        return TableWindow(starts=starts, ends=ends)


def calendar(sessions: Any) -> TradingCalendar:
    """Make windows of a table of sessions.

    Parameters
    ----------
    sessions : pyarrow.Table, dict or DataFrame
        Such as the hours of an exchange. Its first two columns are the start and the end of each session: timestamps,
        or integers for streams with integer times. They have a zone if the times of the stream have one, which may be
        another zone. Sessions are in order and do not overlap. The end is not part of a session.

    Examples
    --------
    >>> import whimbrel as wb
    >>> hours = wb.calendar({"open": [0, 20], "close": [8, 30]})
    >>> trades = wb.from_arrow({"at": [1, 7, 12, 25], "x": [1, 2, 3, 4]}, time="at")
    >>> trades.tumbling_window(hours).aggregate(total=wb.sum(wb.col.x)).collect().to_pylist()
    [{'start': 0, 'end': 8, 'total': 3}, {'start': 20, 'end': 30, 'total': 4}]
    """
    try:
        table = sessions if isinstance(sessions, pa.Table) else pa.table(sessions)
    except (ValueError, TypeError, pa.ArrowException):
        raise PlanError(f"A calendar is made of a table, not of {type(sessions).__name__}.", where="calendar()",
                        hint='Use two columns of equal length, such as {"start": [...], "end": [...]}.') from None
    if table.num_columns < 2 or not table.num_rows:
        raise PlanError("A calendar needs the start and the end of at least one session.", where="calendar()",
                        hint='Use a table with two columns, such as {"start": [...], "end": [...]}.')
    starts, ends = (table.column(number).combine_chunks() for number in (0, 1))
    if starts.type != ends.type or not (pa.types.is_timestamp(starts.type) or pa.types.is_integer(starts.type)):
        raise PlanError(f"Sessions need two columns of one type of time, got {starts.type} and {ends.type}.",
                        where="calendar()", hint="Use timestamps, or integers for streams with integer times.")
    if starts.null_count or ends.null_count:
        raise PlanError("A session must have a start and an end, got null.", where="calendar()",
                        hint="Remove rows without a start or an end.")
    begin, end = (each.cast(pa.int64()).to_numpy() for each in (starts, ends))
    wrong = np.flatnonzero((end <= begin) | np.append(begin[1:] < end[:-1], False))
    if len(wrong):
        raise PlanError(f"Sessions must be in order and must not overlap, got {starts[wrong[0]]} to {ends[wrong[0]]} "
                        f"in row {wrong[0]}.", where="calendar()", hint="Sort the rows by start, and merge overlaps.")
    return TradingCalendar(starts, ends)


@dataclass(frozen=True, kw_only=True, eq=False)
class TableWindow(Operator):
    """Round lifetimes to the windows of a table.

        time     0    5    10   15   20
        in        a  b  c      d         (points at 1, 4, 7, 14)
        out      a─────                  (windows [0, 6) and [12, 20))
                 b─────
                             d───────    (c is in no window)

    Parameters
    ----------
    starts, ends : array of int64
        Windows in order, without overlap, in ticks.

    Notes
    -----
    The input duration is ignored. Shapes: at most one row out per row in. State: none. Source: trading calendars of
    backtests, such as ``exchange_calendars``.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1, 4, 7, 14]}, time="at")
    >>> hours = wb.calendar({"open": [0, 12], "close": [6, 20]})
    >>> events.tumbling_window(hours).aggregate(n=wb.count()).collect().to_pylist()
    [{'start': 0, 'end': 6, 'n': 2}, {'start': 12, 'end': 20, 'n': 1}]
    """

    accepts_edges: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    starts: Ticks
    ends: Ticks

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=False, packed=upstream[0].packed)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        longest = int((self.ends - self.starts).max())
        return inputs[0].wider(0, longest, longest)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        start, end = wanted.start, wanted.end
        if not wanted.starting and start != MIN_TIME:
            start = self.around(start)[0]
        if end not in (MIN_TIME, INF):
            end = max(end, self.around(end - 1)[1])
        return (wanted.starts(start, end),)

    def around(self, time: int) -> tuple[int, int]:
        """The window that has a time; outside of windows the time itself."""
        at = int(np.searchsorted(self.starts, time, "right")) - 1
        if at < 0 or time >= self.ends[at]:
            return time, time
        return int(self.starts[at]), int(self.ends[at])

    def kernel(self, *upstream: Schema) -> Kernel:
        return TableWindowKernel(self)

    def show(self) -> str:
        digest = crc32(self.ends.tobytes(), crc32(self.starts.tobytes()))
        return f"tumbling_window(calendar({len(self.starts)} sessions, {digest:08x}))"


class TableWindowKernel(Stateless):
    """Finds the window of each row by bisection."""

    def __init__(self, window: TableWindow) -> None:
        self.window = window

    def apply(self, batch: Batch) -> Batch:
        rows, window = starts_only(batch), self.window
        at = np.searchsorted(window.starts, rows.sync, "right") - 1
        inside = np.flatnonzero((at >= 0) & (rows.sync < window.ends[at]))
        if len(inside) < len(rows):
            rows, at = rows.take(inside), at[inside]
        return rows.having(sync=window.starts[at], ends=window.ends[at], ids=None, began=rows.first_start)

    def output_watermark(self, watermark: int) -> int:
        return watermark if watermark in (INF, MIN_TIME) else self.window.around(watermark)[0]
