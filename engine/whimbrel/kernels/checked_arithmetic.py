"""Python integer arithmetic in compiled code, with overflow checks.

An integer that leaves int64, a zero divisor, a result that is not finite: of all these machine code only says that they
happened. What Python makes of them, a value or an error, Python says itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whimbrel.kernels.c_library import c_function

INT_MAX, INT_MIN = 2**63 - 1, -(2**63)
EXACT = 2**53
"""Integers up to here are floats, too, without loss."""

Answer = tuple[Any, Any]


def negate(x: Any) -> Answer:
    return -x, x == INT_MIN


def magnitude(x: Any) -> Answer:
    return (-x if x < 0 else x), x == INT_MIN


def divide_ints(x: Any, y: Any) -> Answer:
    if y == 0 or abs(x) > EXACT or abs(y) > EXACT or INT_MIN in (x, y):
        return 0.0, True
    return x / y, False


def floor_divide_ints(x: Any, y: Any) -> Answer:
    if y == 0 or y == -1:  # noqa: PLR1714 - a tuple is slower in machine code
        return -x, y == 0 or x == INT_MIN
    return x // y, False


def modulo_ints(x: Any, y: Any) -> Answer:
    if y == 0 or y == -1:  # noqa: PLR1714
        return x - x, y == 0
    return x % y, False


def shift_left(x: Any, y: Any) -> Answer:
    if y < 0 or y > 62:
        return x - x, True
    shifted = x << y
    return shifted, (shifted >> y) != x


def shift_right(x: Any, y: Any) -> Answer:
    return x >> min(max(y, 0), 63), y < 0


def divide(x: Any, y: Any) -> Answer:
    if y == 0:
        return 0.0, True
    return x / y, False


def floor_divide(x: Any, y: Any) -> Answer:
    if y == 0:
        return 0.0, True
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0 and (y < 0) != (rest < 0):
        quotient -= 1.0
    if quotient == 0:
        return math.copysign(0.0, x / y), False
    whole = math.floor(quotient) + 0.0 if abs(quotient) < EXACT else quotient
    return (whole + 1.0 if quotient - whole > 0.5 else whole), False


def modulo(x: Any, y: Any) -> Answer:
    if y == 0:
        return 0.0, True
    rest = np.fmod(x, y)
    if rest == 0:
        return math.copysign(0.0, y), False
    return (rest + y if (y < 0) != (rest < 0) else rest), False


def finite(x: Any) -> Answer:
    """Python decides what else there is: an error, or that value."""
    return x, x - x != 0


def exact(x: Any) -> Answer:
    """An integer as a float, where that is the same number."""
    return float(x), x > EXACT or x < -EXACT


def truncate(x: Any) -> Answer:
    if not -9223372036854775808.0 <= x < 9223372036854775808.0:
        return 0, True
    return np.int64(x), False


def round_half_even(x: Any) -> Answer:
    if not -9223372036854775808.0 <= x < 9223372036854775808.0:
        return 0, True
    return np.int64(np.rint(x)), False


def round_down(x: Any) -> Answer:
    if not -9223372036854775808.0 <= x < 9223372036854775808.0:
        return 0, True
    return np.int64(np.floor(x)), False


def round_up(x: Any) -> Answer:
    if not -9223372036854775808.0 <= x < 9223372036854775808.0:
        return 0, True
    return np.int64(np.ceil(x)), False


def wrapped_sum(x: Any, y: Any) -> Answer:
    """The same as the instruction that tells of an overflow, of which compilers make no SIMD instruction."""
    found = x + y
    return found, ((x ^ found) & (y ^ found)) < 0


def wrapped_difference(x: Any, y: Any) -> Answer:
    found = x - y
    return found, ((x ^ y) & (x ^ found)) < 0


PLAIN: tuple[Callable[..., Answer], ...] = (
    negate, magnitude, divide_ints, floor_divide_ints, modulo_ints, shift_left, shift_right, divide, floor_divide,
    modulo, finite, exact, truncate, round_half_even, round_down, round_up)
INTRINSIC = ("add", "subtract", "multiply", "power")
"""Further names: sums, differences and products of integers, and floats to the power of floats."""


@functools.cache
def primitives() -> dict[str, Any]:
    """All of them as machine code may call them."""
    import numba

    made: dict[str, Any] = {each.__name__: numba.njit(nogil=True)(each) for each in PLAIN}
    made |= {"add": _overflowing("sadd"), "subtract": _overflowing("ssub"), "multiply": _overflowing("smul")}
    if (power := _power()) is not None:

        def raised(x: Any, y: Any) -> Any:
            found = power(x, y)
            return found, found - found != 0

        made["power"] = numba.njit(nogil=True)(raised)
    return made


@functools.cache
def has_power() -> bool:
    """Whether the C library's ``pow`` is there, of which Python's results are."""
    return _power() is not None


def _power() -> Any:
    """Called by its address, or the compiler would put a product in its place, which is rounded otherwise."""
    try:
        return c_function("pow")
    except (OSError, AttributeError):
        return None


def _overflowing(operation: str) -> Any:
    """One operation of int64 as the processor does it, with the flag that it sets."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    whole = ir.IntType(64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        both = [context.cast(builder, argument, type_, types.int64)
                for argument, type_ in zip(arguments, signature.args, strict=True)]
        called = builder.module.declare_intrinsic(
            f"llvm.{operation}.with.overflow", [whole],
            ir.FunctionType(ir.LiteralStructType([whole, ir.IntType(1)]), [whole, whole]))
        made = builder.call(called, both)
        wrapped = context.cast(builder, builder.extract_value(made, 1), types.boolean, types.boolean)
        return context.make_tuple(builder, signature.return_type, [builder.extract_value(made, 0), wrapped])

    @intrinsic  # type: ignore[untyped-decorator]
    def overflowing(_: Any, x: Any, y: Any) -> Any:
        return types.Tuple((types.int64, types.boolean))(types.int64, types.int64), generate

    return overflowing


@functools.cache
def vectorized_primitives() -> dict[str, Any]:
    """The same for loops over many states: sums and differences are made of SIMD instructions."""
    import numba

    return primitives() | {"add": numba.njit(nogil=True)(wrapped_sum),
                           "subtract": numba.njit(nogil=True)(wrapped_difference)}
