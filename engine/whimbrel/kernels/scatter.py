"""Scatter values to row positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import frozen
from whimbrel.kernels.compile import Compiled
from whimbrel.kernels.primitives.rows import scatter as primitive

Array = np.ndarray[Any, Any]

_mark = Compiled(primitive.mark)
_spread = Compiled(primitive.spread)


def marked(at: Array, first: int, length: int) -> Array:
    """Whether there is a row at each of so many places.

    Examples
    --------
    >>> import numpy as np
    >>> marked(np.array([11, 12]), 10, 4).tolist()
    [False, True, True, False]
    """
    there = np.zeros(length, np.bool_)
    arguments = frozen(at), first, there.view(np.int8)
    if _mark.ready(*arguments):
        _mark(*arguments)
    else:
        there[at - first] = True
    return there


def spread(values: Array, at: Array, first: int, length: int) -> Array:
    """The values of rows among so many places.

    Examples
    --------
    >>> import numpy as np
    >>> spread(np.array([5.0, 7.0]), np.array([11, 13]), 10, 4).tolist()
    [0.0, 5.0, 0.0, 7.0]
    """
    wide = np.zeros(length, values.dtype)
    given, target = (each.view(f"i{values.itemsize}") for each in (values, wide))  # one loop for all types of a width
    arguments = frozen(given), frozen(at), first, target
    if _spread.ready(*arguments):
        _spread(*arguments)
    else:
        wide[at - first] = values
    return wide
