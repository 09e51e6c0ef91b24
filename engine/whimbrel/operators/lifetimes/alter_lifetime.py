"""Compute start or duration of events from their columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Schema, Ticks, elapsed
from whimbrel.clock import INF, MIN_TIME, TickUnit
from whimbrel.errors import KernelError, PlanError
from whimbrel.expr import Expr, trace
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.lifetimes.lifetime import (
    Span,
    check_duration,
    check_time,
    durations,
    end_after,
    payload_of,
    show_span,
    span,
    times,
)
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, Reach, earlier, fluent

__all__ = ["Moment"]

Moment = Expr | Callable[[Any], Any] | int | datetime
"""What may be given as the start of an event."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AlterLifetime(Operator):
    """Set the start of each event, its duration, or both.

        time     0    5    10   15
        in       a──       b──          (a: [0, 3), b: [10, 13))
        out        a────     b────      (start=col.start + 2, duration=5: [2, 7), [12, 17))

    Expressions may read the payload, and ``col.start`` and ``col.end``, the lifetime of the event. The end is null when
    it is not known.

    Parameters
    ----------
    start : Expr, optional
        The new start. It must keep the order of events: an event that started later must not start earlier now.
        Without it the start stays.
    duration : int or Expr, optional
        Ticks (or a duration) from the new start to the new end. INF or null means no known end. Default: the duration
        does not change.
    method : str
        What the user wrote, for printing.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    An event with a duration that is not positive is dropped. An end after the last tick means no known end. Shapes: at
    most one row out per row in. State: with `start`, the events of the newest time. Raises a KernelError, naming the
    event, when a start is null or would reorder the stream. Source: Trill (VLDB 2015), section 3.1
    (AlterEventLifetime).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 10], "x": [2, 3]}, time="at").select("x")
    >>> events.alter_lifetime(start=wb.col.start + 2, duration=wb.col.x * 2).collect().to_pylist()
    [{'start': 2, 'end': 6, 'x': 2}, {'start': 12, 'end': 18, 'x': 3}]
    """

    row_by_row: ClassVar[bool] = True

    start: Expr | None = None
    duration: int | Expr | None = None
    method: str = "alter_lifetime"
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()
        if self.start is None and self.duration is None:
            raise PlanError("alter_lifetime() needs a start or a duration.", where=where,
                            hint="Add one, such as alter_lifetime(duration=col.length).")
        if self.start is not None:
            check_time(self.start, upstream[0], where=where)
        if isinstance(self.duration, Expr):
            check_duration(self.duration, upstream[0], where=where)
        elif self.duration is not None and self.duration <= 0:
            raise PlanError(f"duration must be positive, got {show_span(self.duration, self.unit)}.", where=where,
                            hint='Use a duration such as "5m", or None for an unknown end.')
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        duration = upstream[0].duration if self.duration is None else self.duration
        endless = not isinstance(duration, Expr) and duration == INF
        if isinstance(duration, Expr) or endless:
            duration = None
        return Properties(duration=duration, causal=upstream[0].causal and self.start is None, starts_only=endless,
                          sampling=upstream[0].sampling if self.start is None else None)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        exprs = [expr for expr in (self.start, self.duration) if isinstance(expr, Expr)]
        return (wanted.union(*map(payload_of, exprs)),)

    def reach(self, *inputs: Reach) -> Reach | None:
        if self.start is not None:
            return None
        if self.duration is None:
            return inputs[0]
        return inputs[0].lasting(self.duration if isinstance(self.duration, int) and self.duration != INF else None)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if self.start is None else None  # starts that change their order are an error, also across keys

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        if self.start is not None:
            return (wanted.always(),)
        if isinstance(self.duration, int) and not wanted.starting:
            return (wanted.starts(earlier(wanted.start, self.duration - 1), wanted.end),)
        if isinstance(self.duration, int):
            return (wanted.starts(wanted.start, wanted.end),)
        return (wanted.during(wanted.start if wanted.starting else MIN_TIME, wanted.end, Exact.LIFETIMES),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return DurationKernel(self) if self.start is None else StartKernel(self, self.start)

    def show(self) -> str:
        if self.method == "set_duration" and self.duration is not None:
            return f"set_duration({show_span(self.duration, self.unit)})"
        start = [] if self.start is None else [f"start={self.start.show()}"]
        duration = [] if self.duration is None else [f"duration={show_span(self.duration, self.unit)}"]
        return f"{self.method}({', '.join(start + duration)})"

    def ends(self, batch: Batch, start: Ticks) -> Ticks:
        """The ends of these rows, now that they start then."""
        if self.duration is None:
            lasts = elapsed(batch.other, batch.sync)
            with np.errstate(over="ignore"):  # only where the first one holds
                moved = end_after(batch.other, start - batch.sync)
            return np.where(batch.other == INF, INF, np.where(lasts < INF, end_after(start, lasts), moved))
        if isinstance(self.duration, int):
            length = np.full(len(start), self.duration)
            return length if self.duration == INF else end_after(start, length)
        length, known = durations(self.duration, batch, where=self.show())
        return np.where(known, end_after(start, length), INF)


@fluent
def alter_lifetime(schema: Schema, *, start: Moment | None = None, duration: Span | None = "same") -> AlterLifetime:
    """Set the start of each event, its duration, or both. See :class:`whimbrel.operators.AlterLifetime`.

    Parameters
    ----------
    start : Expr, callable, int or datetime, optional
        Such as ``col.start + 5``; must keep the order of events.
    duration : Expr, callable, str, timedelta, int or None
        Such as ``"5m"`` or ``col.end - col.start``; None means no known end. ``"same"`` keeps the duration.
    """
    same = isinstance(duration, str) and duration == "same"
    return AlterLifetime(
        start=None if start is None else trace(start, where="alter_lifetime(start=...)"),
        duration=None if same else span(duration, schema, where="alter_lifetime(duration=...)"), unit=schema.unit)


class DurationKernel(Stateless):
    """Sets the ends; starts stay."""

    def __init__(self, operator: AlterLifetime) -> None:
        self.operator = operator

    def apply(self, batch: Batch) -> Batch:
        batch = batch.compact()
        end = self.operator.ends(batch, batch.sync)
        return batch.having(ends=end, ids=None).take(np.flatnonzero(end > batch.sync))


class StartKernel(Kernel):
    """Waits until a time is complete, so that the new order does not depend on how its events came."""

    def __init__(self, operator: AlterLifetime, start: Expr) -> None:
        self.operator, self.start = operator, start
        self.waiting: list[Batch] = []
        self.newest = self.newest_was = MIN_TIME

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        self.waiting.append(batch)
        return self._complete(int(batch.sync[-1]))

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        out = self._complete(watermark)
        self.watermark = INF if watermark == INF else self.newest
        return out

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.waiting))

    def _complete(self, before: int) -> list[Batch]:
        """Rewrite rows that started before a time."""
        if not self.waiting:
            return []
        rows = Batch.concat(self.waiting)
        cut = int(np.searchsorted(rows.sync, before, "left"))
        self.waiting = [rows.slice(cut, len(rows))] if cut < len(rows) else []
        return self._rewrite(rows.slice(0, cut)) if cut else []

    def _rewrite(self, rows: Batch) -> list[Batch]:
        start, known = times(self.start, rows, where=self.operator.show())
        if not known.all():
            raise KernelError(f"The event at {_shown(rows, rows.sync[~known][0])} has a null start.",
                              where=self.operator.show(), hint="Drop such events first, or use .fill_null(...).")
        end = self.operator.ends(rows, start)
        kept = np.flatnonzero(end > start)
        if not len(kept):
            return []
        kept = kept[np.lexsort((start[kept], rows.sync[kept]))]
        self._check_order(rows, rows.sync[kept], start[kept])
        return [rows.take(kept).having(sync=start[kept], ends=end[kept], ids=None)]

    def _check_order(self, rows: Batch, was: Ticks, start: Ticks) -> None:
        before = np.concatenate([[self.newest], start[:-1]])
        if (start < before).any():
            row = int(np.argmax(start < before))
            earlier = was[row - 1] if row else self.newest_was
            raise KernelError(
                f"The event at {_shown(rows, was[row])} would start at {_shown(rows, start[row])}, before the one at "
                f"{_shown(rows, earlier)}, which starts at {_shown(rows, before[row])} now.",
                where=self.operator.show(), hint="Keep the order of events: round or shift all starts alike.")
        self.newest, self.newest_was = int(start[-1]), int(was[-1])


def _shown(rows: Batch, ticks: int) -> str:
    return str(pa.scalar(int(ticks)).cast(rows.schema.time_type).as_py())
