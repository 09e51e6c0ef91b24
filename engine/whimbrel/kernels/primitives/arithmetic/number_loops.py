"""Functions of one float over a whole column, each in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.arithmetic.c_math import c_cos, c_exp, c_log, c_sin

Array = np.ndarray[Any, Any]


def write_roots(x: Array, out: Array) -> None:
    """Write square roots. The compiler takes the widest registers, NumPy those of SSE."""
    for row in range(out.shape[0]):
        out[row] = np.sqrt(x[row])


def write_exponentials(x: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        out[row] = c_exp(x[row])


def write_logarithms(x: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        out[row] = c_log(x[row])


def write_sines(x: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        out[row] = c_sin(x[row])


def write_cosines(x: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        out[row] = c_cos(x[row])


def write_rounded(x: Array, scale: float, out: Array) -> None:
    """Write the nearest multiples of one part of so many, of two the even one."""
    for row in range(out.shape[0]):
        value = x[row]
        steps = value * scale
        nearest = np.rint(steps) / scale
        out[row] = nearest if abs(steps) < np.inf else value  # so large a number is whole
