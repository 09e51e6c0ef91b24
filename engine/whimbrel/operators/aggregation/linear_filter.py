"""A recursive linear filter of an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, frozen
from whimbrel.errors import PlanError
from whimbrel.expr import evaluate
from whimbrel.kernels import Compiled, SampleRuns
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.rows.linear_filter import filter_rows
from whimbrel.operators.aggregation.linear_filter_codegen import MAX_ORDER, filter_function, run_function
from whimbrel.operators.aggregation.running_column import SampleFilter
from whimbrel.operators.aggregation.running_values import FilteredValues, either, hide
from whimbrel.plan import Sampling
from whimbrel.plan.typed_aggregate import NO_MASK

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
    init : {"zero", "steady"}
        The state in which it begins: at rest, or as if the first value had always been there.
    settle : int
        Values after each begin that are null.
    nan : {"gap", "keep"}
        Whether NaN counts as a missing sample.
    sampling : Sampling, optional
        Samples of the stream: the filter begins again after a missing one.
    keyed : bool
        Whether there are several keys.
    """

    b: tuple[float, ...]
    a: tuple[float, ...]
    sections: tuple[tuple[float, ...], ...]
    init: Literal["zero", "steady"] = "zero"
    settle: int = 0
    nan: Literal["gap", "keep"] = "gap"
    sampling: Sampling | None = None
    keyed: bool = True

    name = "iir"

    def __post_init__(self) -> None:
        _ = self.initial

    @cached_property
    def initial(self) -> Array:
        """The state for an input that always was 1; empty where the filter begins at rest."""
        if self.init == "zero":
            return frozen(np.empty(0))
        states, scale = list[Array](), 1.0
        for section in self.sections or [()]:
            b, a = (np.array(section[:3]), np.array(section[3:])) if section else self.normalized
            if abs(a.sum()) < _NEAR_ONE * abs(a).sum():
                raise PlanError('init="steady" needs a filter without a pole at frequency 0.', where=self.text,
                                hint='Use init="zero".')
            states.append(scale * _steady_state(b, a))
            scale *= b.sum() / a.sum()
        return frozen(np.concatenate(states))

    @cached_property
    def normalized(self) -> tuple[Array, Array]:
        """Numerator and denominator, of one length, divided by the first coefficient of the denominator."""
        longest = max(len(self.b), len(self.a))
        b, a = (np.array([*each, *[0.0] * (longest - len(each))]) / self.a[0] for each in (self.b, self.a))
        return b, a

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        denominators = [section[3:] for section in self.sections] or [self.a]
        largest = max((abs(pole) for each in denominators for pole in np.roots(each)), default=0.0)
        if largest < 1 - _NEAR_ONE:
            return ()
        return (f"a filter of {self.expr.show()} is unstable: a pole has the magnitude {largest:.6g}, not less than 1",)

    def values(self) -> LinearValues:
        return LinearValues(self)


class LinearValues(FilteredValues):
    """The delayed values of each key, and its runs of samples."""

    def __init__(self, of: LinearFilter) -> None:
        self.of, self.sections = of, len(of.sections)
        if of.sections:
            numbers = [section[column] for section in of.sections for column in (0, 1, 2, 4, 5)]
            self.coefficients, self.order = frozen(np.array(numbers)), 2 * len(of.sections)
        else:
            b, a = of.normalized
            self.coefficients, self.order = frozen(np.concatenate([b, a[1:]])), len(b) - 1
        self.feedback = bool(of.sections) or bool(of.normalized[1][1:].any())
        self.state = np.zeros(self.groups * self.order)
        period, phase = (None, None) if of.sampling is None else (of.sampling.period, of.sampling.phase)
        self.runs = SampleRuns(period, phase, keyed=of.keyed)
        self.runs.grow(self.groups)

    @cached_property
    def loop(self) -> Compiled:
        """The loop that has the state in local variables; one that has not where the order is 0, or too high for it."""
        if self.sections or 0 < self.order <= MAX_ORDER:
            return filter_function(self.order, self.sections, feedback=self.feedback)
        return _filter_rows

    @cached_property
    def run(self) -> Compiled | None:
        """The loop over a run of one key, with the state in local variables."""
        unkeyed = not self.of.keyed and (self.sections or 0 < self.order <= MAX_ORDER)
        return run_function(self.order, self.sections, feedback=self.feedback) if unkeyed else None

    def _grow(self, groups: int) -> None:
        self.state = extend(self.state, groups * self.order, 0.0)
        self.runs.grow(groups)

    def take(self, batch: Batch, groups: Array, skip: Mask) -> list[Column]:
        column = evaluate(self.of.expr, batch)
        values = frozen(np.asarray(column.values).astype(np.float64, copy=False))
        fresh, young, hidden = NO_MASK, NO_MASK, skip
        null = NO_MASK if column.valid is None else frozen(~column.valid)
        if self.of.sampling is not None:
            broken = either(null, self._not_a_number(column, values))
            fresh, young, _ = self.runs.mark(batch.times, groups, skip, broken, self.of.settle)
            hidden = either(skip, broken)
        else:
            hidden = either(skip, null)
            if self.of.settle or len(self.of.initial):
                fresh, young, _ = self.runs.mark(batch.times, groups, hidden, NO_MASK, self.of.settle)
        out = np.zeros(len(batch)) if len(hidden) else np.empty(len(batch))
        if self.run is not None and not len(hidden) and not len(fresh):
            self.run(values, self.coefficients, self.state, out)
        else:
            self.loop(groups, hidden, fresh, values, self.coefficients, self.of.initial, self.state, out)
        return [hide(Column(pa.float64(), out), either(hidden, young))]

    def _not_a_number(self, column: Column, values: Array) -> Mask:
        if self.of.nan == "keep" or not pa.types.is_floating(column.type):
            return NO_MASK
        found = np.isnan(values)
        return frozen(found) if found.any() else NO_MASK



def _steady_state(b: Array, a: Array) -> Array:
    """The state of one filter whose input always was 1: ``scipy.signal.lfilter_zi``."""
    order = len(a) - 1
    if order == 0:
        return np.empty(0)
    companion = np.zeros((order, order))
    companion[0], companion[1:, :-1] = -a[1:] / a[0], np.eye(order - 1)
    state: Array = np.linalg.solve(np.eye(order) - companion.T, b[1:] - a[1:] * b[0])
    return state
