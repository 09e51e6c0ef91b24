"""Evaluate functions of one float by compiled loops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import frozen
from whimbrel.expr.checked_integers import power_of_ten
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.arithmetic import number_loops as primitive

Array = np.ndarray[Any, Any]

C_FUNCTIONS: Final = {"exp": pc.exp, "log": pc.ln, "sin": pc.sin, "cos": pc.cos}
"""Functions of the C library, by name: Arrow calls them for each row."""
_LOOPS: Final = {"sqrt": Compiled(primitive.write_roots), "exp": Compiled(primitive.write_exponentials),
                 "log": Compiled(primitive.write_logarithms), "sin": Compiled(primitive.write_sines),
                 "cos": Compiled(primitive.write_cosines)}
_rounded = Compiled(primitive.write_rounded)
_WORTH_COMPILING_ROWS: Final = 4_096
"""Rows from which on the loop gains more than asking whether it is ready costs."""


def of_floats(function: str, x: Any, out: Array | None = None) -> Any:
    """``sqrt``, ``exp``, ``log``, ``sin`` or ``cos`` of an array of floats, or of one; in `out` if there is one.

    Examples
    --------
    >>> of_floats("sqrt", np.array([4.0, 9.0])).tolist()
    [2.0, 3.0]
    """
    return _by_loop(_LOOPS[function], x, (), out, functools.partial(_found, function))


def rounded(x: Any, digits: int, out: Array | None = None) -> Any:
    """An array of floats, or one, rounded to so many digits; halves to the even neighbour."""
    scale = x.dtype.type(power_of_ten(abs(digits)))
    if digits >= 0:
        return _by_loop(_rounded, x, (float(scale),), out, functools.partial(_to_parts, scale))
    return _in(out, _to_multiples(scale, x))


def _by_loop(loop: Compiled, x: Any, given: tuple[float, ...], out: Array | None,
             otherwise: Callable[[Any], Any]) -> Any:
    if x.ndim and x.dtype == np.float64 and len(x) >= _WORTH_COMPILING_ROWS:
        made, x = np.empty(len(x)) if out is None else out, frozen(x)
        if loop.ready(x, *given, made):
            loop(x, *given, made)
            return made
    return _in(out, otherwise(x))


def _in(out: Array | None, found: Any) -> Any:
    if out is None:
        return found
    out[:] = found
    return out


def _found(function: str, x: Any) -> Any:
    return np.sqrt(x) if function == "sqrt" else in_double(C_FUNCTIONS[function], x.dtype, x)


def _to_parts(scale: Any, x: Any) -> Any:
    steps = x * scale
    return np.where(np.isfinite(steps), np.rint(steps) / scale, x)[()]


def _to_multiples(step: Any, x: Any) -> Any:
    steps = x / step
    nearest = np.rint(steps)
    return np.where(np.isfinite(steps), np.where(nearest == 0, nearest, nearest * step), x)[()]


def in_double(function: Any, dtype: Any, *operands: Any) -> Any:
    """What an Arrow function of doubles makes of columns and scalars, in NumPy's hands again."""
    scalar = not any(each.ndim for each in operands)
    given = [pa.array(np.atleast_1d(each).astype(np.float64, copy=False)) if each.ndim or scalar
             else pa.scalar(float(each), pa.float64()) for each in operands]
    found = np.asarray(function(*given).to_numpy()).astype(dtype, copy=False)
    return found[0] if scalar else found
