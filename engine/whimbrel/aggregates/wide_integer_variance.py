"""Exact variance of decimals and durations, rounded at the end.

A value comes with its square, in words of 64 bits, the lowest first; sums are limbs as in :mod:`.wide_integer_sum`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.aggregates.wide_integer_columns import split_words, words_of
from whimbrel.aggregates.wide_integer_sum import (
    NO_SUM_OF_EIGHT,
    NO_SUM_OF_FOUR,
    NO_SUM_OF_ONE,
    NO_SUM_OF_TWO,
    eight_in,
    eight_of_both,
    eight_out,
    four_in,
    four_of_both,
    four_out,
    one_in,
    one_of_both,
    one_out,
    two_in,
    two_of_both,
    two_out,
)
from whimbrel.batch import Column, numpy_type
from whimbrel.plan import AggregateFunctions, ByColumns, State

Array = np.ndarray[Any, Any]

_BITS = 32
_LOW = np.uint64(2**_BITS - 1)
_HALF_BITS = np.uint64(_BITS)


def one_squared_in(state: State, value: Any, a: Any, b: Any) -> State:
    return (*one_in(state[:3], value), *two_in(state[3:], a, b))


def one_squared_out(state: State, value: Any, a: Any, b: Any) -> State:
    return (*one_out(state[:3], value), *two_out(state[3:], a, b))


def one_squared_of_both(left: State, right: State) -> State:
    return (*one_of_both(left[:3], right[:3]), *two_of_both(left[3:], right[3:]))


def two_squared_in(state: State, low: Any, high: Any, a: Any, b: Any, c: Any, d: Any) -> State:
    return (*two_in(state[:5], low, high), *four_in(state[5:], a, b, c, d))


def two_squared_out(state: State, low: Any, high: Any, a: Any, b: Any, c: Any, d: Any) -> State:
    return (*two_out(state[:5], low, high), *four_out(state[5:], a, b, c, d))


def two_squared_of_both(left: State, right: State) -> State:
    return (*two_of_both(left[:5], right[:5]), *four_of_both(left[5:], right[5:]))


def four_squared_in(state: State, v: Any, w: Any, x: Any, y: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any,
                    g: Any, h: Any) -> State:
    return (*four_in(state[:9], v, w, x, y), *eight_in(state[9:], a, b, c, d, e, f, g, h))


def four_squared_out(state: State, v: Any, w: Any, x: Any, y: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any,
                     g: Any, h: Any) -> State:
    return (*four_out(state[:9], v, w, x, y), *eight_out(state[9:], a, b, c, d, e, f, g, h))


def four_squared_of_both(left: State, right: State) -> State:
    return (*four_of_both(left[:9], right[:9]), *eight_of_both(left[9:], right[9:]))


_Step = Callable[..., State]
_STEPS: dict[int, tuple[State, _Step, _Step, _Step]] = {
    1: ((*NO_SUM_OF_ONE, *NO_SUM_OF_TWO), one_squared_in, one_squared_out, one_squared_of_both),
    2: ((*NO_SUM_OF_TWO, *NO_SUM_OF_FOUR), two_squared_in, two_squared_out, two_squared_of_both),
    4: ((*NO_SUM_OF_FOUR, *NO_SUM_OF_EIGHT), four_squared_in, four_squared_out, four_squared_of_both),
}


def wide_spread(type_: pa.DataType, result: pa.DataType, *, root: bool, sample: bool) -> AggregateFunctions:
    """The variance, or its root: of decimals as a float, of durations, of which there is a root only, as a duration."""
    words = words_of(type_)
    init, into, out, both = _STEPS[words]
    join = functools.partial(_spreads, words, result, getattr(type_, "scale", 0), root, sample)
    return AggregateFunctions(init=init, accumulate=into, remove=out, merge=both, result=None, inputs=3 * words,
                 columns=ByColumns(functools.partial(_split_squared, words), join))


def _split_squared(words: int, column: Column) -> list[Array]:
    """The words of each value, then those of its square."""
    values = split_words(words, column)
    digits = [half for word in values for half in (word.view(np.uint64) & _LOW, word.view(np.uint64) >> _HALF_BITS)]
    negative = (values[-1] < 0).astype(np.uint64)
    carry = negative
    for index, digit in enumerate(digits):  # two's complement of those below zero
        turned = (digit ^ (negative * _LOW)) + carry
        digits[index], carry = turned & _LOW, turned >> _HALF_BITS
    squared = [np.zeros(len(column), np.uint64) for _ in range(2 * len(digits))]
    for index, digit in enumerate(digits):
        for other, factor in enumerate(digits):
            product = digit * factor
            squared[index + other] += product & _LOW
            squared[index + other + 1] += product >> _HALF_BITS
    for index in range(len(squared) - 1):
        squared[index + 1] += squared[index] >> _HALF_BITS
        squared[index] &= _LOW
    pairs = zip(squared[::2], squared[1::2], strict=True)
    return [*values, *((low | high << _HALF_BITS).view(np.int64) for low, high in pairs)]


def _spreads(words: int, result: pa.DataType, scale: int, root: bool, sample: bool,
             states: Sequence[Array]) -> Column:
    """What exact sums make, in Python's integers, which have as many digits as it takes."""
    *sums, rows = states[: 2 * words + 1]
    squares = states[2 * words + 1 : -1]
    minimum = 1 + sample
    valid = rows >= minimum
    physical = numpy_type(result)
    found = np.zeros(len(rows), physical)
    at = np.flatnonzero(valid)
    of = _span if t.is_duration(result) else functools.partial(_float, scale, root)
    many, all_sums, all_squares = rows[at].tolist(), _whole(sums, at), _whole(squares, at)
    for index, count, total, square in zip(at.tolist(), many, all_sums, all_squares, strict=True):
        found[index] = of(count * square - total * total, count * (count - sample))
    return Column(result, found, None if valid.all() else valid)


def _whole(limbs: Sequence[Array], at: Array) -> list[int]:
    return [sum(limb << _BITS * index for index, limb in enumerate(each))
            for each in zip(*(limb[at].tolist() for limb in limbs), strict=True)]


def _float(scale: int, root: bool, over: int, under: int) -> float:
    """A variance of so many ticks of 10**-scale each, or its root; one that no float holds is infinite."""
    over, under = (over, under * 100**scale) if scale >= 0 else (over * 100**-scale, under)
    try:
        return math.sqrt(over / under) if root else over / under
    except OverflowError:
        return math.inf


def _span(over: int, under: int) -> int:
    """The root in ticks, rounded to the nearest one; of two the even one."""
    twice = math.isqrt(4 * over // under)
    up = twice % 2 and (twice * twice * under != 4 * over or twice // 2 % 2)
    ticks = twice // 2 + bool(up)
    if ticks >= 2**63:
        raise OverflowError("wide spread")
    return ticks
