"""Compensated sums of floats that support removal (two-float arithmetic).

Two floats hold 106 bits of a sum. A value that is larger than others by more than that erases their last digits, and
they do not return when it is removed. The sum therefore counts the values of the largest magnitude. When the last of
them is removed, the sum is invalid and computed again from its rows. A sum beyond the range of floats would not return
either. While values are that large, the sum is kept in a unit in which it cannot overflow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whimbrel.plan import State

_WIDTH_BITS = 32
_WIDTH = 2.0**_WIDTH_BITS
"""How far values of one size may differ: what is left of the 106 bits is for how many there are."""

_OFFSET_BITS = 16
"""Sizes begin at 2**16 times a power of the width, rather than in the middle of many people's numbers."""

SMALLEST = 2.0**-1008
"""What is below, all taken together, fits into two floats."""

_HUGE = 2.0 ** (30 * _WIDTH_BITS + _OFFSET_BITS)
"""A size: of smaller values 2**47 can be added up."""

_HUGE_UNIT = 2.0**64

NO_SUM: State = (0.0, 0.0, SMALLEST, 0, 0, 0)
"""The sum and its rounding error, in another unit for huge values. The largest magnitude, and the number of its values.
The number of values that are not finite, and the surplus of inf over -inf."""


def add_exactly(state: State, value: Any) -> State:
    total, error, low, large, odd, up = state
    size = abs(value)
    if not size < np.inf:
        return (total, error, low, large, odd + 1, up + sign_of(value))
    before = low
    low, large = with_larger(low, large, size)
    if low >= _HUGE:
        total, error, value = in_unit(total, before, low), in_unit(error, before, low), value / _HUGE_UNIT
    total, off = two_sum(total, value)
    return (total, error + off, low, large, odd, up)


def subtract_exactly(state: State, value: Any) -> State:
    total, error, low, large, odd, up = state
    size = abs(value)
    if not size < np.inf:
        return (total, error, low, large, odd - 1, up - sign_of(value))
    total, off = two_sum(total, -in_unit(value, SMALLEST, low))
    return (total, error + off, low, large - (size >= low), odd, up)


def merge_exact(left: State, right: State) -> State:
    low, large = larger_of_both(left[2], left[3], right[2], right[3])
    total, off = two_sum(in_unit(left[0], left[2], low), in_unit(right[0], right[2], low))
    error = in_unit(left[1], left[2], low) + in_unit(right[1], right[2], low) + off
    return (total, error, low, large, left[4] + right[4], left[5] + right[5])


def exact_total(state: State) -> Any:
    total, error, low, _, odd, up = state
    if odd > 0:
        return np.inf if up == odd else -np.inf if up == -odd else np.nan
    return (total + error) * (_HUGE_UNIT if low >= _HUGE else 1.0)


def exact_share(state: State, rows: Any) -> Any:
    """The sum divided by a number of rows: floats hold it also where they do not hold the sum."""
    total, error, low, _, odd, up = state
    if odd > 0:
        return np.inf if up == odd else -np.inf if up == -odd else np.nan
    return (total + error) / rows * (_HUGE_UNIT if low >= _HUGE else 1.0)


def is_spoiled(state: State) -> Any:
    return all_left(state[2], state[3])


def in_unit(part: Any, low: Any, wanted: Any) -> Any:
    """A part of a sum whose largest values begin at `low`, in the unit of one whose begin at `wanted`, no lower."""
    return part / _HUGE_UNIT if low < _HUGE and wanted >= _HUGE else part


def two_sum(left: Any, right: Any) -> Any:
    """A sum of floats and what rounding took from it (Knuth)."""
    total = left + right
    part = total - left
    return total, (left - (total - part)) + (right - part)


def sign_of(value: Any) -> Any:
    """1 of inf, -1 of -inf, 0 of NaN."""
    return int(value > 0) - int(value < 0)


def with_larger(low: Any, large: Any, size: Any) -> Any:
    """Where the size of the largest values begins, and how many there are, with one value more."""
    if size < low:
        return low, large
    if size < low * _WIDTH:
        return low, large + 1
    exponent = (math.frexp(size)[1] - 1 - _OFFSET_BITS) // _WIDTH_BITS
    return math.ldexp(1.0, exponent * _WIDTH_BITS + _OFFSET_BITS), 1


def larger_of_both(low: Any, large: Any, other_low: Any, other_large: Any) -> Any:
    if low == other_low:
        return low, large + other_large
    return (low, large) if low > other_low else (other_low, other_large)


def all_left(low: Any, large: Any) -> Any:
    """Whether all values of the size of the largest have left, so that what they took is missed."""
    return large == 0 and low > SMALLEST
