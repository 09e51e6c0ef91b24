"""Filtered values of a column, with one state per key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, frozen
from whimbrel.expr import evaluate
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.rows.linear_filter import filter_rows, filter_sections
from whimbrel.operators.aggregation.linear_filter import LinearFilter
from whimbrel.operators.aggregation.running_values import RunningValues, hide
from whimbrel.operators.aggregation.scalar_accumulator import NO_MASK

Array = np.ndarray[Any, Any]

_filter_rows, _filter_sections = Compiled(filter_rows), Compiled(filter_sections)


class FilteredValues(RunningValues):
    """Filtered values of one expression."""

    def __init__(self, of: LinearFilter) -> None:
        self.of = of
        longest, scale = max(len(of.b), len(of.a)), of.a[0] if of.a else 1.0
        self.b, self.a = (frozen(np.array([*each, *[0.0] * (longest - len(each))]) / scale) for each in (of.b, of.a))
        self.sections = frozen(np.array(of.sections, np.float64).reshape(-1))
        self.order = 2 * len(of.sections) or longest - 1
        self.state = np.zeros(self.groups * self.order)

    def _grow(self, groups: int) -> None:
        self.state = extend(self.state, groups * self.order, 0.0)

    def take(self, batch: Batch, groups: Array, skip: Mask) -> list[Column]:
        column = evaluate(self.of.expr, batch)
        values = frozen(np.asarray(column.values).astype(np.float64, copy=False))
        valid = NO_MASK if column.valid is None else column.valid
        out, shown = np.zeros(len(batch)), np.zeros(len(batch), np.bool_)
        given = (groups, skip, values, valid)
        if len(self.sections):
            _filter_sections(*given, self.sections, self.state, out, shown)
        else:
            _filter_rows(*given, self.b, self.a, self.state, out, shown)
        return [hide(Column(pa.float64(), out), NO_MASK if shown.all() else ~shown)]

    def fork(self) -> FilteredValues:
        clone = object.__new__(FilteredValues)
        clone.__dict__.update(vars(self) | {"state": self.state.copy()})
        return clone
