"""Scale values of windows for late rows, with bounds (Bernstein).

The bounds come from a model of lateness.

The model gives the fraction m of a window's rows that is missing on average, and its upper bound M, at every age
simultaneously (:class:`~whimbrel.disorder.late_fraction_model.MissingFractions`). Late rows are assumed to resemble
those that came: within a group, and by what a row adds to a value, each row is missing with the same probability.

Let an amount A be a sum of numbers from 0 to b whose squares add up to Q. What is missing of it is above
``m A + sqrt(2 m Q L) + b L / 3`` with probability at most ``exp(-L)`` (Bernstein; Hoeffding 1963 for draws without
replacement). What is missing can only become less. It is therefore enough that the bound is valid when M falls below
each of the powers of 2 / 3, which share alpha. Then it is valid between them, too, at every update. The rows that came
are a sample without replacement for a mean: :mod:`~whimbrel.progressive.intervals.confidence_sequence`.

Squares and the largest number are those of the rows that came. If the largest makes too much of the squares, a missing
one may be larger still, and there is no interval. The limit is that of sampled blocks: ``2 Q / b**2`` is at most the
number of degrees of freedom that the fourth moment leaves the squares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel.aggregates import Count, CountDistinct, Max, Mean, Min, Sum, SumOfSquares
from whimbrel.batch import Column, elapsed
from whimbrel.disorder import Arrived, MissingFractions
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, type_of
from whimbrel.operators import GroupAggregate, Results, TopK, Where
from whimbrel.plan import Aggregate, Node, Operator, Source
from whimbrel.progressive.intervals.confidence_sequence import boundary
from whimbrel.progressive.plan.query_split import SplitQuery, split_query
from whimbrel.progressive.sample_thresholds import MIN_DEGREES

Array = np.ndarray[Any, Any]

SAMPLED = 0.4
"""The fraction of alpha for unread rows; the next two constants share the rest."""
_SHARE, _LIKE = 0.8, 0.2
"""Fractions for the number of missing rows, and for how they differ."""
_STEP = 1.5
ROWS = "rows of the window"
"""The column that counts rows of the source."""
_TWO_ENDED = ("rows", "count", "sum", "mean")


@dataclass(frozen=True)
class LateValue:
    """What the model can say about one value.

    Attributes
    ----------
    kind : str
        "rows", "count", "sum" or "mean" have two ends; a value that "grows" or "shrinks" has one, "open" has none.
    name : str
        The prefix of its additional columns.
    """

    kind: Literal["rows", "count", "sum", "mean", "grows", "shrinks", "open"]
    name: str

    def columns(self, of: Aggregate | None) -> list[tuple[str, Aggregate]]:
        """The additional aggregates that bounds of the value need."""
        if of is None or self.kind not in ("sum", "mean"):
            return []
        assert of.expr is not None
        x: dict[str, Any] = {"expr": of.expr.cast(float), "condition": of.condition}
        size = {**x, "expr": x["expr"].abs()}
        found: dict[str, Aggregate] = {"squares": SumOfSquares(**x)}
        found |= ({"sizes": Sum(**size), "largest": Max(**size)} if self.kind == "sum" else
                  {"count": Count(**x), "minimum": Min(**x), "largest": Max(**x)})
        return [(f"{self.name}: {called}", aggregate) for called, aggregate in found.items()]


class LateRowsModel:
    """A query with late rows, and the model of their lateness.

    Parameters
    ----------
    plan : Node
        As written.
    arrived : Arrived
        Arrivals of a log of earlier rows.

    Attributes
    ----------
    plan : Node
        The query with the additional columns that the model needs, after its own.
    values : dict of str to LateValue
        The values of the query, by column.
    columns : list of str
        The values and the additional columns, in order.
    source : Source
        The source of the query.
    whole : bool
        Whether a group has all rows of a window, or of its kind.
    key : str or None
        The key that gives the kind of rows, if the model has kinds.
    """

    @classmethod
    def of(cls, plan: Node, lateness: object) -> LateRowsModel:
        """The model from a result of ``wb.lateness(...)``."""
        arrived = getattr(lateness, "arrived", None)
        if not isinstance(arrived, Arrived):
            raise PlanError(f"`late` must be a result of wb.lateness(...), got {type(lateness).__name__}.",
                            where="progressive(late=...)", hint="Measure earlier rows: late=wb.lateness(log).")
        return cls(plan, arrived)

    def __init__(self, plan: Node, arrived: Arrived) -> None:
        split = split_query(plan)
        if isinstance(split, str):
            raise _unsupported(split)
        rows_only = all(isinstance(step.op, TopK | Where) for step in split.tail)
        if not split.keeps_time or not rows_only:
            raise _unsupported("a step before its windows may move rows in time" if not split.keeps_time else
                           "a step after its windows is neither where() nor top_k()")
        self.source = source = next(node.op for node in plan.walk() if isinstance(node.op, Source))
        disorder = source.disorder
        if disorder.partition is not None:
            raise _unsupported(f"{source.name} has a watermark for each partition")
        if disorder.late == "adjust" and disorder.reorder_latency is not None:
            raise _unsupported(f'late="adjust" of {source.name} moves late rows to other windows')
        if arrived.unit != source.schema.unit:
            model, asked = (unit or "plain integers" for unit in (arrived.unit, source.schema.unit))
            raise PlanError(f"The model of late rows counts in {model}, but {source.name} counts in {asked}.",
                            where="progressive(late=...)",
                            hint="Measure a log of the same feed: late=wb.lateness(log).")
        self._split, self._arrived = split, arrived
        keys = dict(split.finish.of.keys)
        self.key = None if arrived.by is None else next(
            (name for name, expr in keys.items() if isinstance(expr, Col) and expr.name == arrived.by), None)
        if arrived.by is not None and self.key is None:
            raise PlanError(f"The model of late rows is by {arrived.by!r}, but the query does not group by it.",
                            where="progressive(late=...)",
                            hint=f"Add group_by({arrived.by!r}), or measure all rows with wb.lateness(log).")
        filtered = any(isinstance(node.op, Where) for node in split.states.walk())
        self.whole = not filtered and list(keys) == ([] if self.key is None else [self.key])
        self.values, self.columns, self.plan = _with_columns(plan, split, whole=self.whole)
        window = split.window
        first, _ = split.window_times(np.array([window.offset]))
        self._grid = window.size, window.hop, int(first[0])
        # An ordered log may still get late rows after its end; with a reorder latency, it is read like a feed.
        self._latency = disorder.reorder_latency if self.live else disorder.reorder_latency or None
        self._known: dict[int, MissingFractions] = {}

    def missing(self, kind: int) -> MissingFractions:
        """The missing fractions of rows of one kind."""
        if kind not in self._known:
            self._known[kind] = self._arrived.missing(*self._grid, latency_ticks=self._latency, kind=kind)
        return self._known[kind]

    def pending_rows(self, newest_tick: int, starts: Array, rows: Array, keys: Column | None, alpha: float, *,
             counted: bool) -> PendingLateRows:
        """What late rows may still affect at this newest event time, for groups with these rows so far.

        The rows were counted or estimated. The keys give their kinds, if the model knows kinds.
        """
        _, last = self._split.window_times(starts)
        kinds, known = np.zeros(len(starts), np.int64), self._arrived.kinds
        if keys is not None:
            kinds = np.array([known.get(key, -1) for key in keys.to_arrow().to_pylist()], np.int64)
        ages_ticks = np.where(last < newest_tick, elapsed(np.full_like(last, newest_tick), last) - 1, -1)
        return PendingLateRows(self, ages_ticks, starts, rows, kinds, alpha, counted=counted)

    @property
    def live(self) -> bool:
        """Whether the source is a feed."""
        return self.source.live

    @property
    def two_ended(self) -> Array:
        """By value, whether intervals have two ends once a window has passed."""
        return np.array([value.kind in _TWO_ENDED for value in self.values.values()], np.bool_)


class PendingLateRows:
    """What late rows may still affect, at one update.

    Parameters
    ----------
    late : LateRowsModel
    ages_ticks : numpy.ndarray of int64
        By result row, the newest event time minus the end of its window; negative before the end.
    starts : numpy.ndarray of int64
        By row, the start of its window.
    rows : numpy.ndarray of float64
        By row, the number of its source rows so far.
    kinds : numpy.ndarray of int64
        By row, the kind of its source rows; -1 if the model does not know it.
    alpha : float
        The error probability for late rows.
    counted : bool
        Whether the rows were counted; estimated rows bound nothing.

    Attributes
    ----------
    to_come, reached : numpy.ndarray of bool
        By row, whether its window has not passed; whether it has passed, and late rows may still affect it.
    expected : numpy.ndarray of float64
        By row, the fraction that is missing on average.
    """

    def __init__(self, late: LateRowsModel, ages_ticks: Array, starts: Array, rows: Array, kinds: Array, alpha: float,
                 *, counted: bool) -> None:
        self._late, self._ages, self._starts, self._counted = late, ages_ticks, starts, counted
        _, window = np.unique(starts, return_inverse=True)
        _, self._first, which = np.unique(window * (kinds.max(initial=0) + 2) + kinds, return_index=True,
                                          return_inverse=True)
        self._rows = np.maximum(np.bincount(which, np.nan_to_num(rows))[which], 1.0)
        self._models = [(late.missing(kind), np.flatnonzero(kinds == kind)) for kind in np.unique(kinds[kinds >= 0])]
        self.to_come = ages_ticks < 0
        self.reached, self.expected = ~self.to_come, np.zeros(len(starts))
        for missing, places in self._models:
            self.reached[places] &= ages_ticks[places] < missing.end(_SHARE * alpha)
            self.expected[places] = np.nan_to_num(missing.expected(ages_ticks[places]))

    @property
    def open(self) -> Array:
        """By row, whether it is provisional."""
        return np.asarray(self.to_come | self.reached)

    def maximum(self, alpha: float) -> Array:
        """By row, the upper bound of the missing fraction."""
        maximum = np.where(self.reached, 1.0, 0.0)
        for missing, every in self._models:
            places = every[self.reached[every]]
            maximum[places] = missing.maximum(self._ages[places], self._rows[places], _SHARE * alpha)
        return maximum

    def summary(self, alpha: float) -> list[str]:
        """The part of the summary about late rows."""
        windows = [len(np.unique(self._starts[rows])) for rows in (self.to_come, self.reached)]
        parts = [] if not windows[0] else [
            "1 window still open" if windows[0] == 1 else f"{windows[0]:,} windows still open"]
        if not windows[1]:
            return parts
        places = self._first[self.reached[self._first]]
        rows, maximum = self._rows[places], self.maximum(alpha)[places]
        newest = "the newest window" if windows[1] == 1 else f"the newest {windows[1]:,} windows"
        late = f"in {newest}, {_percent(rows, self.expected[places])} of the rows are expected to be late"
        fewest = min((missing.windows for missing, _ in self._models), default=0)
        needed = MissingFractions.fewest(_SHARE * alpha)
        if fewest < needed:
            known = f"the model has {fewest:,} complete windows, and {needed:,} are needed"
            return [*parts, late, f"no upper bound: {known}"]
        limit = f"at most {_percent(rows, maximum)}" if maximum.max() < 1 else "in some windows perhaps most of them"
        return [*parts, f"{late}, {limit}"]

    def widen(self, numbers: Mapping[str, Array], low: Array, high: Array, alpha: float) -> tuple[Array, Array, Array]:
        """Values and ends of their intervals, by value and row, with the rows that are missing.

        Parameters
        ----------
        numbers : mapping of str to numpy.ndarray of float64
            By column, for the rows that came.
        low, high : numpy.ndarray of float64
            By value and row, ends without the late rows.
        alpha : float
        """
        values = self._late.values
        found, low, high = np.array([numbers[name] for name in values]).reshape(low.shape), low.copy(), high.copy()
        maximum = self.maximum(alpha)
        for value, (name, reached) in enumerate(values.items()):
            above, below = self._beyond(reached, numbers, high[value], maximum, _LIKE * alpha)
            here = self.reached
            low[value, here] -= below[here]
            high[value, here] += above[here]
            low[value, self.to_come] -= 0.0 if reached.kind in ("rows", "count", "grows") else np.inf
            high[value, self.to_come] += 0.0 if reached.kind == "shrinks" else np.inf
            if reached.kind in ("rows", "count", "sum"):
                found[value] = numbers[name] / (1 - self.expected)
            if reached.kind in ("rows", "count"):  # rows are integers
                high[value, here] = np.floor(high[value, here] + 1e-6)
        return found, low, high

    def _beyond(self, reached: LateValue, numbers: Mapping[str, Array], high: Array, maximum: Array,
                alpha: float) -> tuple[Array, Array]:
        """How far a value may be above and below that of the rows that came."""
        none, any_ = np.zeros(len(maximum)), np.full(len(maximum), np.inf)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            match reached.kind:
                case "rows":
                    return _grown(high, maximum), none
                case "count":
                    return self._count(high, maximum, alpha), none
                case "sum":
                    return self._sum(numbers, reached.name, maximum, alpha)
                case "mean":
                    away = self._mean(numbers, reached.name, maximum, alpha)
                    return away, away
                case "grows":
                    return any_, none
                case "shrinks":
                    return none, any_
                case _:
                    return any_, any_

    def _count(self, rows: Array, maximum: Array, alpha: float) -> Array:
        """A group cannot miss more rows than its window."""
        missing = _max_missing(maximum, alpha, rows, rows, np.ones(len(rows)))
        return np.fmin(missing, _grown(self._rows, maximum)) if self._counted else missing

    def _sum(self, numbers: Mapping[str, Array], name: str, maximum: Array, alpha: float) -> tuple[Array, Array]:
        total, sizes, squares, largest = numbers[name], *(
            numbers[f"{name}: {part}"] for part in ("sizes", "squares", "largest"))
        enough = 2 * squares >= MIN_DEGREES * largest**2
        ends = []
        for came in ((sizes + total) / 2, (sizes - total) / 2):
            amount = np.where(came > 1e-9 * sizes, came, 0.0)
            missing = _max_missing(maximum, alpha / 2, amount, np.fmin(squares, largest * amount), largest)
            missing = np.where(amount == 0, 0.0, np.where(np.isfinite(missing), missing, np.inf))
            ends.append(np.where(enough, missing, np.inf))
        return ends[0], ends[1]

    def _mean(self, numbers: Mapping[str, Array], name: str, maximum: Array, alpha: float) -> Array:
        mean, rows, squares, minimum, largest = numbers[name], *(
            numbers[f"{name}: {part}"] for part in ("count", "squares", "minimum", "largest"))
        missing = self._count(rows, maximum, alpha / 2)
        of_group = np.where(np.isfinite(missing), missing / (rows + missing), 1.0)
        every = self._late.whole & (rows >= self._rows)  # no filter, and no null
        maximum = np.where(every, maximum, of_group)
        variance = squares / rows - mean**2
        degrees = 2 * rows * variance / np.maximum(largest - mean, mean - minimum) ** 2
        error = np.sqrt(np.maximum(variance, 0.0) * maximum / rows)
        clipped = np.clip(maximum, 1e-6, 1 - 1e-6)
        times = np.interp(np.log1p(-clipped) - np.log(clipped), *boundary(alpha / 2))
        times *= (8 * degrees + 3) / (8 * degrees + 1)  # as Student's t is wider (Wallace 1959)
        width = np.sqrt(degrees * np.expm1(np.minimum(times**2 / degrees, 700.0))) * error
        return np.where((degrees >= MIN_DEGREES) & (maximum < 1), width, np.inf)


def _grown(rows: Array, maximum: Array) -> Array:
    """The number of missing rows, from their fraction of all rows."""
    return np.asarray(np.where(maximum < 1, rows * maximum / (1 - maximum), np.inf))


def _max_missing(share: Array, alpha: float, amount: Array, squares: Array, largest: Array) -> Array:
    """How much of an amount may be missing, at every update, if at most this fraction of its rows is."""
    level = np.floor(-np.log(share) / math.log(_STEP))
    begun, odds = _STEP**-level, np.log((level + 1) * (level + 2) / alpha)
    came = squares / largest
    half, rest = np.sqrt(begun * odds * largest / 2), 1 - begun
    root = (half + np.sqrt(half**2 + rest * (begun * amount + largest * odds / 3 + rest * came))) / rest
    return np.where(share == 0, 0.0, np.where(rest > 0, root**2 - came, np.inf))


def _percent(rows: Array, missing: Array) -> str:
    """The missing percentage of all rows of windows."""
    late = _grown(rows, missing).sum()
    return f"{100 * late / (late + rows.sum()):.2g}%"


def _unsupported(reason: str) -> PlanError:
    return PlanError(f"Late rows cannot be modelled for this query: {reason}.", where="progressive(late=...)",
                     hint="Remove late=, or aggregate tumbling or hopping windows of one source.")


def _with_columns(plan: Node, split: SplitQuery, *, whole: bool) -> tuple[dict[str, LateValue], list[str], Node]:
    """What the model can say about each value, and the query with the additional columns."""
    chain: list[Node] = [plan]
    while chain[-1].inputs:
        chain.append(chain[-1].inputs[0])
    place = max(at for at, node in enumerate(chain) if isinstance(node.op, GroupAggregate))
    aggregate = chain[place].op
    assert isinstance(aggregate, GroupAggregate)
    rows = chain[place].inputs[0].schema
    results = split.results
    of: Sequence[tuple[str, Expr]] = aggregate.measures if results is None else results.columns
    values: dict[str, LateValue] = {}
    more: list[tuple[str, Aggregate]] = [(ROWS, Count())]
    for name, expr in of:
        made_of = expr if isinstance(expr, Aggregate) else None
        values[name] = LateValue(_kind(made_of, rows, whole=whole), name)
        more += values[name].columns(made_of)
    if results is None:
        node = Node(replace(aggregate, measures=(*aggregate.measures, *more)), chain[place].inputs)
    else:
        every = dict(aggregate.measures) | {each.show(): each for _, each in more}
        node = Node(replace(aggregate, measures=tuple(every.items())), chain[place].inputs)
    for step in reversed(chain[:place]):
        op = step.op
        assert isinstance(op, Operator)
        if op is results:
            assert isinstance(op, Results)
            op = replace(op, columns=(*op.columns, *more))
        node = Node(op, (node,))
    return values, [*values, *(name for name, _ in more)], node


def _kind(of: Aggregate | None, rows: Any, *, whole: bool) -> Any:
    match of:
        case Count():
            return "rows" if of.counts_rows and whole else "count"
        case Sum(widen=True):
            return "open"
        case Sum() | Mean() if of.expr is not None and _is_number(type_of(of.expr, rows)):
            return of.name
        case CountDistinct() | Max() | SumOfSquares():
            return "grows"
        case Min():
            return "shrinks"
    return "open"


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))
