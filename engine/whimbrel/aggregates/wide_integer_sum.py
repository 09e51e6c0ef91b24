"""Exact sums of wide integers: 32-bit limbs with carries.

A value comes in words of 64 bits, the lowest first, the sign in the last of them. All limbs of a sum are from 0 to
2**32 - 1 but the last one, which has the sign and holds the carries of 2**31 rows of any size.
"""

from __future__ import annotations

from typing import Any

from whimbrel.plan import State

_BITS = 32
_LOW = 2**_BITS - 1

NO_SUM_OF_ONE: State = (0,) * 3
NO_SUM_OF_TWO: State = (0,) * 5
NO_SUM_OF_FOUR: State = (0,) * 9
NO_SUM_OF_EIGHT: State = (0,) * 17
"""Of no rows: two limbs for each word of a value, and the number of rows."""


def one_in(state: State, value: Any) -> State:
    return with_two(state, 1, value & _LOW, value >> _BITS, 1)


def one_out(state: State, value: Any) -> State:
    return with_two(state, -1, value & _LOW, value >> _BITS, 1)


def one_of_both(left: State, right: State) -> State:
    return with_two(left, 1, right[0], right[1], right[2])


def with_two(state: State, sign: Any, first: Any, last: Any, rows: Any) -> State:
    """The state with two limbs more, or less, and so many rows."""
    low = state[0] + sign * first
    return (low & _LOW, state[1] + sign * last + (low >> _BITS), state[2] + sign * rows)


def two_in(state: State, low: Any, high: Any) -> State:
    return with_four(state, 1, (low & _LOW, (low >> _BITS) & _LOW, high & _LOW, high >> _BITS, 1))


def two_out(state: State, low: Any, high: Any) -> State:
    return with_four(state, -1, (low & _LOW, (low >> _BITS) & _LOW, high & _LOW, high >> _BITS, 1))


def two_of_both(left: State, right: State) -> State:
    return with_four(left, 1, right)


def with_four(state: State, sign: Any, more: State) -> State:
    """The state with four limbs and a number of rows more, or less."""
    a = state[0] + sign * more[0]
    b = state[1] + sign * more[1] + (a >> _BITS)
    c = state[2] + sign * more[2] + (b >> _BITS)
    d = state[3] + sign * more[3] + (c >> _BITS)
    return (a & _LOW, b & _LOW, c & _LOW, d, state[4] + sign * more[4])


def four_in(state: State, a: Any, b: Any, c: Any, d: Any) -> State:
    return with_eight(state, 1, (a & _LOW, (a >> _BITS) & _LOW, b & _LOW, (b >> _BITS) & _LOW,
                                 c & _LOW, (c >> _BITS) & _LOW, d & _LOW, d >> _BITS, 1))


def four_out(state: State, a: Any, b: Any, c: Any, d: Any) -> State:
    return with_eight(state, -1, (a & _LOW, (a >> _BITS) & _LOW, b & _LOW, (b >> _BITS) & _LOW,
                                  c & _LOW, (c >> _BITS) & _LOW, d & _LOW, d >> _BITS, 1))


def four_of_both(left: State, right: State) -> State:
    return with_eight(left, 1, right)


def with_eight(state: State, sign: Any, more: State) -> State:
    """The state with eight limbs and a number of rows more, or less."""
    a = state[0] + sign * more[0]
    b = state[1] + sign * more[1] + (a >> _BITS)
    c = state[2] + sign * more[2] + (b >> _BITS)
    d = state[3] + sign * more[3] + (c >> _BITS)
    e = state[4] + sign * more[4] + (d >> _BITS)
    f = state[5] + sign * more[5] + (e >> _BITS)
    g = state[6] + sign * more[6] + (f >> _BITS)
    h = state[7] + sign * more[7] + (g >> _BITS)
    return (a & _LOW, b & _LOW, c & _LOW, d & _LOW, e & _LOW, f & _LOW, g & _LOW, h, state[8] + sign * more[8])


def eight_in(state: State, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> State:
    return with_sixteen(state, 1, (*four_limbs(a, b), *four_limbs(c, d), *four_limbs(e, f), g & _LOW,
                                   (g >> _BITS) & _LOW, h & _LOW, h >> _BITS, 1))


def eight_out(state: State, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> State:
    return with_sixteen(state, -1, (*four_limbs(a, b), *four_limbs(c, d), *four_limbs(e, f), g & _LOW,
                                    (g >> _BITS) & _LOW, h & _LOW, h >> _BITS, 1))


def eight_of_both(left: State, right: State) -> State:
    return with_sixteen(left, 1, right)


def four_limbs(low: Any, high: Any) -> Any:
    """Of two words that others follow."""
    return low & _LOW, (low >> _BITS) & _LOW, high & _LOW, (high >> _BITS) & _LOW


def with_sixteen(state: State, sign: Any, more: State) -> State:
    """The state with sixteen limbs and a number of rows more, or less: the lower half first, then with its carry."""
    low = with_eight((*state[:8], 0), sign, (*more[:8], 0))
    carry = sign * (low[7] >> _BITS)
    high = with_eight(state[8:], sign, (more[8] + carry, *more[9:]))
    return (*low[:7], low[7] & _LOW, *high)
