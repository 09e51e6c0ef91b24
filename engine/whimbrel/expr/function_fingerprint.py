"""Fingerprint a Python function by its behavior, across processes."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_PLAIN = (int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic)


def identity(*functions: Any) -> str:
    """A few letters that are the same for functions that do the same, as far as their code tells.

    That is their bytecode and constants, defaults, and what they read from around them: other functions, numbers, text
    and arrays. Lists and other things that may change while the program runs are not looked into.

    Examples
    --------
    >>> def scaled(factor):
    ...     return lambda state, x: state + factor * x
    >>> identity(scaled(2)) == identity(scaled(2)), identity(scaled(2)) == identity(scaled(3))
    (True, False)
    >>> def ahead():
    ...     first = identity(lambda: later)
    ...     later = 5
    ...     return first
    >>> ahead() == ahead()
    True
    """
    return hashlib.sha256(repr([_value(function, ()) for function in functions]).encode()).hexdigest()[:8]


def functions_in(value: Any) -> Iterator[Any]:
    """The Python functions in a value, through its fields and their contents; and numbers.

    >>> [found.__name__ for found in functions_in({"n": 5, "by": [identity, (functions_in, "x")]})]
    ['identity', 'functions_in']
    """
    if isinstance(value, FunctionType | functools.partial):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from functions_in(part)
    elif isinstance(value, dict):
        yield from functions_in(list(value.values()))
    elif is_dataclass(value) and not isinstance(value, type):
        held = [getattr(value, field.name) for field in fields(value)]
        if any(isinstance(part, FunctionType | functools.partial) for part in held):
            yield from (part for part in held if _is_plain(part))
        yield from functions_in(held)


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, _PLAIN)


def _value(value: Any, inside: tuple[Any, ...]) -> Any:
    value = getattr(value, "py_func", value)  # compiled by the user
    if isinstance(value, _PLAIN):
        return type(value).__name__, repr(value)
    if isinstance(value, tuple | frozenset):
        parts = [_value(part, inside) for part in value]
        return type(value).__name__, parts if isinstance(value, tuple) else sorted(map(repr, parts))
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, functools.partial):
        return "partial", _value((value.func, value.args, *sorted(value.keywords.items())), inside)
    if isinstance(value, FunctionType):
        return "again" if value in inside else _function(value, (*inside, value))
    if isinstance(value, ModuleType):
        return value.__name__
    named = value if hasattr(value, "__qualname__") else type(value)
    return getattr(named, "__module__", ""), named.__qualname__


def _function(function: FunctionType, inside: tuple[Any, ...]) -> Any:
    scope = function.__globals__
    around = [(name, _value(scope[name], inside)) for name in _names(function.__code__) if name in scope]
    around += [(name, _value(within, inside)) for name, cell in zip(
        function.__code__.co_freevars, function.__closure__ or (), strict=True) for within in _contents(cell)]
    defaults = function.__defaults__ or (), *sorted((function.__kwdefaults__ or {}).items())
    return _code(function.__code__, function.__doc__), around, _value(defaults, inside)


def _contents(cell: CellType) -> list[Any]:
    """What a variable of the function around holds; nothing, if that has not come so far."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def _code(code: CodeType, doc: str | None = None) -> Any:
    constants = code.co_consts[1:] if doc is not None and code.co_consts[:1] == (doc,) else code.co_consts
    return (code.co_code.hex(), code.co_names, code.co_argcount,
            [_code(part) if isinstance(part, CodeType) else _value(part, ()) for part in constants])


def _names(code: CodeType) -> Iterator[str]:
    """The names it may look up around it, also from functions within."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)
