"""Aggregate per epoch, with running aggregates until a group closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.clock import Duration, TickUnit, check_positive, duration_ticks, grid_offset, quote_ticks
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import Expr, Keys, Lit, Reduced, type_of
from whimbrel.expr.reductions import columns_in, reduced_in
from whimbrel.kernels import Kernel
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.operators.aggregation.aggregate_arguments import check_results
from whimbrel.operators.aggregation.epoch_kernel import EpochAggregateKernel
from whimbrel.operators.aggregation.result_expressions import Results, Running, WindowBound, distinct_aggregates
from whimbrel.plan import Aggregate, NonOverlapping, Operator, Properties, fluent

_UNCLOSED = "no group closes: it keeps a state for each key, and gives a row for each in every epoch"


@dataclass(frozen=True, kw_only=True, eq=False)
class EpochAggregate(Operator):
    """Aggregate per epoch, and run on until a group closes.

    An epoch is a tumbling window. A group opens with its first row. At the end of each epoch it gives one row, also
    if the epoch had no rows of the group. Ordinary aggregates are over the rows of the epoch. Running aggregates are
    over all rows since the group opened. A group for which `closing` is true then closes, and its next row opens
    another.

        time     0    5    10   15   20
        in       2─3────────────4──         (points at 0, 2, 15)
        out      5────5────5────4────       (size 5: a running sum that closes when an epoch has no rows,
                                             so [0, 5), [5, 10) and, of another group, [15, 20))

    Epochs end with the last epoch of the stream that has a row of any group. An epoch without rows gives its results
    when a later row is there, never because time passed.

    Parameters
    ----------
    size : int, > 0
        Ticks of an epoch.
    offset : int
        Epochs begin at ``offset + k * size``.
    aggregates : GroupAggregate
        The keys and all aggregates, each named as it shows.
    running : frozenset of str
        Names of those that run on.
    closing : Expr
        Whether a group closes at the end of an epoch, over its keys and its aggregates. Null counts as false.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    The input duration is ignored. Shapes: a row for each open group and epoch. State: the states of open groups, and
    an entry for each key. Source: running aggregates of Tigon SQL; ADR 6 for the windows.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 2, 15, 31], "ip": ["a", "a", "a", "b"], "x": [2, 3, 4, 5]}, time="at")
    >>> totals = log.group_by("ip").epoch_aggregate(5, wb.count() == 0, n=wb.count(), total=wb.running(wb.sum(col.x)))
    >>> for row in totals.collect().to_pylist():
    ...     print(row)
    {'start': 0, 'end': 5, 'ip': 'a', 'n': 2, 'total': 5}
    {'start': 5, 'end': 10, 'ip': 'a', 'n': 0, 'total': 5}
    {'start': 15, 'end': 20, 'ip': 'a', 'n': 1, 'total': 4}
    {'start': 20, 'end': 25, 'ip': 'a', 'n': 0, 'total': 4}
    {'start': 30, 'end': 35, 'ip': 'b', 'n': 1, 'total': 5}
    """

    ends_grouping: ClassVar[bool] = True
    accepts_edges: ClassVar[bool] = True

    size: int
    offset: int = 0
    aggregates: GroupAggregate
    running: frozenset[str] = frozenset()
    closing: Expr
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        check_positive(self.unit, where=self.show(), size=self.size)
        schema = self.aggregates.schema(*upstream)
        truth = type_of(self.closing, self.seen(schema), where=self.show())
        if not pa.types.is_boolean(truth):
            raise ExpressionError(f"closing_when must be boolean, got {self.closing.show()} of type {truth}.",
                                  where=self.show(), hint="Compare it with a value, such as wb.count() == 0.")
        return schema

    def seen(self, schema: Schema) -> Schema:
        """Schema of what `closing` reads: results and bounds."""
        bounds = [Field(WindowBound(which).show(), schema.time_type) for which in ("start", "end")]
        return schema.with_fields([*schema.fields, *bounds], where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        keys = frozenset(name for name, _ in self.aggregates.keys)
        return Properties(duration=self.size, causal=False, apart=NonOverlapping(keys))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return self.aggregates.requires(wanted, *upstream)

    def notes(self, *upstream: Schema) -> Sequence[str]:
        notes = list(self.aggregates.notes(*upstream))
        return [*notes, _UNCLOSED] if isinstance(self.closing, Lit) and not self.closing.value else notes

    def kernel(self, *upstream: Schema) -> Kernel:
        rows, = upstream
        return EpochAggregateKernel(self.aggregates, self.running, self.closing, rows, self.seen(self.schema(rows)),
                                    self.size, self.offset, self.show())

    def grouping_keys(self) -> Keys:
        return self.aggregates.keys

    def show(self) -> str:
        shown = ", ".join(f"running({each.show()})" if name in self.running else each.show()
                          for name, each in self.aggregates.measures)
        keys = f"group_by({', '.join(name for name, _ in self.aggregates.keys)})." if self.aggregates.keys else ""
        return (f"{keys}epoch_aggregate({quote_ticks(self.size, self.unit)}, closing_when={self.closing.show()}, "
                f"{shown})")


@fluent
def epoch_aggregate(schema: Schema, keys: Keys, /, size: Duration, closing_when: Expr | bool, *,
                    offset: Duration | None = None, **results: Expr) -> Sequence[Operator]:
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
    where = f"epoch_aggregate({size!r}, ...)"
    closing = Lit(closing_when) if isinstance(closing_when, bool) else closing_when
    if not isinstance(closing, Expr):
        raise PlanError(f"closing_when must be a condition, got {closing_when!r}.", where=where,
                        hint="Use a condition of aggregates, such as wb.count() == 0, or False.")
    names = [name for name, _ in keys]
    check_results(results, names, schema, "epoch_aggregate")
    for column in columns_in(closing):
        if column not in names:
            raise PlanError(f"closing_when must read keys and aggregates, got col.{column}.", where=where,
                            hint=f"Aggregate it, such as wb.any(col.{column}).")
    parts: dict[str, Reduced] = {part.show(): part for expr in (*results.values(), closing)
                                 for part in reduced_in(expr)}
    plain = distinct_aggregates([part for part in parts.values() if isinstance(part, Aggregate)])
    running = distinct_aggregates([part.of for part in parts.values() if isinstance(part, Running)])
    on = tuple((Running(each).show(), each) for _, each in running)
    ticks = duration_ticks(size, schema.unit, where=where)
    begin = grid_offset(size, schema.unit, offset, where=where)
    epochs = EpochAggregate(size=ticks, offset=begin % ticks if ticks > 0 else 0, closing=closing, unit=schema.unit,
                            aggregates=GroupAggregate(keys=keys, measures=(*plain, *on)),
                            running=frozenset(name for name, _ in on))
    return [epochs, Results(keys=tuple(names), columns=tuple(results.items()), bounds=(0, ticks))]

