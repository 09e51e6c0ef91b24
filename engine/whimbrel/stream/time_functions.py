"""Methods of streams that are functions of time."""

from __future__ import annotations

from typing import Any, Self

from whimbrel.clock import Duration, Instant, Rate
from whimbrel.expr import Column, Keys, named_columns
from whimbrel.plan import Node
from whimbrel.stream.functions_of_time import ResampleMethod, between, hold, over_time, resample
from whimbrel.stream.grouping import columns_of_keys


class FunctionsOfTime:
    """Hold and sample events, and evaluate functions of time."""

    node: Node
    keys: Keys
    group: tuple[str, ...]

    def _with(self, node: Node, keys: Keys, name: str, *arguments: Any, **options: Any) -> Self:
        raise TypeError(type(self))

    def over_time(self, *, every: Duration | None = None, **columns: Column) -> Self:
        """Make a stream of functions of time.

        There is a new event wherever a value changes. Temporal parts such as ``wb.mean(col.px).past("20m")`` are there
        as long as their windows are not empty. In ``select`` they are taken when events start only. After ``group_by``
        the result is grouped, too, and has the keys as columns.

        Parameters
        ----------
        every : str, timedelta or int (ticks), optional
            Give the values at multiples of this duration only, each until the next one.
        **columns : Expr or callable

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> prices = wb.from_arrow({"at": [0, 3], "px": [10, 20]}, time="at").select("px")
        >>> prices.over_time(top=wb.max(col.px).past(5)).collect().to_pylist()
        [{'start': 0, 'end': 3, 'top': 10}, {'start': 3, 'end': 5, 'top': 20}, {'start': 5, 'end': 8, 'top': 20}]
        """
        named = named_columns("over_time", (), columns, self.node.schema.names)
        node = over_time(self.node, self.keys, named, every)
        names = tuple(name for name, _ in self.keys)
        return self._with(node, columns_of_keys(names), "over_time", every=every, **columns)

    def hold(self, limit: Duration | None = None) -> Self:
        """Extend each event until the next one starts.

        After ``group_by`` that is the next one of its key.

        Parameters
        ----------
        limit : str, timedelta or int (ticks), optional
            Longest duration. Without one, the end of the newest event is unknown until the next one comes.

        Examples
        --------
        >>> import whimbrel as wb
        >>> levels = wb.from_arrow({"at": [0, 3, 20], "v": [1, 2, 3]}, time="at").select("v")
        >>> levels.hold(limit=10).collect().to_pylist()
        [{'start': 0, 'end': 3, 'v': 1}, {'start': 3, 'end': 13, 'v': 2}, {'start': 20, 'end': 30, 'v': 3}]
        """
        names = tuple(name for name, _ in self.keys)
        return self._with(hold(self.node, self.keys, limit), columns_of_keys(names), "hold", limit=limit)

    def resample(self, period: Duration | Rate, *, how: ResampleMethod = "polyphase", limit: Duration | None = None,
                 offset: Duration | None = None) -> Self:
        """Give one event at each multiple of a period.

        Each event is as long as the period.

        Events are samples at their starts. After ``group_by`` each key has samples of its own; rows without a key are
        left out. See :class:`whimbrel.operators.Resample`.

        Parameters
        ----------
        period : str, timedelta or int (ticks)
            With "polyphase" a number is a rate, in samples per second, if times have a unit.
        how : {"polyphase", "hold", "linear", "nearest", "mean"}
            "polyphase" filters samples, as ``assume(rate=...)`` declares them, and keeps the time of sample 0. See
            :class:`whimbrel.operators.PolyphaseResample`. The others read the samples around each multiple.
            "hold" is the last sample, "nearest" the nearer one (the earlier one of two). "linear" is on the line
            between the two samples; what is no number has the value of the last one. "mean" is the mean of the samples
            in ``[t, t + period)``, for numbers only. There is no event where there is no sample, and it takes no limit.
        limit : str, timedelta or int (ticks), optional
            Most time from a sample to a value; with "linear", between two samples: farther apart, values are null. A
            stream with a feed needs a limit. Without one, events go from the first to the last sample of each key.
        offset : str, timedelta or int (ticks), optional
            Shifts the multiples. They begin at the epoch, and those of weeks on a Monday.

        Examples
        --------
        >>> import whimbrel as wb
        >>> signal = wb.from_arrow({"at": [0, 4, 12], "x": [0.0, 8.0, 24.0]}, time="at").select("x")
        >>> signal.resample(3, how="linear", limit=8).collect().select(["start", "x"]).to_pylist()
        [{'start': 0, 'x': 0.0}, {'start': 3, 'x': 6.0}, {'start': 6, 'x': 12.0}, {'start': 9, 'x': 18.0},
         {'start': 12, 'x': 24.0}, {'start': 15, 'x': None}, {'start': 18, 'x': None}]
        """
        names = tuple(name for name, _ in self.keys)
        return self._with(resample(self.node, self.keys, period, how, limit, offset), columns_of_keys(names),
                          "resample", period, how=how, limit=limit, offset=offset)

    def between(self, start: Instant, end: Instant, *, every: Duration | None = None) -> Self:
        """Keep the events that are active in a range.

        Nothing else is computed.

        Lifetimes do not change. Of sources in the order of time, only rows on which the range depends are read;
        ``explain()`` shows how many. See :class:`whimbrel.operators.Between`.

        Parameters
        ----------
        start, end : str, datetime or int (ticks)
            The range ``[start, end)``. A time of day, ``"00:00"`` to ``"24:00"``, is of the only day of the log.
        every : str, timedelta or int (ticks), optional
            Give what is active at multiples of this duration in the range instead, each until the next one.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> log = wb.from_arrow({"at": range(1000), "x": range(1000)}, time="at").select("x")
        >>> means = log.select(m=wb.mean(col.x).past(100))
        >>> means.between(500, 502).collect()["m"].to_pylist()
        [450.5, 451.5]
        >>> means.between(500, 900, every=200).collect().to_pylist()
        [{'start': 600, 'end': 800, 'm': 550.5}, {'start': 800, 'end': 1000, 'm': 750.5}]
        """
        return self._with(between(self.node, start, end, every), self.keys, "between", start, end, every=every)
