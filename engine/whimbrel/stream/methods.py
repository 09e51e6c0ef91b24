"""The methods that operators give to streams. Generated: change the operator's file, then `make generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel import operators

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from whimbrel.clock import Duration
    from whimbrel.expr import Column, Condition, Expr, Keys
    from whimbrel.operators import Beginning, Label, Outputs, Pattern, Simultaneous
    from whimbrel.plan import Aggregate, Operator
    from whimbrel.stream.stream import Stream


class Methods:
    """What every stream can do; :mod:`whimbrel.operators` says what each method means."""

    keys: Keys

    def _unary(self, build: Callable[..., Operator], *arguments: Any, **options: Any) -> Stream:
        raise TypeError(type(self))

    def _binary(self, build: Callable[..., Operator], right: Stream, *arguments: Any, **options: Any) -> Stream:
        raise TypeError(type(self))

    def aggregate(self, **aggregates: Aggregate) -> Stream:
        """Reduce each group's active events to one row per snapshot. See :class:`whimbrel.operators.GroupAggregate`.

        Parameters
        ----------
        **aggregates : Aggregate
            Result columns, such as ``n=wb.count(), total=wb.sum(col.x)``.
        """
        return self._unary(operators.aggregate, keys=self.keys, **aggregates)

    def detect(self, pattern: Pattern, *, within: Duration, register: Beginning | None = None, skip: bool = False,
               overlapping: bool = True, simultaneous: Simultaneous = "discard",
               output: Outputs | None = None) -> Stream:
        """Find consecutive events that match a pattern. See :class:`whimbrel.operators.Detect`.

        Parameters
        ----------
        pattern : Pattern
            Such as ``wb.sequence(first=col.x > 1, second=col.x < 1)``.
        within : str, timedelta or int
            A run that began at t accepts events before t + within.
        register : dict
            What every run remembers at its begin, by name: a value, or a pyarrow type for null. Events change it,
            ``wb.event(col.x > 1, total=wb.register.total + col.x)``, and conditions may read it.
        skip : bool
            Others may lie in between: an event that fits nowhere in a run is ignored instead of ending it.
        overlapping : bool
            False: no run begins at an event that moved another one on.
        simultaneous : {"discard", "in_order"}
            Events of one key at one time are passed over and end the key's runs; or you declare that there are none,
            and if there are, they are taken in the order in which they came.
        output : dict
            Further columns of the result, over registers and columns of matched events: ``wb.first_of("first").x``.
        """
        return self._unary(operators.detect, pattern, within=within, register=register, skip=skip,
                           overlapping=overlapping, simultaneous=simultaneous, output=output, keys=self.keys)

    def join(self, right: Stream, on: str | Sequence[str] | Mapping[str, str], *, suffix: str = "_right") -> Stream:
        """Pair events that have equal keys and are active at the same time. See :class:`whimbrel.operators.Join`.

        Parameters
        ----------
        right : Stream
        on : str, list of str, or dict
            Key columns; a dict pairs left names with right ones.
        suffix : str
            Added to right columns whose name the left has too.
        """
        return self._binary(operators.join, right, on, suffix=suffix)

    def select(self, *names: str | Expr, **columns: Column) -> Stream:
        """Only these columns: names to keep, keywords to compute.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1], "x": [10]}, time="at")
        >>> events.select("x", double=wb.col.x * 2).schema.show()
        'x: int64, double: int64'
        """
        return self._unary(operators.select, *names, **columns)

    def with_columns(self, **columns: Column) -> Stream:
        """All columns, and these beside or instead of them.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1], "x": [10]}, time="at")
        >>> events.with_columns(double=wb.col.x * 2).schema.show()
        'at: int64, x: int64, double: int64'
        """
        return self._unary(operators.with_columns, **columns)

    def where(self, *conditions: Condition) -> Stream:
        """Keep events for which every condition is true; null counts as false.

        Parameters
        ----------
        *conditions : Expr or callable
            Such as ``col.x > 3`` or ``lambda e: e.x > 3``.
        """
        return self._unary(operators.where, *conditions)

    def tumbling_window(self, size: Duration, *, offset: Duration = 0, label: Label = "start") -> Stream:
        """Round lifetimes to adjacent windows of `size`. See :class:`whimbrel.operators.HoppingWindow`."""
        return self._unary(operators.tumbling_window, size, offset=offset, label=label)

    def hopping_window(self, size: Duration, hop: Duration, *, offset: Duration = 0, label: Label = "start") -> Stream:
        """Round lifetimes to windows of `size`, one every `hop`. See :class:`whimbrel.operators.HoppingWindow`."""
        return self._unary(operators.hopping_window, size, hop, offset=offset, label=label)

    def sliding_window(self, size: Duration) -> Stream:
        """Let each event last `size` from its start. See :class:`whimbrel.operators.SlidingWindow`."""
        return self._unary(operators.sliding_window, size)
