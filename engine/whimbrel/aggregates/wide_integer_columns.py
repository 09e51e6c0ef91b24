"""Convert columns to 64-bit words, and exact sums back to columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.aggregates.wide_integer_sum import (
    NO_SUM_OF_FOUR,
    NO_SUM_OF_ONE,
    NO_SUM_OF_TWO,
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
from whimbrel.batch import Column, Mask, numpy_type
from whimbrel.plan import AggregateFunctions, ByColumns, State

Array = np.ndarray[Any, Any]

_DIGIT_BITS = 16
_DIGIT_BASE = 2**_DIGIT_BITS
"""Sums are divided in places of 16 bits: then a remainder of up to 2**47 rows and a place are an int64."""

_DIGITS_AT_ONCE = 9
"""Of a factor of less than 32 bits."""

_DIGITS_OF_WORD = 18
_DIGITS_OF_TWO = 38
"""So many digits always fit into one word of 64 bits, or two."""

_Step = Callable[..., State]
_STEPS: dict[int, tuple[State, _Step, _Step, _Step]] = {
    1: (NO_SUM_OF_ONE, one_in, one_out, one_of_both),
    2: (NO_SUM_OF_TWO, two_in, two_out, two_of_both),
    4: (NO_SUM_OF_FOUR, four_in, four_out, four_of_both),
}


def wide_sum(type_: pa.DataType, result: pa.DataType) -> AggregateFunctions:
    """The exact sum of decimals, or of integers, as a decimal of the same scale; of no rows 0."""
    return _steps(type_, functools.partial(_sums, result), always=True)


def wide_mean(type_: pa.DataType, result: pa.DataType) -> AggregateFunctions:
    """The exact mean of decimals, times or durations, rounded once; of no rows null."""
    return _steps(type_, functools.partial(_means, result, getattr(type_, "scale", 0)), always=False)


def _steps(type_: pa.DataType, join: Callable[[Sequence[Array]], Column], *, always: bool) -> AggregateFunctions:
    inputs = words_of(type_)
    init, into, out, both = _STEPS[inputs]
    return AggregateFunctions(init=init, accumulate=into, remove=out, merge=both, result=None, inputs=inputs,
                              always=always,
                 columns=ByColumns(functools.partial(split_words, inputs), join))


def words_of(type_: pa.DataType) -> int:
    """Words of 64 bits that hold every value of a type."""
    if t.is_decimal(type_):
        return 1 if type_.precision <= _DIGITS_OF_WORD else 2 if type_.precision <= _DIGITS_OF_TWO else 4
    return 2 if t.is_uint64(type_) else 1


def split_words(count: int, column: Column) -> list[Array]:
    """The words of each value, the lowest first."""
    if not t.is_decimal(column.type):
        values = np.asarray(column.values)
        if values.dtype != np.uint64:
            return [values.astype(np.int64, copy=False)]
        return [values.view(np.int64), np.zeros(len(values), np.int64)]
    data = column.to_arrow()
    buffer, width = data.buffers()[1], column.type.byte_width
    if buffer is None:
        return [np.empty(0, np.int64)] * count
    if width == 4:
        return [np.frombuffer(buffer, np.int32, len(data), 4 * data.offset).astype(np.int64)]
    each = width // 8
    parts = np.frombuffer(buffer, np.int64, each * len(data), width * data.offset).reshape(len(data), each)
    return [np.ascontiguousarray(parts[:, index]) for index in range(count)]


def _sums(result: pa.DataType, states: Sequence[Array]) -> Column:
    *limbs, _ = states
    return _column(result, *_digits(limbs), None)


def _means(result: pa.DataType, scale: int, states: Sequence[Array]) -> Column:
    """The quotient, halves away from zero as SQL rounds decimals; of times halves to the even tick."""
    *limbs, rows = states
    negative, digits = _digits(limbs)
    valid = rows > 0
    divisor = np.where(valid, rows, 1)
    shift = getattr(result, "scale", 0) - scale
    while shift > 0:
        digits, shift = _times(digits, 10 ** min(shift, _DIGITS_AT_ONCE)), shift - _DIGITS_AT_ONCE
    quotients, rest = _divided(digits, divisor)
    twice = 2 * rest
    up = twice >= divisor if t.is_decimal(result) else (
        (twice > divisor) | ((twice == divisor) & (quotients[0] % 2 == 1)))
    quotients[0] += up
    return _column(result, negative, _carried(quotients), None if valid.all() else valid)


def _digits(limbs: Sequence[Array]) -> tuple[Mask, Array]:
    """Which numbers are negative, and all without their sign in places of 16 bits, the lowest first."""
    last = limbs[-1]
    negative = last < 0
    halves = [half for limb in limbs[:-1] for half in (limb % _DIGIT_BASE, limb >> _DIGIT_BITS)]
    top = [(last >> _DIGIT_BITS * index) % _DIGIT_BASE for index in range(4)]
    digits = np.array([*halves, *top])
    return negative, _negated(digits, negative)


def _negated(digits: Array, which: Mask) -> Array:
    """Two's complement, of some numbers."""
    turned = np.where(which, _DIGIT_BASE - 1 - digits, digits)
    turned[0] += which
    return _carried(turned) % _DIGIT_BASE


def _carried(digits: Array) -> Array:
    """With what is more than a place has in the next one; the last one keeps it."""
    for index in range(len(digits) - 1):
        digits[index + 1] += digits[index] >> _DIGIT_BITS
        digits[index] %= _DIGIT_BASE
    return digits


def _times(digits: Array, factor: int) -> Array:
    """A product by a number of less than 32 bits, in two places more."""
    return _carried(np.concatenate([digits * factor, np.zeros((2, digits.shape[1]), np.int64)]))


def _divided(digits: Array, divisor: Array) -> tuple[Array, Array]:
    rest = np.zeros(digits.shape[1], np.int64)
    quotients = np.empty_like(digits)
    for index in range(len(digits) - 1, -1, -1):
        quotients[index], rest = np.divmod((rest << _DIGIT_BITS) + digits[index], divisor)
    return quotients, rest


def _column(type_: pa.DataType, negative: Mask, digits: Array, valid: Mask | None) -> Column:
    """Numbers in a type; an OverflowError where one has more digits."""
    width = type_.bit_width // 8 if t.is_decimal(type_) else 8
    kept = width // 2
    if len(digits) < kept:
        digits = np.concatenate([digits, np.zeros((kept - len(digits), digits.shape[1]), np.int64)])
    turned = _negated(digits[:kept], negative)
    if digits[kept:].any() or ((turned[-1] >= _DIGIT_BASE // 2) != (negative & digits.any(axis=0))).any():
        raise OverflowError("wide sum")
    signed = np.ascontiguousarray(turned.T.astype("<u2"))
    if not t.is_decimal(type_):
        ticks = signed.view(np.int64).ravel()
        physical = numpy_type(type_)
        return Column(type_, ticks.astype(physical, copy=False), valid)
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    data = pa.Array.from_buffers(type_, len(signed), [bits, pa.py_buffer(signed)])
    try:
        data.validate(full=True)
    except pa.ArrowInvalid:
        raise OverflowError("wide sum") from None
    return Column(type_, data)
