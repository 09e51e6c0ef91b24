"""Checked int64 arithmetic on whole columns.

Bounds are tried first: most columns are far from the limits, and two passes that only read prove it.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whimbrel.expr.scalar_functions import INT_MAX, INT_MIN
from whimbrel.expr.value import Bits

Ints = NDArray[np.int64] | np.int64
"""A column, or a scalar that stands for all rows."""

NONE = np.bool_(False)


def _fits(*corners: int) -> bool:
    return min(corners) >= INT_MIN and max(corners) <= INT_MAX


def _bounds(x: Ints) -> tuple[int, int]:
    return int(x.min()), int(x.max())


def add(x: Ints, y: Ints) -> tuple[Ints, Bits]:
    result = x + y
    if not result.size:
        return result, NONE
    (low, high), (minimum, maximum) = _bounds(x), _bounds(y)
    return result, NONE if _fits(low + minimum, high + maximum) else ((x ^ result) & (y ^ result)) < 0


def subtract(x: Ints, y: Ints) -> tuple[Ints, Bits]:
    result = x - y
    if not result.size:
        return result, NONE
    (low, high), (minimum, maximum) = _bounds(x), _bounds(y)
    return result, NONE if _fits(low - maximum, high - minimum) else ((x ^ y) & (x ^ result)) < 0


def multiply(x: Ints, y: Ints) -> tuple[Ints, Bits]:
    result = x * y
    if not result.size:
        return result, NONE
    (low, high), (minimum, maximum) = _bounds(x), _bounds(y)
    if _fits(low * minimum, low * maximum, high * minimum, high * maximum):
        return result, NONE
    divisor = np.where((y == 0) | (y == -1), 1, y)
    wrapped = np.where(y == -1, x == INT_MIN, (y != 0) & (result // divisor != x))
    return result, wrapped


def negate(x: Ints) -> tuple[Ints, Bits]:
    return -x, x == INT_MIN


def power(x: Ints, exponent: int) -> tuple[Ints, Bits]:
    """By squaring, as the scalar form does."""
    result: Any = np.int64(1)
    bad: Bits = NONE
    while True:
        if exponent & 1:
            result, wrapped = multiply(result, x)
            bad = bad | wrapped
        exponent >>= 1
        if exponent == 0:
            return result + np.zeros_like(x), bad
        x, wrapped = multiply(x, x)
        bad = bad | wrapped


def floor_divide(x: Ints, y: Ints) -> tuple[Ints, Bits, Bits]:
    """Quotient rounded down, the rows that wrapped, and the rows whose divisor is zero (their result is 0)."""
    zero = y == 0
    result = np.where(zero, 0, x // np.where(zero, 1, y)) if zero.any() else x // y
    return result, (x == INT_MIN) & (y == -1), zero


def modulo(x: Ints, y: Ints) -> tuple[Ints, Bits, Bits]:
    """Remainder with the sign of the divisor, the rows that wrapped (none), and the rows whose divisor is zero."""
    zero = y == 0
    if zero.any():
        return np.where(zero, 0, x % np.where(zero, 1, y)), NONE, zero
    if x.ndim > y.ndim:
        return x - x // y * y, NONE, zero  # NumPy divides by one number several times faster than it finds remainders
    return x % y, NONE, zero


def power_of_ten(power: int) -> float:
    """The float, or infinity."""
    return 10.0**power if power <= sys.float_info.max_10_exp else math.inf


def round_to_ten(x: Any, power: int) -> tuple[Any, Bits]:
    """The nearest multiple of a power of ten, of two the even one, and the rows where it is outside of their type."""
    low, high = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    step = 10**power
    if step > high:
        return x - x, (x > step // 2) | (x < -(step // 2)) if step // 2 <= high else NONE
    tens, rest = x // step, x % step
    tens = tens + ((rest > step // 2) | ((rest == step // 2) & (tens % 2 == 1))).astype(x.dtype)
    return tens * x.dtype.type(step), (tens > high // step) | (tens < -(-low // step))
