"""Functions of the C library, one number at a time.

Compiled code calls the same addresses (see ``kernels.intrinsics``), so every tier has the same bits. None of them
fails: outside of its domain a function is nan, and beyond the largest float it is infinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.c_library import c_function


def c_exp(x: Any) -> Any:
    return np.float64(c_function("exp")(x))


def c_log(x: Any) -> Any:
    return np.float64(c_function("log")(x))


def c_sin(x: Any) -> Any:
    return np.float64(c_function("sin")(x))


def c_cos(x: Any) -> Any:
    return np.float64(c_function("cos")(x))


def c_pow(x: Any, y: Any) -> Any:
    return np.float64(c_function("pow")(x, y))


C_NAMES = {c_exp: "exp", c_log: "log", c_sin: "sin", c_cos: "cos", c_pow: "pow"}
"""What each is called in the C library."""
