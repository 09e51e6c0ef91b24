"""Aggregates whose state is a collection of values rather than a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from whimbrel.batch import numpy_type


@dataclass(frozen=True, slots=True)
class Bag:
    """Every value of a group is kept, in order, until its row leaves.

    Parameters
    ----------
    choice : int
        What is shown of the values; see :mod:`whimbrel.kernels.primitives.bags`.
    share, whole : int
        Its arguments: how many values are shown, or ``share / whole`` of the way through them.
    timed : bool
        Whether values are ordered by the start of their rows, and only then by themselves.
    """

    choice: int
    share: int = 0
    whole: int = 1
    timed: bool = False


def is_ordered(type_: pa.DataType | None) -> bool:
    """Whether values of a type can be kept in a bag: there is a smaller and a larger, and equal ones are the same."""
    if type_ is None:
        return False
    return numpy_type(type_) is not None or any(holds(type_) for holds in (
        pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary,
        pa.types.is_fixed_size_binary, pa.types.is_decimal))
