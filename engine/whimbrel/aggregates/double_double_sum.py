"""Exact sums of 64-bit integers in two floats (double-double arithmetic).

One float holds small sums as they are, so that most rows cost one addition. What leaves it is split into halves of
32 bits, which floats hold exactly, and goes to the other one; what that must round comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.aggregates.compensated_sum import two_sum
from whimbrel.plan import State

Array = np.ndarray[Any, Any]

_SMALL = 2.0**52
"""Below it the sum of a float and an integer is exact, with bits to spare for what rounding took from a larger one."""

_HALF_BITS = 32
_HALF = 2**_HALF_BITS - 1
_UNIT = 2.0**_HALF_BITS

NO_WHOLE_SUM: State = (0.0, 0, 0.0)
"""The small part of the sum, rows, the large part."""


def whole_in(state: State, value: Any) -> State:
    if -_SMALL < value < _SMALL:
        total = state[0] + float(value)
        if -_SMALL < total < _SMALL:
            return (total, state[1] + 1, state[2])
    return both_parts(state[0], state[2], value, 1.0, state[1] + 1)


def whole_sums_of_rows(values: Array, ones: Array, zeros: Array) -> Sequence[Array]:
    """The states of single rows: the nearest float of each value, and what it lacks."""
    high, low = (values & ~_HALF).astype(np.float64), (values & _HALF).astype(np.float64)
    large = high + low
    return [low - (large - high), ones, large]


def whole_out(state: State, value: Any) -> State:
    if -_SMALL < value < _SMALL:
        total = state[0] - float(value)
        if -_SMALL < total < _SMALL:
            return (total, state[1] - 1, state[2])
    return both_parts(state[0], state[2], value, -1.0, state[1] - 1)


def whole_both(left: State, right: State) -> State:
    large, off = two_sum(left[2], right[2])
    large, more = two_sum(large, left[0])
    large, small = two_sum(large, (off + more) + right[0])
    return (small, left[1] + right[1], large)


def both_parts(small: Any, large: Any, value: Any, sign: Any, rows: Any) -> State:
    """The state with a value more or less, as large as it may be."""
    high, low = halves(value)
    large, off = two_sum(large, sign * high)
    large, small = two_sum(large, small + (off + sign * low))
    return (small, rows, large)


def halves(value: Any) -> Any:
    """An int64 as the sum of two floats: a multiple of 2**32, and what is left, which is not negative."""
    return float(value >> _HALF_BITS) * _UNIT, float(value & _HALF)
