"""The methods that operators give to streams. Generated: change the operator's file, then `make generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel import operators

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal, Self

    from whimbrel.clock import Duration, Instant, Rate, TickUnit
    from whimbrel.expr import Col, Column, Condition, Cost, Expr, Keys
    from whimbrel.operators import (
        Absence,
        Beginning,
        Closed,
        Direction,
        Emit,
        GapRule,
        How,
        ItemType,
        Label,
        Moment,
        On,
        Outputs,
        Pattern,
        RangeGaps,
        ShortRule,
        Simultaneous,
        Span,
        Step,
        Ties,
        TradingCalendar,
        WindowLabel,
    )
    from whimbrel.plan import Aggregate, Node, Operators


class Methods:
    """What every stream can do; :mod:`whimbrel.operators` says what each method means."""

    keys: Keys
    node: Node

    def _unary(self, build: Callable[..., Operators], /, *arguments: Any, **options: Any) -> Self:
        raise TypeError(type(self))

    def _binary(self, build: Callable[..., Operators], right: Self, *arguments: Any, allow_lookahead: bool,
                **options: Any) -> Self:
        raise TypeError(type(self))

    def _nary(self, build: Callable[..., Operators], *others: Self) -> Self:
        raise TypeError(type(self))

    def aggregate(self, /, *unnamed: Expr, emit: Literal["change", "close"] = "change",
                  fill: bool | Literal["previous"] | Mapping[str, Any] = False, fill_limit: int | None = None,
                  flush: Literal["close", "even"] = "close", **results: Expr) -> Self:
        """Reduce the events of each group to one row per snapshot.

        See :class:`whimbrel.operators.GroupAggregate`.

        Parameters
        ----------
        *unnamed
            Not allowed: each result needs a name.
        **results : Aggregate or Expr
            Result columns, such as ``n=wb.count(), late=wb.count().where(col.late) / wb.count()``.
        emit : {"change", "close"}
            "close" gives exactly one row for each window on a grid that is not empty, also if nothing changed from one
            window to the next. Sessions have their own option.
        fill : bool, "previous" or mapping of str to value
            Add rows for empty windows, from the first window of a group to the last window of the stream with a row.
            True uses the result of no rows (a count of 0, a null mean). "previous" uses the result of the group's last
            window with rows. A mapping gives other values for some columns.
        fill_limit : int, optional
            With "previous": fill so many windows after the last one with rows, at most. Later ones have the result of
            no rows.
        flush : {"close", "even"}
            "even" hands the groups of a finished tumbling window on little by little, while rows of the next one come.
            The rows and their order stay the same. The last row leaves when the next window ends. Use it where a
            million groups would otherwise leave in one step.
        """
        return self._unary(operators.aggregate, self.keys, self.node.properties, *unnamed, emit=emit, fill=fill,
                           fill_limit=fill_limit, flush=flush, **results)

    def distinct(self, *columns: str | Expr) -> Self:
        """Keep each distinct payload once per snapshot.

        See :class:`whimbrel.operators.GroupAggregate`.

        Every start and every end of an equal payload begins a new row, as in an aggregate; ``stitch()`` fuses them.

        Parameters
        ----------
        *columns : str or Expr
            What makes rows different, and what they keep; all columns by default. Keys of ``group_by`` are kept too.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [0, 3, 5], "x": [2, 2, 3]}, time="at")
        >>> events.tumbling_window(10).distinct("x").collect().to_pylist()
        [{'start': 0, 'end': 10, 'x': 2}, {'start': 0, 'end': 10, 'x': 3}]
        """
        return self._unary(operators.distinct, *columns, keys=self.keys)

    def epoch_aggregate(self, /, size: Duration, closing_when: Expr | bool, *, offset: Duration | None = None,
                        **results: Expr) -> Self:
        """Aggregate per epoch, and run on until a group closes.

        See :class:`whimbrel.operators.EpochAggregate`.

        Parameters
        ----------
        size : str, timedelta or int
            Duration of an epoch. Weeks (``"1w"``) begin on Mondays.
        closing_when : Expr or bool
            Whether a group closes at the end of an epoch, such as ``wb.count() == 0``. With False no group ever closes.
        offset : str, timedelta or int, optional
            Where epochs begin.
        **results : Aggregate or Expr
            Result columns. ``wb.running(wb.sum(col.x))`` is over all rows since the group opened.
        """
        return self._unary(operators.epoch_aggregate, self.keys, size, closing_when, offset=offset, **results)

    def pivot(self, *names: str | Expr, attribute: str, value: str, values: Sequence[Any], aggregate: Callable[[Any],
              Aggregate] | None = None) -> Self:
        """Turn attributes into columns. See :class:`whimbrel.operators.Pivot`.

        Parameters
        ----------
        *names : str or Expr
            Keys of the rows, in addition to those of ``group_by``.
        attribute, value : str
            Columns with the names and the values of attributes.
        values : sequence
            The attributes to make columns of, such as ``["speed", "height"]``.
        aggregate : callable, optional
            How to combine several values, such as ``wb.first`` or ``wb.mean``. Without it they are an error.
        """
        return self._unary(operators.pivot, *names, attribute=attribute, value=value, values=values,
                           aggregate=aggregate, keys=self.keys)

    def top_k(self, k: int, by: Condition | str | Sequence[Condition | str], *,
              descending: bool | Sequence[bool] = True, ties: bool = True, rank: str = "rank") -> Self:
        """Keep the k rows with the largest values, per group.

        There is a ranking for each snapshot. See :class:`whimbrel.operators.TopK`.

        Parameters
        ----------
        k : int
        by : Expr, callable or str, or a list
            The order of rows: an expression or the name of a column. The second orders rows with equal first values.
        descending : bool or list of bool
            False: the smallest instead. A list has a value for each of `by`.
        ties : bool
            Whether all rows of the last rank are kept, so that there may be more than k.
        rank : str
            The name of the column with the rank; without ties it is the number of the row, from 1.
        """
        return self._unary(operators.top_k, k, by, descending=descending, ties=ties, rank=rank, keys=self.keys)

    def asof_join(self, right: Self, *, on: On | None = None, tolerance: Duration | None = None,
                  direction: Direction = "backward", strict: bool = False, ties: Ties = "all",
                  nulls_equal: bool = False, suffix: str = "_right", allow_lookahead: bool = False) -> Self:
        """Join each event with the latest right event up to its start.

        See :class:`whimbrel.operators.AsofJoin`.

        Parameters
        ----------
        right : Stream
        on : str, list of str, or dict, optional
            Key columns; a dict pairs left names with right ones.
        tolerance : str, timedelta or int, optional
            Most time between the two starts.
        direction : {"backward", "forward", "nearest"}
            The latest right start up to the left one, the first from it on, or the nearer of the two.
        strict : bool
            True: an equal start does not match, so that an event gets the earlier value. Default: it matches.
        ties : {"all", "last"}
            Several right events of the nearest start give a row each, or only the one that arrived last does.
        nulls_equal : bool
            True: a null key matches a null key. By default it matches nothing, as in SQL.
        suffix : str
            Added to right columns whose name the left has too.
        allow_lookahead : bool
            Let one stream show values before they are known to the other one, as windows labelled at their start do.
        """
        return self._binary(operators.asof_join, right, on=on, tolerance=tolerance, direction=direction, strict=strict,
                            ties=ties, nulls_equal=nulls_equal, suffix=suffix, allow_lookahead=allow_lookahead)

    def clip_at(self, right: Self, on: On | None = None, *, nulls_equal: bool = False,
                allow_lookahead: bool = False) -> Self:
        """End each event at the first matching start of `right`. See :class:`whimbrel.operators.Clip`.

        Parameters
        ----------
        right : Stream
        on : str, list of str, or dict, optional
            Key columns; a dict pairs left names with right ones. None: every right start ends all left events.
        nulls_equal : bool
            True: a null key matches a null key. By default it matches nothing, as in SQL.
        allow_lookahead : bool
            Let one stream show values before they are known to the other one, as windows labelled at their start do.
        """
        return self._binary(operators.clip_at, right, on, nulls_equal=nulls_equal, allow_lookahead=allow_lookahead)

    def join(self, right: Self, on: On, *, how: How = "inner", where: Condition | None = None, suffix: str = "_right",
             nulls_equal: bool = False, allow_lookahead: bool = False) -> Self:
        """Pair events with equal keys and overlapping lifetimes.

        See :class:`whimbrel.operators.Join`.

        Parameters
        ----------
        right : Stream
        on : str, list of str, or dict
            Key columns; a dict pairs left names with right ones.
        how : {"inner", "left", "right", "full"}
            "left", "right" and "full" keep the parts of lifetimes without a partner, with nulls for the other side.
        where : Expr or callable, optional
            Join condition over the columns of the joined row, such as ``col.price < col.price_right``.
        suffix : str
            Added to right columns whose name the left has too.
        nulls_equal : bool
            True: a null key matches a null key. By default it matches nothing, as in SQL.
        allow_lookahead : bool
            Let one stream show values before they are known to the other one, as windows labelled at their start do.
        """
        return self._binary(operators.join, right, on, how=how, where=where, suffix=suffix, nulls_equal=nulls_equal,
                            allow_lookahead=allow_lookahead)

    def cross_join(self, right: Self, *, how: How = "inner", where: Condition | None = None, suffix: str = "_right",
                   allow_lookahead: bool = False) -> Self:
        """Pair all events that are active at the same time. See :class:`whimbrel.operators.Join`.

        Parameters
        ----------
        right : Stream
        how : {"inner", "left", "right", "full"}
            "left", "right" and "full" keep the parts of lifetimes without a partner, with nulls for the other side.
        where : Expr or callable, optional
            Only pairs for which this is true, over the columns of the joined row.
        suffix : str
            Added to right columns whose name the left has too.
        allow_lookahead : bool
            Let one stream show values before they are known to the other one, as windows labelled at their start do.
        """
        return self._binary(operators.cross_join, right, how=how, where=where, suffix=suffix,
                            allow_lookahead=allow_lookahead)

    def semi_join(self, right: Self, on: On, *, where: Condition | None = None, suffix: str = "_right",
                  nulls_equal: bool = False, allow_lookahead: bool = False) -> Self:
        """Keep the parts of events with a matching right event. See :class:`whimbrel.operators.SemiJoin`.

        Parameters
        ----------
        right : Stream
        on : str, list of str, or dict
            Key columns; a dict pairs left names with right ones.
        where : Expr or callable, optional
            Join condition over left and right columns, such as ``col.price < col.price_right``.
        suffix : str
            In `where`, added to right columns whose name the left has too.
        nulls_equal : bool
            True: a null key matches a null key. By default it matches nothing, as in SQL.
        allow_lookahead : bool
            Let one stream show values before they are known to the other one, as windows labelled at their start do.
        """
        return self._binary(operators.semi_join, right, on, where=where, suffix=suffix, nulls_equal=nulls_equal,
                            allow_lookahead=allow_lookahead)

    def anti_join(self, right: Self, on: On, *, where: Condition | None = None, suffix: str = "_right",
                  nulls_equal: bool = False, allow_lookahead: bool = False) -> Self:
        """Keep the parts of events without a matching right event. See :class:`whimbrel.operators.SemiJoin`.

        Parameters
        ----------
        right : Stream
        on : str, list of str, or dict
            Key columns; a dict pairs left names with right ones.
        where : Expr or callable, optional
            Join condition over left and right columns, such as ``col.price < col.price_right``.
        suffix : str
            In `where`, added to right columns whose name the left has too.
        nulls_equal : bool
            True: a null key matches a null key. By default it matches nothing, as in SQL.
        allow_lookahead : bool
            Let one stream show values before they are known to the other one, as windows labelled at their start do.
        """
        return self._binary(operators.anti_join, right, on, where=where, suffix=suffix, nulls_equal=nulls_equal,
                            allow_lookahead=allow_lookahead)

    def alter_lifetime(self, *, start: Moment | None = None, duration: Span | None = "same") -> Self:
        """Set the start of each event, its duration, or both. See :class:`whimbrel.operators.AlterLifetime`.

        Parameters
        ----------
        start : Expr, callable, int or datetime, optional
            Such as ``col.start + 5``; must keep the order of events.
        duration : Expr, callable, str, timedelta, int or None
            Such as ``"5m"`` or ``col.end - col.start``; None means no known end. ``"same"`` keeps the duration.
        """
        return self._unary(operators.alter_lifetime, start=start, duration=duration)

    def chop(self, period: Duration, *, offset: Duration | None = None) -> Self:
        """Cut each event at a grid of `period`. See :class:`whimbrel.operators.Chop`."""
        return self._unary(operators.chop, period, offset=offset)

    def clip_duration(self, longest: Duration) -> Self:
        """Limit the duration of events. See :class:`whimbrel.operators.ClipDuration`."""
        return self._unary(operators.clip_duration, longest)

    def edges(self) -> Self:
        """Turn events into start and end points. See :class:`whimbrel.operators.Edges`."""
        return self._unary(operators.edges)

    def extend(self, by: Duration) -> Self:
        """Move the end of each event, later or (negative) earlier. See :class:`whimbrel.operators.Extend`."""
        return self._unary(operators.extend, by)

    def point_at_end(self) -> Self:
        """Turn each event into a point at its end. See :class:`whimbrel.operators.PointAtEnd`."""
        return self._unary(operators.point_at_end)

    def retime(self, start: Expr) -> Self:
        """Make an ordered column or function of time the event time.

        See :class:`whimbrel.operators.Retime`.

        Parameters
        ----------
        start : Expr
            Such as ``(wb.start_time() + 30) // 60``, or ``col.seq`` after ``assume(increasing="seq")``. Of a decreasing
            column, its negative value.
        """
        return self._unary(operators.retime, start, known=self.node.properties)

    def set_duration(self, duration: Span | None) -> Self:
        """Set the duration of each event. See :class:`whimbrel.operators.SetDuration`.

        Parameters
        ----------
        duration : str, timedelta, int, Expr, callable or None
            An expression may read ``col.start`` and ``col.end``; an event with a duration that is not positive is
            dropped. None or null means no known end.
        """
        return self._unary(operators.set_duration, duration)

    def shift(self, amount: Span) -> Self:
        """Move each event by an amount, later or (negative) earlier. See :class:`whimbrel.operators.Shift`.

        Parameters
        ----------
        amount : str, timedelta, int, Expr or callable
            An expression must keep the order of events.
        """
        return self._unary(operators.shift, amount)

    def stitch(self) -> Self:
        """Fuse events with equal payloads that follow each other. See :class:`whimbrel.operators.Stitch`."""
        return self._unary(operators.stitch)

    def detect(self, pattern: Pattern, *, within: Duration | None, register: Beginning | None = None,
               skip: bool = False, overlapping: bool = True, greedy: bool = False,
               simultaneous: Simultaneous = "discard", output: Outputs | None = None, then: Absence | None = None,
               allow_lookahead: bool = False) -> Self:
        """Find consecutive events that match a pattern. See :class:`whimbrel.operators.Detect`.

        Parameters
        ----------
        pattern : Pattern
            Such as ``wb.sequence(first=col.x > 1, second=col.x < 1)``.
        within : str, timedelta, int or None
            A run that began at t accepts events before t + within. None means no limit: matches have no known end, and
            a run stays in the state until an event ends it.
        register : dict
            Initial registers of every run, by name: a value, or a pyarrow type for null. Events change them,
            ``wb.event(col.x > 1, total=wb.register.total + col.x)``, and conditions may read them.
        skip : bool
            True: an event that does not match is ignored, instead of ending the run.
        overlapping : bool
            False: no run starts at an event that moved another run. With `greedy`: no match begins within another one.
        greedy : bool
            True: each begin has at most one match, the one that SQL prefers.
        simultaneous : {"discard", "in_order"}
            "discard" skips events of one key at one time, and ends the runs of the key. "in_order" takes them in
            arrival order.
        output : dict
            Further columns of the result, over registers and columns of matched events: ``wb.first_of("first").x``.
        then : Absence
            ``wb.absent(within="10m")``: a match counts only if no event of its key follows it for so long.
            ``wb.absent(col.x > 1, within="10m")``: no such event. Results are points at the end of this time.
        allow_lookahead : bool
            Allow events with look-ahead, such as results of windows with ``label="start"``, among finer ones.
        """
        return self._unary(operators.detect, pattern, within=within, register=register, skip=skip,
                           overlapping=overlapping, greedy=greedy, simultaneous=simultaneous, output=output, then=then,
                           allow_lookahead=allow_lookahead, keys=self.keys, known=self.node.properties)

    def assume(self, *, duration: Duration | None = None, periodic: Duration | None = None, rate: Rate | None = None,
               phase: Instant | None = None, jitter: Duration | None = None, gaps: bool = False,
               non_overlapping: bool = False, start_edges: bool = False, per: str | Sequence[str] = (),
               increasing: str | Sequence[str] = (), decreasing: str | Sequence[str] = (),
               band: Duration | None = None, unit: TickUnit = None) -> Self:
        """Declare properties of a stream, and check them. See :class:`whimbrel.operators.Assume`.

        With `rate`, `phase`, `jitter` or `gaps`, each row is moved to the exact time of its sample. See
        :class:`whimbrel.operators.AlignSamples`. Columns keep the measured time.

        Parameters
        ----------
        duration : str, timedelta or int (ticks), optional
            Duration of every event.
        periodic : str, timedelta or int (ticks), optional
            Distance from one event to the next, without gaps and overlaps. Events with an end column (``end=``) may be
            shorter. Pass `duration`, too, and later operators run as a periodic loop.
        rate : int, float, str, Fraction or Decimal, optional
            Samples per second, instead of `periodic`. The period need not be a whole number of ticks: use a str such as
            ``"24000/1001"`` for a ratio.
        phase : str, datetime or int (ticks), optional
            Time of any sample. The default is the first row, of each key. With a phase, ranges of time run in parallel.
        jitter : str, timedelta or int (ticks), optional
            Most time between a row and its sample; less than half of the period. The default is one tick with `rate`.
        gaps : bool
            Samples may be missing.
        non_overlapping : bool
            No two events are active at one time.
        start_edges : bool
            No event ends.
        per : str or sequence of str
            Key columns: the properties are true for each key.
        increasing, decreasing : str or sequence of str
            Columns of integers or timestamps in an order. No value is smaller (decreasing: larger) than one of an event
            that started earlier. An event that contradicts the order is late, and the late policy of its source counts.
            See :class:`whimbrel.operators.AssumeOrder`.
        band : str, timedelta or int, optional
            So much a value of these columns may be against the order; an int is in units of the column.
        unit : {"s", "ms", "us", "ns"}, optional
            Unit of integer times; the stream then has times of that unit. Default with `rate`: the one that ends the
            name of the time column, such as ``t_us``.
        """
        return self._unary(operators.assume, duration=duration, periodic=periodic, rate=rate, phase=phase,
                           jitter=jitter, gaps=gaps, non_overlapping=non_overlapping, start_edges=start_edges, per=per,
                           increasing=increasing, decreasing=decreasing, band=band, unit=unit,
                           known=self.node.properties)

    def distinct_within(self, span: Duration, *, by: str | Expr | Sequence[str | Expr] = ()) -> Self:
        """Keep the first event of each id within a span. See :class:`whimbrel.operators.DistinctWithin`.

        Parameters
        ----------
        span : str, timedelta or int, > 0
            An event is dropped if one of its id that was kept started less than this before it.
        by : str, Expr or sequence of them
            The id, in addition to the keys of ``group_by``.
        """
        return self._unary(operators.distinct_within, span, by=by, keys=self.keys)

    def drop(self, *names: str) -> Self:
        """Drop columns, and keep all others. See :class:`whimbrel.operators.Select`.

        Examples
        --------
        >>> import whimbrel as wb
        >>> wb.from_arrow({"at": [1], "x": [10], "y": [5]}, time="at").drop("at", "y").schema.show()
        'x: int64'
        """
        return self._unary(operators.drop, *names)

    def explode(self, column: str, values: Sequence[Column] | Condition = (), *, times: int | Condition | None = None,
                split: str | None = None, item_type: ItemType | None = None) -> Self:
        """Give one row for each item of a list. See :class:`whimbrel.operators.Explode`.

        Parameters
        ----------
        column : str
            A list column; with `split` a string column; with `values` the column to make.
        values : sequence of Expr, Expr or callable, optional
            Give one row for each of these, or for each item of this list.
        times : int, Expr or callable, optional
            How many times the values are repeated: ``[col.x], times=col.n``.
        split : str, optional
            Such as ``","``.
        item_type : pyarrow.DataType, optional
            Type of the items of a Python function, if sample rows do not determine it.
        """
        return self._unary(operators.explode, column, values, times=times, split=split, item_type=item_type)

    def rename(self, /, mapping: Mapping[str, str] | None = None, **names: str | Col) -> Self:
        """Rename columns: ``new="old"``, or ``{"old": "new"}``. See :class:`whimbrel.operators.Select`.

        Their order stays.

        Examples
        --------
        >>> import whimbrel as wb
        >>> trades = wb.from_arrow({"at": [1], "x": [10]}, time="at")
        >>> trades.rename(price="x").schema.show()
        'at: int64, price: int64'
        >>> trades.rename({"x": "price"}).schema.show()
        'at: int64, price: int64'
        """
        return self._unary(operators.rename, mapping, **names)

    def sample(self, fraction: float, *columns: str | Expr, seed: int = 0) -> Self:
        """Keep the events of a fraction of all keys. See :class:`whimbrel.operators.SampleKeys`.

        Parameters
        ----------
        fraction : float
            From 0 (none) to 1 (all).
        *columns : str or Expr
            The key. Default: that of ``group_by``.
        seed : int
            Another seed gives another sample.
        """
        return self._unary(operators.sample, fraction, *columns, seed=seed, keys=self.keys)

    def select(self, /, *names: str | Expr, **columns: Column) -> Self:
        """Keep columns by name, and compute columns by keyword.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1], "x": [10]}, time="at")
        >>> events.select("x", double=wb.col.x * 2).schema.show()
        'x: int64, double: int64'
        """
        return self._unary(operators.select, *names, **columns)

    def with_columns(self, /, **columns: Column) -> Self:
        """Add columns, or replace columns of the same name.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1], "x": [10]}, time="at")
        >>> events.with_columns(double=wb.col.x * 2).schema.show()
        'at: int64, x: int64, double: int64'
        """
        return self._unary(operators.with_columns, **columns)

    def union(self, *others: Self) -> Self:
        """Merge this stream with others. See :class:`whimbrel.operators.Union`.

        Parameters
        ----------
        *others : Stream
            With the same columns.
        """
        return self._nary(operators.union, *others)

    def unnest(self, *names: str) -> Self:
        """Replace struct columns by their fields. See :class:`whimbrel.operators.Select`.

        Fields stand in place of their column. They are null where the struct is null.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [0, 1], "p": [{"x": 1, "y": 2}, None]}, time="at").select("p")
        >>> log.unnest("p").collect().to_pylist()
        [{'start': 0, 'end': 1, 'x': 1, 'y': 2}, {'start': 1, 'end': 2, 'x': None, 'y': None}]
        """
        return self._unary(operators.unnest, *names)

    def unpivot(self, *names: str, attribute: str = "attribute", value: str = "value") -> Self:
        """Turn columns that are not keys into rows.

        Each value gives one row. See :class:`whimbrel.operators.Unpivot`.

        Parameters
        ----------
        *names : str
            Columns to keep, in addition to those of ``group_by``.
        attribute, value : str
            Names of the columns for the name and the value of each column.
        """
        return self._unary(operators.unpivot, *names, attribute=attribute, value=value, keys=self.keys)

    def where(self, *conditions: Condition, cost: Cost | None = None) -> Self:
        """Keep events for which every condition is true; null counts as false.

        Parameters
        ----------
        *conditions : Expr or callable
            Such as ``col.x > 3`` or ``lambda e: e.x > 3``.
        cost : {"cheap", "expensive"}, optional
            What an evaluation costs. Default: Python functions and regular expressions are expensive. An expensive
            condition is evaluated last, on the rows that pass the cheap ones.
        """
        return self._unary(operators.where, *conditions, cost=cost)

    def above(self, value: Expr | Callable[[Any], Any], on: float, *, off: float | None = None, hold: int = 0,
              min: int = 1, pad: Duration = 0) -> Self:
        """Detect ranges above a threshold. See :class:`whimbrel.operators.DetectRanges`.

        Parameters
        ----------
        value : Expr or callable
            Numbers.
        on : float
            A range begins at a sample above this.
        off : float, optional
            A range lasts as long as samples are above this; at most `on`, which is the default.
        hold : int
            Most samples at or below `off` between two of a range.
        min : int
            Fewest samples of a range.
        pad : str, timedelta or int (ticks)
            Time to add before and after each range. Ranges that meet become one.
        """
        return self._unary(operators.above, value, on, off=off, hold=hold, min=min, pad=pad, keys=self.keys,
                           known=self.node.properties)

    def cfar(self, value: Expr | Callable[[Any], Any], *, deviations: float, forget: float = 0.999,
             startup: int = 300, hold: int = 0, min: int = 1, pad: Duration = 0,
             limit: Duration | None = None) -> Self:
        """Detect ranges far above the running mean. See :class:`whimbrel.operators.DetectRanges`.

        The threshold is the running mean plus some running standard deviations. It is frozen during a range.

        Parameters
        ----------
        value : Expr or callable
            Numbers.
        deviations : float
            Standard deviations above the mean at which a range begins.
        forget : float
            Weight of the mean and variance before a sample, from 0 to 1.
        startup : int
            Samples that the statistics need before the first range.
        hold : int
            Most samples below the threshold between two of a range.
        min : int
            Fewest samples of a range.
        pad : str, timedelta or int (ticks)
            Time to add before and after each range. Ranges that meet become one.
        limit : str, timedelta or int (ticks), optional
            Longest range before padding. After that the statistics begin again.
        """
        return self._unary(operators.cfar, value, deviations=deviations, forget=forget, startup=startup, hold=hold,
                           min=min, pad=pad, limit=limit, keys=self.keys, known=self.node.properties)

    def on_clock(self, right: Self, *, index: str, time: str, slew: float = 500, step: Duration | None = None,
                 allow_lookahead: bool = False) -> Self:
        """Give samples the times of a reference clock. See :class:`whimbrel.operators.OnClock`.

        Parameters
        ----------
        right : Stream
            Pairs of a sample's number and its time by the reference clock. Each acts on samples after it.
        index : str
            Column of pairs: the number of a sample, counted from sample 0.
        time : str
            Column of pairs: the time of that sample by the reference clock. A timestamp, or int64 in ticks.
        slew : int or float
            Parts per million by which times approach the line of the pairs at most.
        step : str, timedelta or int (ticks), optional
            A larger error is a gap, or an error where it goes back. By default every error is slewed.
        allow_lookahead : bool
            Let one stream show values before they are known to the other one, as windows labelled at their start do.
        """
        return self._binary(operators.on_clock, right, index=index, time=time, slew=slew, step=step,
                            allow_lookahead=allow_lookahead, known=self.node.properties)

    def process(self, step: Step, *, state: Any, gives: Mapping[str, Any], columns: Sequence[str] = ()) -> Self:
        """Run a function with a state over blocks of samples. See :class:`whimbrel.operators.ProcessBlocks`.

        Parameters
        ----------
        step : callable
            ``step(block, state)`` answers ``(block, state)``, with any NumPy code. A block is a dict of arrays.
        state : object
            The state at first: arrays, numbers, strings, None, and lists, tuples and dicts of these.
        gives : dict of str to type
            Names and types of the columns that the function gives.
        columns : sequence of str
            The columns that it gets. The default is all columns of numbers.
        """
        return self._unary(operators.process, step, state=state, gives=gives, columns=columns, keys=self.keys,
                           known=self.node.properties)

    def rewindow(self, size: int | None = None, hop: int | None = None, *, gaps: GapRule = "skip", fill: Any = None,
                 label: WindowLabel = "start", short: ShortRule = "drop", limit: int | None = None) -> Self:
        """Cut signals into windows of so many samples. See :class:`whimbrel.operators.Rewindow`.

        Parameters
        ----------
        size : int, optional
            Samples of a window. Without a size, windows are maximal runs of samples without a gap.
        hop : int, optional
            Samples from the start of one window to the next. Default: `size`. A smaller hop makes windows overlap.
        gaps : {"skip", "split", "fill"}
            "skip" leaves out windows that touch missing samples. "split" begins to count again after each gap. "fill"
            puts the values of `fill` there, and adds a column ``filled`` with how many of a window's samples those are.
        fill : number or mapping of str to number
            Values of missing samples, for all channels or by channel.
        label : {"start", "end"}
            "end" is causal: a window starts after its last sample, when it is known.
        short : {"drop", "keep"}
            "keep" gives a last window with fewer samples at the end of the signal, and with "split" before each gap.
        limit : int, optional
            Most samples of a window without a size.
        """
        return self._unary(operators.rewindow, size, hop, gaps=gaps, fill=fill, label=label, short=short, limit=limit,
                           keys=self.keys, known=self.node.properties)

    def samples(self) -> Self:
        """Turn segments into samples. See :class:`whimbrel.operators.SegmentSamples`."""
        return self._unary(operators.samples, keys=self.keys, known=self.node.properties)

    def sync(self, right: Self, *, before: Duration | None = None, after: Duration | None = None,
             limit: Duration | None = None, gaps: RangeGaps = "keep", allow_lookahead: bool = False) -> Self:
        """Take the samples of signals in the ranges of events. See :class:`whimbrel.operators.Sync`.

        Parameters
        ----------
        right : Stream
            Samples. If they have a key, each event takes those of its own.
        before : str, timedelta or int (ticks), optional
            How long a range begins before its event.
        after : str, timedelta or int (ticks), optional
            From the start of an event to the end of its range. By default the range ends with the event.
        limit : str, timedelta or int (ticks), optional
            Longest range; the rest is cut off. Events without an end need it.
        gaps : {"keep", "skip"}
            "keep" gives ranges with missing samples, "skip" leaves them out.
        allow_lookahead : bool
            Let one stream show values before they are known to the other one, as windows labelled at their start do.
        """
        return self._binary(operators.sync, right, before=before, after=after, limit=limit, gaps=gaps,
                            allow_lookahead=allow_lookahead, right_known=right.node.properties)

    def zip(self, right: Self, on: str | Sequence[str] | None = None, *, suffix: str = "_right",
            allow_lookahead: bool = False) -> Self:
        """Pair rows of equal lifetime and key. See :class:`whimbrel.operators.Zip`.

        Parameters
        ----------
        right : Stream
        on : str or list of str, optional
            Key columns of both. By default those of ``group_by``, or of the signals.
        suffix : str
            Added to right columns whose name the left has too.
        allow_lookahead : bool
            Let one stream show values before they are known to the other one, as windows labelled at their start do.
        """
        return self._binary(operators.zip, right, on, suffix=suffix, allow_lookahead=allow_lookahead, keys=self.keys,
                            known=self.node.properties, right_known=right.node.properties)

    def last_rows(self, rows: int) -> Self:
        """Keep the last `rows` events of each key active. See :class:`whimbrel.operators.LastRows`.

        Parameters
        ----------
        rows : int
            An event ends once so many others of its key have started strictly later. Events of one time stay together.
        """
        return self._unary(operators.last_rows, rows, keys=self.keys)

    def quantize(self, size: Duration, hop: Duration, *, offset: Duration | None = None) -> Self:
        """Round lifetimes to all windows that they overlap. See :class:`whimbrel.operators.Quantize`."""
        return self._unary(operators.quantize, size, hop, offset=offset)

    def progressive_window(self, size: Duration, hop: Duration, progress: Duration, *,
                           offset: Duration | None = None) -> Self:
        """Round lifetimes to windows with partial results, one every `progress`.

        See :class:`whimbrel.operators.Quantize`.
        """
        return self._unary(operators.progressive_window, size, hop, progress, offset=offset)

    def session_window(self, timeout: Duration, max_duration: Duration | None = None, *, emit: Emit = "change") -> Self:
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
        return self._unary(operators.session_window, timeout, max_duration, emit=emit, keys=self.keys)

    def tumbling_window(self, size: Duration | TradingCalendar | None, *, offset: Duration | None = None,
                        label: Label = "start", closed: Closed | None = None, timezone: str | None = None,
                        week_start: str = "monday") -> Self:
        """Round lifetimes to tumbling windows of `size`. See :class:`whimbrel.operators.HoppingWindow`.

        Parameters
        ----------
        size : str, timedelta, int, calendar or None, > 0
            Length of a window, or the windows of ``wb.calendar(sessions)``. None, or ``wb.WHOLE``, is one window for
            the whole log. ``"1d"``, ``"1w"``, ``"1mo"``, ``"1q"`` and ``"1y"`` are spans of the calendar. See
            :class:`whimbrel.operators.CalendarWindow`, :class:`~whimbrel.operators.TableWindow` and
            :class:`~whimbrel.operators.WholeWindow`.
        offset : str, timedelta or int
            Shifts the grid, which begins at the epoch; one whose hop is said in weeks (``"1w"``, not ``"7d"``) begins
            on `week_start`.
        label : {"start", "end"}
        closed : {"left", "right", "both", "none"}, optional
            Which borders belong to a window. With "both", an event on a border is in two windows. Default: "left", or
            "right" with ``label="end"``. See :class:`whimbrel.operators.ClosedWindow`.
        timezone : str, optional
            Where midnight is, for spans of the calendar. Default: the zone of the stream, or UTC. Other windows,
            such as hours, are counted in UTC and refuse it.
        week_start : {"monday", ..., "sunday"}
            The day on which windows in weeks begin.
        """
        return self._unary(operators.tumbling_window, size, offset=offset, label=label, closed=closed,
                           timezone=timezone, week_start=week_start)

    def hopping_window(self, size: Duration, hop: Duration, *, offset: Duration | None = None, label: Label = "start",
                       closed: Closed | None = None, timezone: str | None = None, week_start: str = "monday") -> Self:
        """Round lifetimes to windows of `size`, one every `hop`. See :class:`whimbrel.operators.HoppingWindow`.

        Parameters
        ----------
        size : str, timedelta or int, > 0
            Length of a window.
        hop : str, timedelta or int, > 0
            Time from one window to the next. Size and hop are spans of the calendar if both are in days, weeks, months,
            quarters or years.
        offset : str, timedelta or int
            Shifts the grid, which begins at the epoch; one whose hop is said in weeks (``"1w"``, not ``"7d"``) begins
            on `week_start`.
        label : {"start", "end"}
        closed : {"left", "right", "both", "none"}, optional
            Which borders belong to a window. With "both", an event on a border is in two windows. Default: "left", or
            "right" with ``label="end"``. See :class:`whimbrel.operators.ClosedWindow`.
        timezone : str, optional
            Where midnight is, for spans of the calendar. Default: the zone of the stream, or UTC. Other windows,
            such as hours, are counted in UTC and refuse it.
        week_start : {"monday", ..., "sunday"}
            The day on which a hop in weeks begins.
        """
        return self._unary(operators.hopping_window, size, hop, offset=offset, label=label, closed=closed,
                           timezone=timezone, week_start=week_start)

    def sliding_window(self, size: Duration, *, closed: Closed = "right", timezone: str | None = None) -> Self:
        """Set the duration of each event to `size`. See :class:`whimbrel.operators.SlidingWindow`.

        Parameters
        ----------
        size : str, timedelta or int, > 0
            How long an event stays active. Months, quarters and years (``"1mo"``, ``"1q"``, ``"1y"``) are spans of the
            calendar. See :class:`whimbrel.operators.CalendarSlidingWindow`.
        closed : {"left", "right", "both", "none"}
            Which borders belong to the window before a time. "right" has the events at that time, "left" those that are
            `size` old instead, "both" has both and "none" neither.
        timezone : str, optional
            The clock that months follow. Default: the zone of the stream, or UTC. Other sizes refuse it.
        """
        return self._unary(operators.sliding_window, size, closed=closed, timezone=timezone)
