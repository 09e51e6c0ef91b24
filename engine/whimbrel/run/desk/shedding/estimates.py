"""Estimates of queries that shed rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from whimbrel.aggregates.count import Count
from whimbrel.aggregates.mean import Mean
from whimbrel.aggregates.sum import Sum
from whimbrel.batch import Batch, Field, Schema
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, When, evaluate, type_of, when
from whimbrel.expr.build import greatest
from whimbrel.expr.columns import children, with_children
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators import Fill, GroupAggregate, Results, Select, SessionWindow
from whimbrel.plan import Aggregate, Node, Operator, Source, structure
from whimbrel.run.desk.desk_sources import NamedRows
from whimbrel.run.desk.shedding.arrival_sample import ArrivalSample
from whimbrel.run.desk.shedding.shed import Shed
from whimbrel.run.desk.shedding.weighted_sample import WEIGHT, WeightedSample

_ROUNDING = 1e-14
"""Of a variance of a mean: relative to its largest term, which others may cancel."""


def estimated(plan: Node, rule: Shed, where: str) -> Node:
    """The plan over rows that are shed.

    The counts, sums and means of its first aggregate are scaled. Each has two columns more: the bounds of its interval.
    Where no row was dropped, its value is that of the plan and the bounds are equal to it. Later steps that keep such a
    column keep its bounds, too.

    Raises
    ------
    PlanError
        For a plan whose results cannot be scaled. The error says why.
    """
    chain = [plan]
    while len(chain[-1].inputs) == 1:
        chain.append(chain[-1].inputs[0])
    chain.reverse()
    first = next((at for at, node in enumerate(chain) if isinstance(node.op, GroupAggregate)), 0)
    why = _why_not(chain, first, rule)
    if why is not None:
        raise PlanError(f"This query cannot shed rows: {why}.", where=where,
                        hint="Shed in a query of counts, sums and means over windows.")
    sample = ArrivalSample if rule.time == "arrival" else WeightedSample
    unit = "ns" if rule.time == "arrival" else chain[0].schema.unit
    made = Node(sample(rows=rule.rows, per_ticks=rule.per_ticks(unit), seed=rule.seed, unit=unit), (chain[0],))
    for node in chain[1:first]:
        op = node.op
        if isinstance(op, Select):
            op = replace(op, columns=(*op.columns, (WEIGHT, Col(WEIGHT))))
        made = Node(op, (made,), node.calls)
    assert WEIGHT in made.schema
    aggregate = chain[first].op
    assert isinstance(aggregate, GroupAggregate)
    sums: dict[str, tuple[str, Aggregate]] = {}
    scaled = [_Scaled(name, each, chain[first].inputs[0], rule.deviations, sums) for name, each in aggregate.measures]
    made = Node(replace(aggregate, measures=(*aggregate.measures, *sums.values())), (made,), chain[first].calls)
    keys = tuple((name, Col(name)) for name, _ in aggregate.keys)
    values = tuple(column for each in scaled for column in each.columns)
    made = Node(Estimates(columns=_distinct((*keys, *values), where), confidence=rule.confidence), (made,))
    for node in chain[first + 1:]:
        made = Node(_with_bounds(node.op, made, where), (made,), node.calls)
    made.facts.update(plan.facts)
    return made


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates(Select):
    """Compute estimates and the bounds of their intervals from sums over weighted rows."""

    confidence: float

    def kernel(self, *upstream: Schema) -> Kernel:
        return EstimatesKernel([expr for _, expr in self.columns], self.schema(*upstream))

    def show(self) -> str:
        return f"estimates with bounds of {self.confidence:.4g}: {', '.join(name for name, _ in self.columns)}"


class EstimatesKernel(Stateless):
    """Evaluates columns, and once what they have in common. Windows of few groups cost as much as there are parts."""

    def __init__(self, columns: Sequence[Expr], schema: Schema) -> None:
        self.schema = schema
        self.common, self.exprs = _with_common_parts(columns)

    def apply(self, batch: Batch) -> Batch:
        for name, expr in self.common:
            column = evaluate(expr, batch)
            schema = replace(batch.schema, fields=(*batch.schema.fields, Field(name, column.type)))
            batch = batch.computed(schema, (*batch.columns, column))
        return batch.computed(self.schema, tuple([evaluate(expr, batch, self.storage) for expr in self.exprs]))


def _with_common_parts(columns: Sequence[Expr]) -> tuple[list[tuple[str, Expr]], list[Expr]]:
    """What columns have in common, by name and in the order of computation; and the columns over it."""
    uses = Counter[Hashable]()
    names: dict[Hashable, Col] = {}
    common: list[tuple[str, Expr]] = []

    def count(expr: Expr) -> None:
        if parts := children(expr):
            uses[structure(expr)] += 1
            if uses[structure(expr)] == 1:
                for part in parts:
                    count(part)

    def over_common(expr: Expr) -> Expr:
        if not (parts := children(expr)):
            return expr
        key = structure(expr)
        if key not in names:
            expr = with_children(expr, tuple(map(over_common, parts)))
            if uses[key] == 1:
                return expr
            names[key] = Col(f"common.{len(common)}")
            common.append((names[key].name, expr))
        return names[key]

    for column in columns:
        count(column)
    return common, [over_common(column) for column in columns]


def _why_not(chain: list[Node], first: int, rule: Shed) -> str | None:
    """Why a chain of steps cannot be scaled, in words; `first` is the position of its first aggregate."""
    if not isinstance(chain[0].op, Source):
        return "it reads more than one stream"
    if rule.time == "arrival" and isinstance(chain[0].op, NamedRows) and chain[0].op.of is None:
        return f"results of the query {chain[0].op.name!r} have no arrival time"
    if not first:
        return "it has no aggregate, and single rows are not scaled"
    for node in chain[1:first]:
        op = node.op
        assert not isinstance(op, Source)
        if isinstance(op, SessionWindow):
            return f"{op.show()} ends where rows are missing, and so it would after dropped rows"
        if not op.row_by_row:
            return f"{op.show()} comes before its aggregate, and its rows are made of several ones"
    if chain[first].inputs[0].properties.instants:
        return "its aggregate has no window, and an aggregate of one tick has hardly a row that is kept"
    filled = next((node.op for node in chain[first:] if isinstance(node.op, Fill)), None)
    if filled is not None:
        return "fill= adds rows for windows whose rows may all have been dropped"
    aggregate = chain[first].op
    assert isinstance(aggregate, GroupAggregate)
    if not aggregate.measures:
        return "values of which no row is kept are missing in distinct()"
    return next((why for _, each in aggregate.measures
                 if (why := _no_estimate(each, chain[first].inputs[0])) is not None), None)


def _no_estimate(each: Aggregate, rows: Node) -> str | None:
    if not isinstance(each, Count | Sum | Mean):
        return f"{each.show()} of a sample is no estimate"
    if isinstance(each, Count) or each.expr is None:
        return None
    type_ = type_of(each.expr, rows.schema)
    if each.options or not (pa.types.is_integer(type_) or pa.types.is_floating(type_)):
        return f"{each.show()} is estimated for integers and floats only"
    return None


Columns = list[tuple[str, Expr]]


class _Scaled:
    """The estimate of an aggregate with its bounds, and the sums from which they are computed.

    Parameters
    ----------
    name : str
    each : Aggregate
    rows : Node
        What is aggregated.
    deviations : float
        Half the width of an interval.
    sums : dict of str to (str, Aggregate)
        By their text, the columns of sums that there are already. They are over the rows with a weight above 1, so that
        all are 0 where nothing was dropped.

    Attributes
    ----------
    columns : list of (str, Expr)
        The estimate, and the bounds of its interval.
    """

    def __init__(self, name: str, each: Aggregate, rows: Node, deviations: float,
                 sums: dict[str, tuple[str, Aggregate]]) -> None:
        self.name, self.each, self.deviations, self._sums = name, each, deviations, sums
        self._value = None if each.expr is None or isinstance(each, Count) else each.expr
        self._is_whole = self._value is None or pa.types.is_integer(type_of(self._value, rows.schema))
        estimate, low, high = self._of_mean() if isinstance(each, Mean) else self._of_total()
        self.columns: Columns = [(name, estimate), (f"{name}_low", low), (f"{name}_high", high)]

    def _sum(self, of: Expr) -> Expr:
        """The column with a sum over the rows that stand for others, too."""
        counted = _WEIGHT > 1.0
        for more in (None if self.each.expr is None else self.each.expr.is_not_null(), self.each.condition):
            counted = counted if more is None else more & counted
        return self._column(Sum(expr=of, condition=counted))

    def _column(self, aggregate: Aggregate) -> Expr:
        column, _ = self._sums.setdefault(aggregate.show(), (f"shed.{len(self._sums)}", aggregate))
        return Col(column)

    def _count(self) -> Expr:
        """The column with the number of values that were kept."""
        return self._column(Count(expr=self.each.expr, condition=self.each.condition))

    def _for_few(self, others: Expr) -> Expr:
        """How much wider an interval of few values is: the quantile of Student, to the first order."""
        return 1.0 + (self.deviations**2 + 1.0) / (others * 4)

    def _of_total(self) -> tuple[Expr, Expr, Expr]:
        """A count or a sum: that of the kept rows, and what they stand for besides."""
        extra, square, value = _WEIGHT - 1.0, _WEIGHT * (_WEIGHT - 1.0), self._value
        if value is not None:
            extra, square = extra * value, square * value * value
        extra, variance = self._sum(extra), self._sum(square)
        kept = Col(self.name)
        total = kept + extra
        if isinstance(self.each, Count):  # a score interval: the variance of a count is known from its mean
            shift = when(variance > 0.0).then(variance / total).otherwise(0.0) * (self.deviations**2 / 2)
            half = (variance * self.deviations**2 + shift * shift).sqrt()
            low, high = greatest(total + shift - half, kept.cast("float64")), total + shift + half
        else:
            half = variance.sqrt() * self.deviations * self._for_few(greatest(self._count() - 1, 1))
            low, high = total - half, total + half
        return kept + extra.round().cast("int64") if self._is_whole else total, low, high

    def _of_mean(self) -> tuple[Expr, Expr, Expr]:
        """A mean: a ratio of two estimates, with the variance of its linear approximation."""
        assert self._value is not None
        value, square = self._value, _WEIGHT * (_WEIGHT - 1.0)
        count = self._count()
        rows = count + self._sum(_WEIGHT - 1.0)
        mean = (Col(self.name) * count + self._sum((_WEIGHT - 1.0) * value)) / rows
        squares = [self._sum(square), self._sum(square * value), self._sum(square * value * value)]
        spread = squares[2] - mean * 2.0 * squares[1] + mean * mean * squares[0]
        others = when(count > 1).then(count - 1).otherwise(None)  # one row says nothing of the spread
        spread = greatest(spread, squares[2] * _ROUNDING) * count / others
        half = spread.sqrt() * self.deviations * self._for_few(others) / rows
        estimate, low, high = (when(squares[0] > 0.0).then(each).otherwise(Col(self.name))
                               for each in (mean, mean - half, mean + half))
        return estimate, low, high


_WEIGHT = Col(WEIGHT)


def _with_bounds(op: Operator | Source, below: Node, where: str) -> Operator | Source:
    """A later step, which keeps the bounds of the columns that it keeps."""
    if not isinstance(op, Select | Results):
        return op
    bounds: Columns = []
    for name, expr in op.columns:
        value, condition = expr, None
        if isinstance(expr, When) and isinstance(expr.then, Aggregate):  # SQL: no sum without values
            value, condition = expr.then, expr.condition
        read = value.name if isinstance(value, Col) else value.show() if isinstance(value, Aggregate) else ""
        for bound in ("low", "high"):
            if f"{read}_{bound}" in below.schema:
                kept: Expr = Col(f"{read}_{bound}")
                kept = kept if condition is None else when(condition).then(kept).otherwise(None)
                bounds.append((f"{name}_{bound}", kept))
    return replace(op, columns=_distinct((*op.columns, *bounds), where))


def _distinct(columns: tuple[tuple[str, Expr], ...], where: str) -> tuple[tuple[str, Expr], ...]:
    names = [name for name, _ in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlanError(f"The bounds of an estimate would be a second column {twice!r}.", where=where,
                        hint="Give that result another name.")
    return columns
