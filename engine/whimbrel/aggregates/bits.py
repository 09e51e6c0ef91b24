"""Bitwise AND, OR and XOR of integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.errors import ExpressionError
from whimbrel.plan import Aggregate, AggregateFunctions, State

_SIGN = -(2**63)
"""Unsigned integers of 64 bits arrive with this bit the other way around."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Bits(Aggregate):
    """Common part of the aggregates over bits: the state is (bits, count)."""

    takes_turned: ClassVar[bool] = True

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        assert input_type is not None
        if pa.types.is_integer(input_type) or pa.types.is_boolean(input_type):
            return input_type
        raise ExpressionError(f"{self.name} needs integers or bools, got {input_type}.", where=self.show(),
                              hint="Cast the values to integers.")


@dataclass(frozen=True, kw_only=True, eq=False)
class BitAnd(Bits):
    """Bits that all integers have.

    Nulls are left out; without a value the result is null. Of bools it is whether all are true.

        time     0    5    10
        in       6────────         bit_and over [0, 5) is 6, over [5, 10) is 2
                      3────

    Notes
    -----
    State: two integers a group; where rows also leave, the values of active rows on two stacks.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": [6, 3, 8]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.bit_and(wb.col.x)).collect()["v"].to_pylist()
    [2, 8]
    """

    name: ClassVar[str] = "bit_and"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        return AggregateFunctions(init=(-1, 0), merge=and_of_both, result=bits,
                                  accumulate=and_turned if pa.types.is_uint64(input_type) else and_bits)


@dataclass(frozen=True, kw_only=True, eq=False)
class BitOr(Bits):
    """Bits that at least one integer has.

    Nulls are left out; without a value the result is null. Of bools it is whether one is true.

        time     0    5    10
        in       6────────         bit_or over [0, 5) is 6, over [5, 10) is 7
                      3────

    Notes
    -----
    State: as for :class:`BitAnd`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": [6, 3, 8]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.bit_or(wb.col.x)).collect()["v"].to_pylist()
    [7, 8]
    """

    name: ClassVar[str] = "bit_or"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        return AggregateFunctions(init=(0, 0), merge=or_of_both, result=bits,
                                  accumulate=or_turned if pa.types.is_uint64(input_type) else or_bits)


@dataclass(frozen=True, kw_only=True, eq=False)
class BitXor(Bits):
    """Bits that an odd number of integers have.

    Nulls are left out; without a value the result is null. Of bools it is whether an odd number is true.

        time     0    5    10
        in       6────────         bit_xor over [0, 5) is 6, over [5, 10) is 5
                      3────

    Notes
    -----
    State: two integers a group. Rows that leave are taken out of it.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": [6, 3, 8]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.bit_xor(wb.col.x)).collect()["v"].to_pylist()
    [5, 8]
    """

    name: ClassVar[str] = "bit_xor"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        turned = pa.types.is_uint64(input_type)
        return AggregateFunctions(init=(0, 0), merge=xor_of_both, result=bits,
                                  accumulate=xor_turned if turned else xor_bits,
                                  remove=xor_turned_out if turned else xor_out)


def and_bits(state: State, value: Any) -> State:
    return (state[0] & value, state[1] + 1)


def or_bits(state: State, value: Any) -> State:
    return (state[0] | value, state[1] + 1)


def xor_bits(state: State, value: Any) -> State:
    return (state[0] ^ value, state[1] + 1)


def xor_out(state: State, value: Any) -> State:
    return (state[0] ^ value, state[1] - 1)


def and_turned(state: State, value: Any) -> State:
    return (state[0] & (value ^ _SIGN), state[1] + 1)


def or_turned(state: State, value: Any) -> State:
    return (state[0] | (value ^ _SIGN), state[1] + 1)


def xor_turned(state: State, value: Any) -> State:
    return (state[0] ^ (value ^ _SIGN), state[1] + 1)


def xor_turned_out(state: State, value: Any) -> State:
    return (state[0] ^ (value ^ _SIGN), state[1] - 1)


def and_of_both(left: State, right: State) -> State:
    return (left[0] & right[0], left[1] + right[1])


def or_of_both(left: State, right: State) -> State:
    return (left[0] | right[0], left[1] + right[1])


def xor_of_both(left: State, right: State) -> State:
    return (left[0] ^ right[0], left[1] + right[1])


def bits(state: State) -> Any:
    if state[1] == 0:
        return None
    return state[0]
