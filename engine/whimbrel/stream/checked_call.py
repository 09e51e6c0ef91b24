"""Errors of calls with missing or unknown arguments."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar

from whimbrel.errors import CallError, near_match

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

_EXAMPLES: Final = {"time": 'time="at", the event-time column', "rate": "rate=1000, the samples per second",
                    "path": 'a path, such as "log.parquet"', "sync": 'sync="at", the column of times',
                    "other": 'other="of", the column of the other ends', "value": "a value, such as col.x",
                    "condition": "a condition, such as col.x > 3", "size": 'a duration, such as "1h"',
                    "within": 'within="10m", a duration', "right": "the other stream", "q": "q=0.9, a share"}


def checked_call(function: Callable[P, R], name: str = "") -> Callable[P, R]:
    """Refuse a call with a missing or unknown argument, with what to write.

    Examples
    --------
    >>> @checked_call
    ... def read(path, *, time):
    ...     return time
    >>> read("log.csv", time="at")
    'at'
    >>> read("log.csv")
    Traceback (most recent call last):
    whimbrel.errors.CallError: read() needs time=.
      where: read(...)
      hint:  Add time="at", the event-time column.
    """
    called = name or getattr(function, "__name__", "call")

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            _check(called, function, args, kwargs)  # only now: it takes longer than most calls
            raise

    return call


def check_functions(package: dict[str, Any], names: Iterable[str]) -> None:
    """Make every function of these names a :func:`checked_call`, also in its own module, where pickle looks it up."""
    for name in names:
        function = package[name]
        if isinstance(function, FunctionType):
            package[name] = checked_call(function)
            setattr(sys.modules[function.__module__], function.__name__, package[name])


def checked_methods(kind: type[C]) -> type[C]:
    """Make every public method of a class, also of those that it inherits, a :func:`checked_call`.

    Examples
    --------
    >>> @checked_methods
    ... class Log:
    ...     def head(self, rows=10):
    ...         return rows
    >>> Log().head(row=3)
    Traceback (most recent call last):
    whimbrel.errors.CallError: head() has no argument 'row'.
      where: head(...)
      hint:  Use 'rows'; the arguments are rows.
    """
    for holder in kind.__mro__[:-1]:
        for name, method in [*vars(holder).items()]:
            if isinstance(method, FunctionType) and not name.startswith("_"):
                setattr(holder, name, checked_call(method))
    return kind


def _check(called: str, function: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **given)
    except TypeError:
        pass
    else:
        return
    where, parameters = f"{called}(...)", dict(signature.parameters)
    if next(iter(parameters), "") == "self":
        del parameters["self"]
        args = args[1:]
    by_place = [each for each in parameters.values() if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    if len(args) > len(by_place):
        others = [each.name for each in parameters.values() if each.kind == each.KEYWORD_ONLY]
        raise CallError(f"{called}() takes {len(by_place)} argument{'s' * (len(by_place) != 1)} by place, "
                        f"got {len(args)}.", where=where,
                        hint=f"Give the others by name, such as {_example(others[0])}." if others else "")
    open_ended = any(each.kind == each.VAR_KEYWORD for each in parameters.values())
    unknown = next((key for key in given if key not in parameters and not open_ended), None)
    if unknown is not None:
        raise CallError(f"{called}() has no argument {unknown!r}.", where=where,
                        hint=near_match(unknown, parameters, noun="argument"))
    placed = {each.name for each in by_place[: len(args)]}
    for each in parameters.values():
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL) and (
                each.name not in given and each.name not in placed):
            raise CallError(f"{called}() needs {each.name}{'=' * (each.kind == each.KEYWORD_ONLY)}.", where=where,
                            hint=f"Add {_example(each.name)}.")


def _example(name: str) -> str:
    return _EXAMPLES.get(name, f"{name}=...")
