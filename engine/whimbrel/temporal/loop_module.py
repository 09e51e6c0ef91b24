"""The module of a generated loop: its arrays, imports and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.kernels.source_text import indented
from whimbrel.plan import AggregateFunctions, TwoPasses
from whimbrel.plan.aggregate_source import Functions


@dataclass(frozen=True)
class FunctionNames:
    """The functions of one aggregate, by their names in a module; None: it has no such function, or needs none.

    Parameters
    ----------
    number : int
        The aggregate has it in the names of its variables.
    user_defined : bool
        The functions may fail for values that are not there.
    """

    number: int
    user_defined: bool
    accumulate: str
    result: str
    merge: str | None = None
    turn: str | None = None
    again: str | None = None


class LoopModule:
    """What is collected while the loops of a module are written.

    Parameters
    ----------
    max_slots : int
        The most places that are given at once.
    """

    def __init__(self, max_slots: int) -> None:
        self.max_slots = max_slots
        self.imports: dict[str, str] = {}
        self.functions: Functions = {}
        self.scratch: dict[str, tuple[np.dtype[Any], int]] = {}
        self.definitions: list[str] = []
        self._defined: dict[Any, str] = {}
        self._numbers = 0

    def number(self) -> int:
        """The next number for names."""
        self._numbers += 1
        return self._numbers

    def array(self, name: str, dtype: np.dtype[Any], length: int) -> str:
        """An array in which the loops work."""
        self.scratch[name] = np.dtype(dtype), length
        return name

    def array_by_slot(self, name: str, dtype: np.dtype[Any]) -> str:
        """An array that has a value for every place."""
        return self.array(name, dtype, self.max_slots)

    def aggregate(self, algebra: AggregateFunctions | TwoPasses, *, merged: bool = False) -> FunctionNames:
        """Names for the functions of an aggregate. They keep their own, but user-defined ones are named by a number."""
        number, names, user_defined = self.number(), dict[str, str](), False
        passes = ["accumulate", "turn", "again"] if isinstance(algebra, TwoPasses) else ["accumulate"]
        for role in [*passes, *(["merge"] if merged else []), "result"]:
            function: Callable[..., Any] = getattr(algebra, role)
            names[role] = name = function.__name__
            if function.__module__.startswith("whimbrel.aggregates.") and "<" not in function.__qualname__ and (
                    self.imports.setdefault(name, function.__module__) == function.__module__):
                continue
            names[role] = f"{role}{number}"
            self.functions[names[role]] = function
            user_defined = user_defined or role == "accumulate"
        return FunctionNames(number, user_defined, **names)

    def define(self, key: Any, name: str, lines: Callable[[], list[str]]) -> str:
        """The name of the function with this key, which is written once."""
        if key not in self._defined:
            self._defined[key] = name
            head, *body = lines()
            self.definitions += [f"def {name}({head}):", *indented(body), "", ""]
        return self._defined[key]
