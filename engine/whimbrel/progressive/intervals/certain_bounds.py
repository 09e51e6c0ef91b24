"""Certain ends of values, for any content of the unread rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.aggregates import Count, Max, Min, Std, SumOfSquares, Var
from whimbrel.progressive.intervals.sample_values import SampleValues

Array = np.ndarray[Any, Any]


def certain_bounds(values: SampleValues, value: int) -> tuple[Array | float, Array | float] | None:
    """The smallest and the largest possible value, by row; None where every value is possible."""
    state, known = values.state, values.split.values
    aggregate = known.made_of[value]
    if isinstance(aggregate, Min):
        return -np.inf, values.numbers[value]
    if value in known.kept:
        return values.kept[known.kept[value]].certain(state)
    if isinstance(aggregate, Max):
        return values.numbers[value], np.inf
    if isinstance(aggregate, Var | Std):
        return 0.0, np.inf
    if isinstance(aggregate, SumOfSquares):
        return values.numbers_of(values.values_of(values.fields), value), np.inf
    if isinstance(aggregate, Count):
        seen, read = values.fields[known.own[value].start], state.read
        inside = read.rows_inside[read.window] if values.split.keeps_rows and aggregate.counts_rows else 0
        return seen + inside, seen + state.max_left[read.window]
    return None
