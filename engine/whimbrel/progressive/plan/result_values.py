"""Aggregates and state fields that each result value depends on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.aggregates import Count, Std, Sum, SumOfSquares, Var
from whimbrel.batch import Schema
from whimbrel.expr import type_of
from whimbrel.expr.reductions import reduced_in
from whimbrel.operators import Finish, Results
from whimbrel.plan import Aggregate
from whimbrel.progressive.sample_thresholds import DEGREES_OF_ALL, LIGHT_TAILS, MIN_DEGREES, MIN_DEGREES_OF_SQUARES

Array = np.ndarray[Any, Any]


class Values:
    """Values, aggregates and fields by number: the same at every update.

    Parameters
    ----------
    finish : Finish
    results : Results or None
    answer : Schema
        The schema before the tail.
    kept : frozenset of str
        The aggregates whose states are lists of values.
    one_each : bool
        Whether each event of a window is a row of the source.

    Attributes
    ----------
    names : tuple of str
        The names of the values.
    fields : list of str
        By field, the name of its aggregate.
    parts : numpy.ndarray of int64
        By field, the index of its aggregate.
    additive, counted, whole : numpy.ndarray of bool
        By field, whether it is a sum over rows; whether it counts source rows; whether it is an integer.
    made_of : list of Aggregate or None
        The aggregate that a value is; None for an expression of aggregates.
    needed : numpy.ndarray of bool
        By value and field, whether the value depends on it.
    own : list of slice
        By value, its fields, from the first to the last.
    adds_up, two_ended, squares, counts, straight : numpy.ndarray of bool
        By value. `adds_up`: it is made of states that add up, so it has an interval. `two_ended`: it has an interval,
        for that or another reason. `squares`: it is made of squares. `counts`: it is a count. `straight`: it is a sum.
    whole_inputs : numpy.ndarray of bool
        By value, whether it is one aggregate whose input is not a float.
    enough : tuple of numpy.ndarray of float64
        By value, enough degrees of freedom for an interval, and enough degrees for each drawn block.
    of_all : numpy.ndarray of float64
        By value, the degrees of freedom that groups must reach together.
    kept : dict of int to str
        By value that is a number made of kept values, its aggregate.
    """

    def __init__(self, finish: Finish, results: Results | None, answer: Schema, kept: frozenset[str], *,
                 one_each: bool) -> None:
        aggregates = dict(finish.of.measures)
        steps = dict(finish.of.algebra(finish.rows))
        each = [(number, name, init) for number, name in enumerate(steps) for init in steps[name].init]
        self.names = answer.names[len(finish.of.keys) :]
        self.fields = [name for _, name, _ in each]
        self.parts = np.array([number for number, _, _ in each], np.int64)
        self.additive = np.array([steps[name].additive for name in self.fields], np.bool_)
        self.counted = np.array([one_each and isinstance(aggregates[name], Count) for name in self.fields],
                                np.bool_)
        self.whole = np.array([np.asarray(init).dtype.kind != "f" for _, _, init in each], np.bool_)
        self.made_of: list[Aggregate | None]
        if results is None:
            needs, self.made_of = [{name} for name in self.names], [aggregates[name] for name in self.names]
        else:
            exprs = [expr for _, expr in results.columns]
            needs = [{part.show() for part in reduced_in(expr) if isinstance(part, Aggregate)} for expr in exprs]
            self.made_of = [aggregates[expr.show()] if isinstance(expr, Aggregate) else None for expr in exprs]
        self.needed = np.array([[name in need for name in self.fields] for need in needs], np.bool_)
        self.own = [_span(np.flatnonzero(mine)) for mine in self.needed]
        self.adds_up = np.array([all(name in steps and steps[name].additive for name in need if name in aggregates)
                                 for need in needs], np.bool_)
        self.kept = {value: name for value, need in enumerate(needs) for name in need & kept
                     if self.made_of[value] is not None and _is_number(answer.type_of(self.names[value]))}
        self.two_ended = self.adds_up.copy()
        self.two_ended[list(self.kept)] = True
        self.squares = np.array([any(isinstance(aggregates.get(name), Var | Std | SumOfSquares) for name in need)
                                 for need in needs], np.bool_)
        self.enough = (np.where(self.squares, MIN_DEGREES_OF_SQUARES, MIN_DEGREES),
                       np.where(self.squares, np.inf, LIGHT_TAILS))
        self.of_all = DEGREES_OF_ALL * self.enough[0]
        self.counts = np.array([isinstance(aggregate, Count) for aggregate in self.made_of], np.bool_)
        self.straight = np.array([isinstance(aggregate, Count | Sum | SumOfSquares) for aggregate in self.made_of],
                                 np.bool_)
        self.whole_inputs = np.array([aggregate is not None and aggregate.expr is not None and not pa.types.is_floating(
            type_of(aggregate.expr, finish.rows, where="progressive()")) for aggregate in self.made_of], np.bool_)
        self.rows_alone = all(aggregate is not None and aggregate.counts_rows for aggregate in self.made_of)


def _span(places: Array) -> slice:
    """The slice from the first index to the last."""
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))
