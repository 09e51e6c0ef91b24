"""Set the duration of events."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.batch import Schema
from whimbrel.clock import INF, check_positive, quote_ticks
from whimbrel.kernels import Kernel
from whimbrel.operators.lifetimes.alter_lifetime import AlterLifetime
from whimbrel.operators.lifetimes.lifetime import Span, span
from whimbrel.operators.windows.window import SlidingKernel, SlidingWindow
from whimbrel.plan import Operator, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class SetDuration(SlidingWindow):
    """Set one duration for all events, like a sliding window.

        time     0    5    10   15
        in       a────────     b        (a: [0, 9), b: [11, 12))
        out      a────         b────    (5: [0, 5), [11, 16))

    Parameters
    ----------
    size : int, > 0
        Ticks that an event lasts.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.
    asked : str
        What the user wrote, if that was not a call of set_duration.

    Notes
    -----
    The input duration is ignored. A duration computed from columns gives an
    :class:`~whimbrel.operators.AlterLifetime`. Shapes: one row out per row in. State: none.
    Source: Trill (VLDB 2015), section 3.1 (AlterEventDuration).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 11], "x": [2, 0]}, time="at").select("x")
    >>> events.set_duration(5).collect().to_pylist()
    [{'start': 0, 'end': 5, 'x': 2}, {'start': 11, 'end': 16, 'x': 0}]
    >>> events.set_duration(wb.col.x).collect().to_pylist()
    [{'start': 0, 'end': 2, 'x': 2}]
    """

    asked: str = ""

    def schema(self, *upstream: Schema) -> Schema:
        check_positive(self.unit, where=self.show(), duration=self.size)
        return upstream[0]

    def kernel(self, *upstream: Schema) -> Kernel:
        return SlidingKernel(self.size, self.asked or self.show())

    def show(self) -> str:
        return f"set_duration({quote_ticks(self.size, self.unit)})"


@fluent
def set_duration(schema: Schema, duration: Span | None) -> Operator:
    """Set the duration of each event. See :class:`whimbrel.operators.SetDuration`.

    Parameters
    ----------
    duration : str, timedelta, int, Expr, callable or None
        An expression may read ``col.start`` and ``col.end``; an event with a duration that is not positive is
        dropped. None or null means no known end.
    """
    length = span(duration, schema, where="set_duration()")
    if isinstance(length, int) and length != INF:
        return SetDuration(size=length, unit=schema.unit)
    return AlterLifetime(duration=length, method="set_duration", unit=schema.unit)
