"""What Python says of numbers is what a user's aggregate gives, interpreted or compiled, errors too."""

from __future__ import annotations

import math
import operator
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import KernelError
from whimbrel.kernels import tier
from whimbrel.plan import AggregateFunctions, Objects

TIERS = ("interpreted", "primitives", "fused")


def accumulated(function: Any, init: Any = 0, result: Any = lambda s: s) -> Any:
    return wb.aggregate(init=init, accumulate=function, result=result, name="mine")


def answers(mine: Any, values: list[Any], type_: Any = None) -> list[Any]:
    """What each tier says: a value, or the first line of an error."""
    log = wb.from_arrow({"at": range(len(values)), "x": pa.array(values, type_)}, time="at")
    found: list[Any] = []
    for name in TIERS:
        with tier(name):  # type: ignore[arg-type]
            try:
                found.append(log.tumbling_window(1000).aggregate(v=mine(col.x)).collect()["v"][0].as_py())
            except KernelError as error:
                found.append(error.what)
    return found


ALIKE = {
    "bools add up": (accumulated(lambda s, x: s + ((x > 1) + (x > 2))), [1, 2, 3, 4], 5),
    "bools are subtracted": (accumulated(lambda s, x: s + ((x > 0) - (x < 0))), [1, -1, 2, 3], 2),
    "division rounds down": (accumulated(lambda _, x: x // -2), [7], -4),
    "the sign is the divisor's": (accumulated(lambda _, x: x % -3), [7], -2),
    "floats, too": (accumulated(lambda _, x: x % -3.5, 0.0), [7.25], 7.25 % -3.5),
    "a float is divided down": (accumulated(lambda _, x: x // 0.1, 0.0), [1.0], 1.0 // 0.1),
    "squares are those of Python": (accumulated(lambda _, x: x ** 2, 0.0), [0.3456789123], 0.3456789123 ** 2),
    "powers below zero": (accumulated(lambda s, x: s + x ** -1, 0.0), [2, 4], 0.75),
    "on the way beyond int64": (accumulated(lambda _, x: (x * x) % 1000), [2**62], (2**62 * 2**62) % 1000),
    "large quotients": (accumulated(lambda _, x: x / 3, 0.0), [2**62 + 1], (2**62 + 1) / 3),
    "large numbers compared": (accumulated(lambda s, x: s + (x > 9007199254740992.0)), [2**53 + 1], 1),
    "halves are even": (accumulated(lambda s, x: s + round(x)), [0.5, 1.5, 2.5], 4),
    "shifts": (accumulated(lambda s, x: s + (x << 3) + (x >> 1)), [5, -5], -1),
    "nan compares": (accumulated(lambda s, x: s + (1 if x > 0 else 10)), [math.nan, 1.0], 11),
    "min keeps the first of what does not compare": (
        accumulated(lambda s, x: min(s, x + 0), 5.0), [math.nan, 7.0], 5.0),
    "an int or a float": (accumulated(lambda _, x: x if x > 1 else x / 2, 0, lambda s: s * 2), [3, 1], 1.0),
    "a chain": (accumulated(lambda s, x: s + (0 < x <= 2)), [0, 1, 2, 3], 2),
    "or gives its operand": (accumulated(lambda s, x: s + (x or 10)), [0, 1], 11),
    "max of Python": (accumulated(max, -1), [3, 2**62, 5], 2**62),
    "min of Python keeps what does not compare": (accumulated(min, 5.0, float), [math.nan, 7.0], 5.0),
    "an operator of Python": (accumulated(operator.add, 0, operator.neg), [2, 3], -5),
    "inverted": (accumulated(lambda s, x: s + ~x), [5], -6),
}


@pytest.mark.share(9)
@pytest.mark.parametrize("case", ALIKE)
def test_every_tier_says_what_python_says(case: str) -> None:
    mine, values, right = ALIKE[case]
    assert answers(mine, values) == [right] * 3


FAILS = {
    "a product": (accumulated(lambda s, x: s * x, 1), [2] * 70, "gave an integer that leaves int64"),
    "a sum": (accumulated(lambda s, x: s + x), [2**62, 2**62], "gave an integer that leaves int64"),
    "a product of Python": (accumulated(operator.mul, 1), [2] * 70, "accumulate of mine gave an integer"),
    "a result": (accumulated(lambda _, x: x, 0, lambda s: s * 4), [2**62], "result of mine gave an integer"),
    "a logarithm": (accumulated(lambda s, x: s + math.log(x), 0.0), [-1.0], "ValueError"),
    "a root": (accumulated(lambda s, x: s + math.sqrt(x), 0.0), [-1.0], "ValueError: math domain error"),
    "an exponential": (accumulated(lambda s, x: s + math.exp(x), 0.0), [1000.0], "OverflowError: math range error"),
    "a power": (accumulated(lambda _, x: x ** 2.0, 0.0), [1e300], "OverflowError"),
    "zero": (accumulated(lambda s, x: s + 1 // x), [0], "ZeroDivisionError"),
    "zero of floats": (accumulated(lambda s, x: s + 1 / x, 0.0), [0.0], "ZeroDivisionError"),
    "zero to a power": (accumulated(lambda s, x: s + x ** -1, 0.0), [0], "ZeroDivisionError"),
    "int(nan)": (accumulated(lambda s, x: s + int(x)), [math.nan], "ValueError: cannot convert float NaN to integer"),
    "int(inf)": (accumulated(lambda s, x: s + int(x)), [math.inf], "OverflowError: cannot convert float infinity"),
    "a shift": (accumulated(lambda s, x: s << x, 1), [-1], "ValueError: negative shift count"),
    "a far shift": (accumulated(lambda s, x: s << x, 1), [63], "gave an integer that leaves int64"),
}


@pytest.mark.share(9)
@pytest.mark.parametrize("case", FAILS)
def test_every_tier_fails_alike_and_names_function_and_line(case: str) -> None:
    mine, values, message = FAILS[case]
    first, *others = answers(mine, values)
    assert message in first
    assert others == [first, first]
    if "integer" not in message or "Error" in message:
        assert f"in line {mine.accumulate.__code__.co_firstlineno}:" in first


def test_arguments_are_plain_python() -> None:
    seen: set[type] = set()

    def record(state: Any, value: Any) -> Any:
        seen.update((type(state), type(value)))
        return state + 1

    for values, kind in (([1, 2], int), ([1.5], float), ([True], bool), (["a"], str)):
        seen.clear()
        answers(accumulated(record), values)
        assert seen == {int, kind}


def test_numbers_are_compiled_and_all_else_is_left_to_python() -> None:
    compiled = accumulated(lambda s, x: (s[0] + x, s[1] + 1), (0.0, 0), lambda s: s[0] / s[1] if s[1] else None)
    assert isinstance(compiled(col.x).steps(pa.float64(), removable=False), AggregateFunctions)
    for of_python in (max, min, operator.add, operator.mul):
        assert isinstance(accumulated(of_python)(col.x).steps(pa.int64(), removable=False), AggregateFunctions)
    for left in (accumulated(lambda s, x: s + int(str(x))), accumulated(lambda s, x: x ** s),
                 accumulated(lambda s, x: s + x if x > 3 else s / 2), accumulated(eval("lambda s, x: s + x"))):
        assert isinstance(left(col.x).steps(pa.int64(), removable=False), Objects)


def test_a_helper_is_compiled_with_the_function_that_calls_it() -> None:
    def squared(x: Any) -> Any:
        return x * x

    mine = accumulated(lambda s, x: s + squared(x))
    assert isinstance(mine(col.x).steps(pa.int64(), removable=False), AggregateFunctions)
    assert answers(mine, [3, 4]) == [25] * 3


def test_helpers_of_helpers_are_compiled_too() -> None:
    """They were not: the aggregate ran interpreted, without a note."""
    def twice(x: Any) -> Any:
        return x + x

    def squared_twice(x: Any) -> Any:
        return twice(x * x)

    mine = accumulated(lambda s, x: s + squared_twice(x))
    steps = mine(col.x).steps(pa.int64(), removable=False)
    assert isinstance(steps, AggregateFunctions)
    assert steps.accumulate.compiled_form.dispatcher((1,), 3) == (19,)
    assert answers(mine, [3, 4]) == [50] * 3
