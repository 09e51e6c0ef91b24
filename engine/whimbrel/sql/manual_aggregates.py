"""Aggregates over the bits of integers, by TigonSQL's names and by SQL's."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from whimbrel import stream as wb
from whimbrel.aggregates import UserFunctions
from whimbrel.expr import Expr
from whimbrel.plan import Aggregate


def _all_bits(state: Any, x: Any) -> Any:
    return state & x


def _any_bit(state: Any, x: Any) -> Any:
    return state | x


def _odd_bits(state: Any, x: Any) -> Any:
    return state ^ x


def _state(state: Any) -> Any:
    return state


BITS: Final[dict[str, UserFunctions]] = {
    "bit_and": wb.aggregate(init=-1, accumulate=_all_bits, merge=_all_bits, result=_state, name="bit_and"),
    "bit_or": wb.aggregate(init=0, accumulate=_any_bit, merge=_any_bit, result=_state, name="bit_or"),
    "bit_xor": wb.aggregate(init=0, accumulate=_odd_bits, merge=_odd_bits, remove=_odd_bits, result=_state,
                            name="bit_xor"),
}
"""Aggregates of integers, each a value of nothing."""

_BY_MANUAL: Final = {"and_aggr": "bit_and", "or_aggr": "bit_or", "xor_aggr": "bit_xor"}
BIT_AGGREGATES: Final = (*BITS, *_BY_MANUAL)
"""Names of aggregates over bits."""


def bit_aggregate(name: str, x: Expr, type_: pa.DataType) -> Aggregate:
    """The aggregate of a name, over integers or conditions."""
    name = _BY_MANUAL.get(name, name)
    if pa.types.is_boolean(type_):
        return {"bit_and": wb.all, "bit_or": wb.any}[name](x)
    return BITS[name](x)
