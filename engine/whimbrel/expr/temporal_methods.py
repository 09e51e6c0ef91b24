"""Methods of expressions that read other times."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, cast

from whimbrel.clock import Duration
from whimbrel.errors import PlanError

if TYPE_CHECKING:
    from whimbrel.expr.nodes import Expr


class TemporalMethods:
    """Values of a stream at other times, and over windows around a time.

    They stand in ``select``, ``with_columns`` and ``where`` of streams with one event at a time, and are taken when
    each event starts. After ``group_by`` they are per key.
    """

    def ago(self, by: Duration) -> Expr:
        """The value at an earlier time; null where no event was active.

        Parameters
        ----------
        by : str, timedelta or int (ticks)

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> prices = wb.from_arrow({"at": [0, 1, 2], "px": [10.0, 11.0, 9.0]}, time="at").select("px")
        >>> prices.select(change=col.px - col.px.ago(1)).collect()["change"].to_pylist()
        [None, 1.0, -2.0]
        """
        from whimbrel.expr.temporal_nodes import TimeOffset

        return TimeOffset(cast("Expr", self), by, "ago")

    def ahead(self, by: Duration) -> Expr:  # word allowed: the opposite of `ago`
        """The value at a later time; null where no event is active.

        The stream then has lookahead: a live answer comes that much later.

        Parameters
        ----------
        by : str, timedelta or int (ticks)
        """
        from whimbrel.expr.temporal_nodes import TimeOffset

        return TimeOffset(cast("Expr", self), by, "ahead")

    def previous(self, events: int = 1) -> Expr:
        """The value that many events before; null where there were fewer.

        Parameters
        ----------
        events : int
            At least 1.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> payments = wb.from_arrow({"at": [0, 7, 9], "x": [5, 6, 8]}, time="at").select("x")
        >>> payments.select(before=col.x.previous()).collect()["before"].to_pylist()
        [None, 5, 6]
        """
        from whimbrel.expr.temporal_nodes import Previous

        return Previous(cast("Expr", self), _plain(events))

    def past(self, back: Duration | None = None, *, rows: int | None = None,
             ahead: Duration = 0,  # word allowed: as in the method `ahead`
             min_rows: int = 1) -> Expr:
        """Aggregates of the window that ends at the time.

        It has the events that are active in ``(t - back, t + ahead]``, or the last `rows` events. An event that lasts
        counts in each window that it touches. ``sliding_window`` counts events that start in the window; for point
        events both are the same.

        Parameters
        ----------
        back, ahead : str, timedelta or int (ticks)
        rows : int
            Number of events, instead of `back`. The last one has started at the time or before it.
        min_rows : int
            Fewest events for a value, at least 1; otherwise it is null.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> prices = wb.from_arrow({"at": [0, 1, 2, 7], "px": [1.0, 3.0, 2.0, 6.0]}, time="at").select("px")
        >>> prices.select(m=wb.mean(col.px).past(2)).collect()["m"].to_pylist()
        [1.0, 2.0, 2.5, 6.0]
        >>> prices.select(m=wb.mean(col.px).past(rows=2)).collect()["m"].to_pylist()
        [1.0, 2.0, 2.5, 4.0]
        """
        from whimbrel.expr.temporal_nodes import Past, PastRows

        expr = cast("Expr", self)
        if (back is None) == (rows is None) or (rows is not None and ahead):
            raise PlanError("past() needs either a duration or rows=; ahead= goes with a duration.",
                            where=f"{expr.show()}.past(...)", hint='Use past("20m", ahead="1m") or past(rows=10).')
        least = _plain(min_rows)
        return Past(expr, back, ahead, least) if back is not None else PastRows(expr, _plain(cast("int", rows)), least)

    def cell(self, size: Duration, *, offset: Duration | None = None) -> Expr:
        """Aggregates of the tumbling window that holds the time.

        The stream then has lookahead, up to the end of the window.

        Parameters
        ----------
        size, offset : str, timedelta or int (ticks)
            As in ``tumbling_window``: ``"1d"`` and ``"1mo"`` are spans of the calendar, for events that do not last.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> log = wb.from_arrow({"at": [0, 4, 11], "x": [1.0, 3.0, 5.0]}, time="at").select("x")
        >>> log.select(d=col.x - wb.mean(col.x).cell(10)).collect()["d"].to_pylist()
        [-1.0, 1.0, 0.0]
        """
        from whimbrel.expr.temporal_nodes import WindowCell

        return WindowCell(cast("Expr", self), size, offset)

    def so_far(self, *, reset: Expr | None = None) -> Expr:
        """Aggregates of all events that have started, with the one at hand.

            time     0    5    10   15
            in       a────b─────────c─     (x: 2, 3, 4; c resets)
            out      2────5─────────4─     (sum(col.x).so_far(reset=col.opens))

        Each row is answered at once, from one state per key.

        Parameters
        ----------
        reset : Expr, optional
            Condition. Where it is true, the state starts again, and the event is taken in after that. Null is false.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> log = wb.from_arrow({"at": [0, 4, 11], "x": [1, 3, 5]}, time="at").select("x")
        >>> log.select(total=wb.sum(col.x).so_far()).collect()["total"].to_pylist()
        [1, 4, 9]
        >>> log.select(total=wb.sum(col.x).so_far(reset=col.x == 3)).collect()["total"].to_pylist()
        [1, 3, 8]
        """
        from whimbrel.expr.nodes import lift
        from whimbrel.expr.temporal_nodes import SoFar

        return SoFar(cast("Expr", self), None if reset is None else lift(reset))

    def exists(self) -> Expr:
        """True for a value or a null, false for a gap.

        A value at another time is in a gap if no event is active then, and that of a window if no event is in it.
        ``is_null()`` is true for both a gap and a null.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> log = wb.from_arrow({"at": [0, 1, 3], "x": [1, None, 3]}, time="at").select("x")
        >>> log.select(there=col.x.ago(1).exists(), null=col.x.ago(1).is_null()).collect().to_pylist()
        [{'start': 0, 'end': 1, 'there': False, 'null': True}, {'start': 1, 'end': 2, 'there': True, 'null': False},
         {'start': 3, 'end': 4, 'there': False, 'null': True}]
        >>> log.select(there=wb.mean(col.x).past(2).exists()).collect()["there"].to_pylist()
        [True, True, True]
        """
        from whimbrel.expr.temporal_nodes import Exists

        return Exists(cast("Expr", self))


def _plain(count: int) -> int:
    """A count as an integer of Python, also from NumPy."""
    return int(count) if isinstance(count, Integral) and not isinstance(count, bool) else count
