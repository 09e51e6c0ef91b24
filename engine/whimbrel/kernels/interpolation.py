"""Linear interpolation between two values."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def between_floats(low: Array, high: Array, rest: Array, whole: int) -> Array:
    """So many parts of the way from the one to the other; from a number to an infinity it is that infinity.

    Of two signs the difference may be more than any float, and of one sign it never is. From -inf to inf there is no
    place to be: NaN.

    >>> between_floats(np.array([-1e308, -np.inf, 2.0]), np.array([1e308, 5.0, 3.0]), np.array([1, 1, 1]), 2)
    array([ 0. , -inf,  2.5])
    """
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        same_sign = np.isfinite(low) & np.isfinite(high) & (np.signbit(low) == np.signbit(high))
        along = low + (high - low) * (rest / whole)
        mixed = low * ((whole - rest) / whole) + high * (rest / whole)
        return np.where((rest == 0) | (low == high), low, np.where(same_sign, along, mixed))


def between_integers(low: Array, high: Array, rest: Array, whole: int) -> tuple[Array, Array]:
    """The same of int64, to the last digit: the integer at or below the place, and how many parts are left to it.

    >>> between_integers(np.array([-2**63, 3]), np.array([2**63 - 1, 4]), np.array([1, 1]), 2)
    (array([-1,  3]), array([1, 1]))
    """
    apart = high.view(np.uint64) - low.view(np.uint64)  # modulo 2**64, as what follows: the place is between them
    part, left = np.uint64(whole), rest.astype(np.uint64)
    over = apart % part * left
    below = low.view(np.uint64) + apart // part * left + over // part
    return below.view(np.int64), (over % part).astype(np.int64)


def as_float(below: Array, left: Array, whole: int, *, turned: bool = False) -> Array:
    """An integer and so many parts more as a float; the sum is rounded once where it is small.

    Parameters
    ----------
    below, left : numpy.ndarray of int64
    whole : int
    turned : bool
        Whether they are unsigned integers less 2**63.
    """
    if turned:
        return (below.view(np.uint64) ^ np.uint64(1 << 63)).astype(np.float64) + left / whole
    up = (below < 0) & (left > 0)  # of -1 and a bit the bit has more digits seen from 0
    nearest = np.where(up, below + 1, below)
    return nearest.astype(np.float64) + np.where(up, left - whole, left) / whole


def as_integer(below: Array, left: Array, whole: int) -> Array:
    """The nearest integer; of two the even one."""
    twice = 2 * left
    return below + ((twice > whole) | ((twice == whole) & (below % 2 != 0)))


def between_unscaled(low: list[int], high: list[int], rest: list[int], whole: int, digits: int) -> list[int]:
    """The same of decimals, in units of so many digits more; halves of the last one away from zero.

    >>> between_unscaled([-3, 10], [0, 11], [1, 1], 2, 0), between_unscaled([10], [11], [1], 2, 1)
    ([-2, 11], [105])
    """
    finer = 10**digits
    found = []
    for first, last, part in zip(low, high, rest, strict=True):
        over = (first * whole + (last - first) * part) * finer
        size = (2 * abs(over) + whole) // (2 * whole)
        found.append(size if over >= 0 else -size)
    return found
