"""Views of neighboring times in a shared array, which avoid a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]

_PART = 8_192
"""Times that are compared at once: what they are compared by stays in the cache."""


def surroundings(times: Array, before: int, after: int) -> Array | None:
    """Widen a view of times by neighbors of its array; None when the array has too few.

    The array must have memory that does not change: Arrow's, or that of a :class:`Storage`.

    Examples
    --------
    >>> whole = np.frombuffer(pa.py_buffer(np.array([1, 2, 5, 6])), np.int64)
    >>> surroundings(whole[1:3], 1, 0).tolist(), surroundings(whole[1:], 0, 1)
    ([1, 2, 5], None)
    """
    whole = times.base
    if not isinstance(whole, np.ndarray) or whole.dtype != times.dtype:
        return None
    if not isinstance(whole.base, pa.Buffer | memoryview):
        return None
    first = (_address(times) - _address(whole)) // times.itemsize - before
    stop = first + before + len(times) + after
    return whole[first:stop] if first >= 0 and stop <= len(whole) else None


def following(times: Array, step: int, *, evenly: bool = False) -> Array | None:
    """Each time and a step, if that is when the next begins, and an array says so already; None elsewhere.

    Parameters
    ----------
    times : array of int64
    step : int
    evenly : bool
        Whether times are known to be a step apart from each other.

    Examples
    --------
    >>> whole = np.frombuffer(pa.py_buffer(np.array([1, 2, 3, 6])), np.int64)
    >>> following(whole[:2], 1).tolist(), following(whole[:3], 1)
    ([2, 3], None)
    """
    wide = surroundings(times, 0, 1)
    if wide is None or int(wide[-1]) - int(wide[0]) != len(times) * step:
        return None
    next_ = wide[1:]
    evenly = evenly or all((next_[row : row + _PART] - times[row : row + _PART] == step).all()
                           for row in range(0, len(times), _PART))
    return next_ if evenly else None


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
