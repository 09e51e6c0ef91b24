"""Functions of the C library, by address.

NumPy, LLVM and the C library round the last bit of ``exp`` or ``pow`` differently, and NumPy does so by processor. One
address for every tier gives the same bits.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from typing import Any

_ARGUMENTS = {"exp": 1, "log": 1, "sin": 1, "cos": 1, "pow": 2}


@functools.cache
def c_function(name: str) -> Any:
    """A function from doubles to a double, callable from Python.

    Raises
    ------
    AttributeError
        When the C library has no function of that name.
    """
    function = getattr(_library(), name)
    function.argtypes, function.restype = [ctypes.c_double] * _ARGUMENTS[name], ctypes.c_double
    return function


@functools.cache
def in_compiled_code(name: str) -> Any:
    """The same function for numba.

    LLVM does not recognize the symbol, so it puts no product in place of ``pow``. Unlike an address, a symbol
    can stand in cached machine code.
    """
    from llvmlite import binding
    from numba import types

    symbol = f"whimbrel_{name}"
    binding.add_symbol(symbol, ctypes.cast(c_function(name), ctypes.c_void_p).value)
    return types.ExternalFunction(symbol, types.float64(*[types.float64] * _ARGUMENTS[name]))


@functools.cache
def _library() -> ctypes.CDLL:
    try:
        found = ctypes.CDLL(None)  # on POSIX the functions of this process, which include those of its C library
        found.pow  # noqa: B018 - asks whether it is there
    except (AttributeError, TypeError):
        return ctypes.CDLL(ctypes.util.find_library("m") or "ucrtbase")  # Windows
    return found
