"""Compiled form of user functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from whimbrel.kernels.checked_arithmetic import primitives, vectorized_primitives
from whimbrel.kernels.compile import jittable


@dataclass(frozen=True, eq=False)
class CompiledForm:
    """Source text that answers as a Python function does, or asks it.

    Parameters
    ----------
    text : str
        Defines a function `name`; it may call the primitives of :mod:`whimbrel.kernels.checked_arithmetic`, and
        ``slow``, which calls `python`.
    name : str
    python : callable
        Takes what the function takes.
    answer : sequence of {"int64", "float64", "boolean"}
        What `python` answers with: so many numbers in a tuple. Empty: the text never asks it, and is for loops over
        many states.
    """

    text: str
    name: str
    python: Callable[..., Any]
    answer: Sequence[str]

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The function, compiled when it is called."""
        import math

        import numba
        import numpy as np

        scope: dict[str, Any] = {"__name__": "whimbrel_generated", "math": math, "np": np}
        scope |= primitives() | {"slow": self._slow()} if self.answer else vectorized_primitives()
        exec(self.text, scope)
        return numba.njit(nogil=True)(jittable(scope[self.name], numba.njit))

    def _slow(self) -> Any:
        """What asks Python."""
        import numba

        kinds = f"Tuple(({', '.join(self.answer)},))"
        lines = ["def make(objmode, python):", "    def slow(*given):", f"        with objmode(out='{kinds}'):",
                 "            out = python(*given)", "        return out", "    return slow", ""]
        scope: dict[str, Any] = {}
        exec("\n".join(lines), scope)
        return numba.njit(scope["make"](numba.objmode, self.python))


def with_compiled_form(function: Callable[..., Any], form: CompiledForm | None) -> Callable[..., Any]:
    """The function, and what stands for it in compiled code; None: it is never compiled."""
    function.__dict__["compiled_form"] = form
    return function
