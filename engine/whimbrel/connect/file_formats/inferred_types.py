"""Types of columns, inferred from first rows that may be dirty."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.connect.files.common_type import wider_type

_MOST_ROWS = 1000
_Value = TypeVar("_Value")


class UntypedError(UnreadableError):
    """A column has no type that holds the values of its first rows.

    Parameters
    ----------
    what : str
    hint : str
        What the user can do.
    """

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def common_time_type(values: Sequence[_Value], type_of: Callable[[_Value], pa.DataType]) -> pa.DataType | None:
    """The type of times that more than half of the values have; None if there is none.

    Examples
    --------
    >>> types = {"5": pa.int64(), "6": pa.int64(), "?": pa.string()}
    >>> common_time_type(["5", "?", "6"], types.__getitem__)
    DataType(int64)
    """
    looked_at = values[:_MOST_ROWS]
    kinds: dict[str | None, list[pa.DataType]] = defaultdict(list)
    for type_ in map(type_of, looked_at):
        if is_time_type(type_):
            kinds["integer" if pa.types.is_integer(type_) else getattr(type_, "tz", None)].append(type_)
    most = max(kinds.values(), key=len, default=[])
    return reduce(_wider_time, most) if 2 * len(most) > len(looked_at) else None


def has_large(values: pa.ChunkedArray) -> bool:
    """Whether floats are so large that they may be integers that int64 does not hold."""
    return bool(pc.any(pc.greater_equal(pc.abs(values), 2.0**63)).as_py())


def whole_type(values: Sequence[int]) -> pa.DataType | None:
    """The type that holds integers; None if there is none.

    >>> whole_type([1, 2**63]), whole_type([-1, 2**63])
    (DataType(uint64), None)
    """
    if min(values) >= -(2**63) and max(values) < 2**63:
        return pa.int64()
    return pa.uint64() if min(values) >= 0 and max(values) < 2**64 else None


def is_time_type(type_: pa.DataType) -> bool:
    """Whether a column of this type may be the event time."""
    return bool(pa.types.is_integer(type_) or pa.types.is_date(type_) or pa.types.is_timestamp(type_))


def _wider_time(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """A type for both; days are also times."""
    days = pa.types.is_date(one) != pa.types.is_date(other)
    return pa.timestamp("us") if days else wider_type(one, other)
