"""The exponentially weighted mean of an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, frozen
from whimbrel.expr import evaluate
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.rows.exponential_mean import STEPS, weighted_means
from whimbrel.operators.aggregation.running_column import SampleFilter
from whimbrel.operators.aggregation.running_values import FilteredValues, either, hide
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST
from whimbrel.plan.typed_aggregate import NO_MASK

Array = np.ndarray[Any, Any]

_weighted_means = Compiled(weighted_means)


@dataclass(frozen=True, eq=False)
class ExponentialMean(SampleFilter):
    """The weight of what was before falls with time, or by the same factor at each value.

    Parameters
    ----------
    halflife : int, optional
        Ticks after which a value has half of its weight.
    alpha : float, optional
        Weight of the newest value, instead of `halflife`.

    Notes
    -----
    Source: ``ewm_mean_by`` of Polars.
    """

    halflife: int | None
    alpha: float | None

    name = "ema"

    def values(self) -> ExponentialValues:
        return ExponentialValues(self)


class ExponentialValues(FilteredValues):
    """The mean of each key, and the start of its last value."""

    def __init__(self, of: ExponentialMean) -> None:
        self.of, self.alpha = of, of.alpha or 0.0
        self.rate = 0.0 if of.halflife is None else STEPS / of.halflife
        self.means, self.last = np.zeros(GROUPS_AT_FIRST), np.zeros(GROUPS_AT_FIRST, np.int64)
        self.there = np.zeros(GROUPS_AT_FIRST, np.bool_)

    def _grow(self, groups: int) -> None:
        for name in ("means", "last", "there"):
            setattr(self, name, extend(getattr(self, name), groups, 0))

    def take(self, batch: Batch, groups: Array, skip: Mask) -> list[Column]:
        column = evaluate(self.of.expr, batch)
        values = frozen(np.asarray(column.values).astype(np.float64, copy=False))
        hidden = either(skip, NO_MASK if column.valid is None else frozen(~column.valid))
        out = np.zeros(len(batch)) if len(hidden) else np.empty(len(batch))
        _weighted_means(groups, hidden, values, batch.first_start, self.rate, self.alpha, self.means, self.last,
                        self.there, out)
        return [hide(Column(pa.float64(), out), hidden)]
