"""A recursive linear filter of an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Mask, frozen
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.rows.linear_filter import filter_rows
from whimbrel.operators.aggregation.linear_filter_codegen import MAX_ORDER, filter_function
from whimbrel.operators.aggregation.running_column import SampleFilter
from whimbrel.operators.aggregation.running_values import FilteredValues

Array = np.ndarray[Any, Any]

_filter_rows = Compiled(filter_rows)
_NEAR_ONE = 1e-7
"""Roots of polynomials are known up to about this much where several are the same."""


@dataclass(frozen=True, eq=False)
class LinearFilter(SampleFilter):
    """A filter in direct form II transposed, or of second-order sections.

    Parameters
    ----------
    b, a : tuple of float
        Numerator and denominator. The first of `a` is not 0.
    sections : tuple of tuple of float
        Second-order sections instead: six numbers each.
    """

    b: tuple[float, ...]
    a: tuple[float, ...]
    sections: tuple[tuple[float, ...], ...]

    name = "iir"

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        denominators = [section[3:] for section in self.sections] or [self.a]
        largest = max((abs(pole) for each in denominators for pole in np.roots(each)), default=0.0)
        if largest < 1 - _NEAR_ONE:
            return ()
        return (f"a filter of {self.expr.show()} is unstable: a pole has the magnitude {largest:.6g}, not less than 1",)

    def values(self) -> LinearValues:
        return LinearValues(self)


class LinearValues(FilteredValues):
    """The delayed values of each key."""

    def __init__(self, of: LinearFilter) -> None:
        self.of, self.sections = of, len(of.sections)
        if of.sections:
            numbers = [section[column] for section in of.sections for column in (0, 1, 2, 4, 5)]
            self.coefficients, self.order = frozen(np.array(numbers)), 2 * len(of.sections)
        else:
            longest = max(len(of.b), len(of.a))
            b, a = (np.array([*each, *[0.0] * (longest - len(each))]) / of.a[0] for each in (of.b, of.a))
            self.coefficients, self.order = frozen(np.concatenate([b, a[1:]])), longest - 1
        self.state = np.zeros(self.groups * self.order)

    @cached_property
    def loop(self) -> Compiled:
        """The loop that has the state in local variables; one that has not where the order is 0, or too high for it."""
        if self.sections or 0 < self.order <= MAX_ORDER:
            return filter_function(self.order, self.sections)
        return _filter_rows

    def _grow(self, groups: int) -> None:
        self.state = extend(self.state, groups * self.order, 0.0)

    def _filter(self, batch: Batch, groups: Array, hidden: Mask, values: Array, out: Array) -> None:
        self.loop(groups, hidden, values, frozen(self.coefficients), self.state, out)
