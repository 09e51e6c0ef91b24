"""Scalar functions of generated row loops: checked integers, three-valued logic.

Plain Python over numbers: the same text runs interpreted on NumPy scalars and compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whimbrel.kernels.primitives.arithmetic.c_math import c_cos, c_exp, c_log, c_pow, c_sin

INT_MAX = 2**63 - 1
INT_MIN = -(2**63)
_HALF = 2**31


def checked_add(x: Any, y: Any) -> Any:
    if (y > 0 and x > INT_MAX - y) or (y < 0 and x < INT_MIN - y):
        raise OverflowError("integer overflow")
    return x + y


def checked_sub(x: Any, y: Any) -> Any:
    if (y < 0 and x > INT_MAX + y) or (y > 0 and x < INT_MIN + y):
        raise OverflowError("integer overflow")
    return x - y


def checked_mul(x: Any, y: Any) -> Any:
    if -_HALF <= x <= _HALF and -_HALF <= y <= _HALF:
        return x * y
    if x == 0 or y == 0:
        return x * y
    if x > 0:
        fits = y <= INT_MAX // x if y > 0 else y >= -(INT_MAX // x) - (1 if INT_MAX % x == x - 1 else 0)
    elif y > 0:
        fits = x >= -(INT_MAX // y) - (1 if INT_MAX % y == y - 1 else 0)
    else:
        fits = INT_MIN not in (x, y) and -x <= INT_MAX // -y
    if not fits:
        raise OverflowError("integer overflow")
    return x * y


def checked_neg(x: Any) -> Any:
    if x == INT_MIN:
        raise OverflowError("integer overflow")
    return -x


def checked_abs(x: Any) -> Any:
    if x == INT_MIN:
        raise OverflowError("integer overflow")
    return -x if x < 0 else x


def floor_div(x: Any, y: Any) -> Any:
    """Rounds down, as Python does; 0 for a zero divisor, which callers show as null."""
    if y == 0:
        return y
    if y == -1:
        if x == INT_MIN:
            raise OverflowError("integer overflow")
        return -x
    return x // y


def ceil_div(x: Any, y: Any) -> Any:
    """Rounds up, by a divisor above 1."""
    quotient = x // y
    return quotient if quotient * y == x else quotient + 1


def is_times(x: Any, y: Any, factor: Any) -> Any:
    """Whether the first is so many times the second, which may be more than an integer holds."""
    return x // factor == y and x % factor == 0


def floor_mod(x: Any, y: Any) -> Any:
    """Has the sign of the divisor, as in Python; 0 for a zero divisor, which callers show as null."""
    if y in (0, -1):
        return x - x
    return x % y


def divide(x: Any, y: Any) -> Any:
    """IEEE division: a zero divisor gives an infinity or nan, not an exception."""
    if y == 0:
        return x * math.copysign(np.inf, y)
    return x / y


def float_floor_div(x: Any, y: Any) -> Any:
    """``numpy.floor_divide`` of two float64."""
    if y == 0:
        return x * math.copysign(np.inf, y)
    if x - x != 0 or np.isnan(y):  # an infinity or nan is divided
        return np.nan
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0 and (y < 0) != (rest < 0):
        quotient -= 1.0
    if quotient == 0:
        return math.copysign(0.0, x / y)
    whole = np.floor(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else whole


def float_mod(x: Any, y: Any) -> Any:
    """``numpy.remainder`` of two float64."""
    if y == 0 or x - x != 0 or np.isnan(y):
        return np.nan
    rest = np.fmod(x, y)
    if rest == 0:
        return math.copysign(0.0, y)
    return rest + y if (y < 0) != (rest < 0) else rest


def square_root(x: Any) -> Any:
    return x * np.nan if x < 0 else np.sqrt(x)


def int_power(x: Any, exponent: Any) -> Any:
    """By squaring, as :func:`~whimbrel.expr.checked_integers.power` does."""
    result = x * 0 + 1
    while True:
        if exponent & 1:
            result = checked_mul(result, x)
        exponent >>= 1
        if exponent == 0:
            return result
        x = checked_mul(x, x)


def square(x: Any) -> Any:
    return x * x


def cube(x: Any) -> Any:
    return x * x * x


def fourth_power(x: Any) -> Any:
    squared = x * x
    return squared * squared


def half_power(x: Any) -> Any:
    """The square root, but of -inf and -0.0 what ``pow`` gives: inf and 0.0."""
    if x == -np.inf:
        return np.inf
    return x * np.nan if x < 0 else np.sqrt(x + 0.0)


def sign_of(x: Any) -> Any:
    """Of a float: -1.0, 0.0 or 1.0; nan for nan."""
    if x > 0:
        return 1.0
    return -1.0 if x < 0 else x + 0.0


def int_sign_of(x: Any) -> Any:
    if x > 0:
        return 1
    return -1 if x < 0 else 0


def greater_of(x: Any, y: Any) -> Any:
    """The first of equal values; nan is greater than every number."""
    return x if x != x or x >= y else y  # noqa: PLR0124 - true of nan


def lesser_of(x: Any, y: Any) -> Any:
    """The first of equal values; nan is greater than every number."""
    return y if x != x or y < x else x  # noqa: PLR0124


def greater_present(x: Any, has_x: Any, y: Any, has_y: Any) -> Any:
    """The greater of two values of which one may be null."""
    if not has_y:
        return x
    if not has_x:
        return y
    return x if x != x or x >= y else y  # noqa: PLR0124


def lesser_present(x: Any, has_x: Any, y: Any, has_y: Any) -> Any:
    """The lesser of two values of which one may be null."""
    if not has_y:
        return x
    if not has_x:
        return y
    return y if x != x or y < x else x  # noqa: PLR0124


def round_to(x: Any, scale: Any) -> Any:
    """Halves go to the even neighbour, at so many parts of one."""
    parts = x * scale
    return np.rint(parts) / scale if abs(parts) < np.inf else x  # so large a number is whole


def round_to_multiple(x: Any, step: Any) -> Any:
    """The same at multiples of a power of ten, whose reciprocal no float is."""
    steps = x / step
    nearest = np.rint(steps)
    return nearest if nearest == 0 else nearest * step if abs(steps) < np.inf else x


def whole(x: Any) -> Any:
    """A float cut to int64."""
    if not -9223372036854775808.0 <= x < 9223372036854775808.0:
        raise OverflowError("integer overflow")
    return np.int64(x)


def within(x: Any, low: Any, high: Any) -> Any:
    if x < low or x > high:
        raise OverflowError("integer overflow")
    return x


def truth_and(x: Any, y: Any) -> Any:
    """Three-valued and over 0 (false), 1 (true), 2 (null)."""
    if x == 0 or y == 0:
        return 0
    return 2 if x == 2 or y == 2 else 1


def truth_or(x: Any, y: Any) -> Any:
    """Three-valued or over 0 (false), 1 (true), 2 (null)."""
    if x == 1 or y == 1:
        return 1
    return 2 if x == 2 or y == 2 else 0


SCALARS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (checked_add, checked_sub, checked_mul, checked_neg, checked_abs, floor_div, ceil_div, is_times,
                     floor_mod, divide, float_floor_div, float_mod, square_root, int_power, square, cube, fourth_power,
                     half_power, sign_of, int_sign_of, greater_of, lesser_of, greater_present, lesser_present,
                     c_exp, c_log, c_sin, c_cos, c_pow, round_to, round_to_multiple, whole, within, truth_and,
                     truth_or)
}
"""Everything a generated expression may call, in addition to ``np``."""
