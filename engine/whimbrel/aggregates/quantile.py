"""Exact quantiles of all values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import pyarrow as pa

from whimbrel.aggregates.mean import is_span_or_time
from whimbrel.aggregates.ordered_types import check_ordered, note_of_values
from whimbrel.errors import ExpressionError
from whimbrel.expr import MAX_DIGITS, decimal
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.plan import Aggregate, Multiset

Interpolation = Literal["linear", "discrete"]

FINEST = 10**9  # a share of n values in 64 bits for n up to 10**9; and 0.1 is a tenth, not what a float makes of it


def check_numbers(aggregate: Aggregate, input_type: pa.DataType | None) -> None:
    """Fail unless there are values between the values."""
    if not pa.types.is_integer(input_type) and not pa.types.is_floating(input_type) and not is_span_or_time(input_type):
        raise ExpressionError(f"Linear quantiles need numbers, got {input_type}.", where=aggregate.show(),
                              hint='Use quantile(..., interpolation="discrete").')


def _digits_of(whole: int) -> int:
    """After the point, that every multiple of ``1 / whole`` has; of a share that has no end, nine.

    >>> _digits_of(2), _digits_of(4), _digits_of(1000), _digits_of(3)
    (1, 2, 3, 9)
    """
    return next((digits for digits in range(_MAX_DIGITS) if 10**digits % whole == 0), _MAX_DIGITS)


_MAX_DIGITS = 9
"""A fraction is a multiple of ``1 / FINEST``, or has no end."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantile(Aggregate):
    """The quantile `q` of the values; null when there are none.

    Nulls are left out, NaN is largest.

    Between integers it is exact, however large they are; from a number to an infinity it is that infinity, and from
    -inf to inf NaN. Of times it is a time, of durations a duration, rounded to the nearest tick; of two the even one.
    Of decimals it is a decimal with as many digits more as `q` has, so that nothing is rounded: a median has one more.
    (Beyond 76 digits, or for a `q` that is a third, halves of the last digit are rounded away from zero.)

        time     0    5    10
        in       2────────         median over [0, 5) is 2, over [5, 10) is 2.5
                      3────

    Parameters
    ----------
    q : float
        From 0 (the smallest) to 1 (the largest).
    interpolation : {"linear", "discrete"}
        ``"linear"``: a float `q` of the way from the first to the last, between two values where it falls between them.
        ``"discrete"``: one of the values, of any type that has an order: of n values in order, number ``ceil(q * n)``.
    descending : bool
        Whether the order begins with the largest. Then discrete 0.4 of five values is the second largest, whereas 0.6
        in ascending order is the third smallest.

    Notes
    -----
    State: all values of a group until their rows leave.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.quantile(wb.col.x, 0.5)).collect()["v"].to_pylist()
    [2.0, 2.5]
    """

    name: ClassVar[str] = "quantile"

    q: float
    interpolation: Interpolation = "linear"
    descending: bool = False

    @property
    def options(self) -> str:
        discrete = "" if self.interpolation == "linear" else f', interpolation="{self.interpolation}"'
        return f", {self.q}{discrete}{', descending=True' if self.descending else ''}"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if self.interpolation == "discrete":
            return check_ordered(self, input_type)
        if input_type is not None and pa.types.is_decimal(input_type):
            whole = input_type.precision - input_type.scale
            more = _digits_of(Fraction(self.q).limit_denominator(FINEST).denominator)
            scale = max(input_type.scale, min(input_type.scale + more, MAX_DIGITS - whole))
            return decimal(whole + scale, scale)
        check_numbers(self, input_type)
        return input_type if is_span_or_time(input_type) else pa.float64()

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset:
        fraction = Fraction(self.q).limit_denominator(FINEST)
        if self.interpolation == "discrete":
            choice = multisets.NUMBER_FROM_TOP if self.descending else multisets.NUMBER
        else:
            choice = multisets.BETWEEN
            fraction = 1 - fraction if self.descending else fraction
        return Multiset(choice, fraction.numerator, fraction.denominator)

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        return note_of_values(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Median(Quantile):
    """Median of the values; null when there is none.

    It is the middle value, or the mean of the two middle ones.

        time     0    5    10
        in       2────────         median over [0, 5) is 2.0, over [5, 10) is 2.5
                      3────

    It is :class:`Quantile` with q = 0.5, linear.

    Parameters
    ----------
    q : float
        0.5, always.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.median(wb.col.x)).collect()["v"].to_pylist()
    [2.0, 2.5]
    """

    name: ClassVar[str] = "median"

    q: float = 0.5

    @property
    def options(self) -> str:
        return ""
