"""Kinds of values in generated code."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["int", "float", "bool", "none", "either"]
"""``either`` is an int or a float, depending on values: kept as a float, and no int that is not one."""


@dataclass(frozen=True)
class Number:
    """A value of a known kind, and the text that stands for it."""

    kind: Kind
    text: str


SMALL = 1024

Value = Number | tuple["Value", ...]


class NotCompiled(Exception):  # noqa: N818 - it is an answer
    """Why a function is left to Python.

    Parameters
    ----------
    why : str
    result : Kind, optional
        Of what kind the result of the aggregate is, if that is known all the same.
    """

    def __init__(self, why: str, result: Kind | None = None) -> None:
        super().__init__(why)
        self.result = result


def constant(value: Any) -> Value:
    """A value that is known beforehand."""
    if value is None:
        return Number("none", "None")
    if type(value) is bool:
        return Number("bool", str(value))
    if type(value) is int and -(2**63) < value < 2**63:
        return Number("int", str(value) if value >= 0 else f"({value})")
    if type(value) is float:
        text = repr(value) if math.isfinite(value) else f"np.{value}".replace("-", "")
        return Number("float", f"(-{text.lstrip('-')})" if math.copysign(1, value) < 0 else text)
    raise NotCompiled(f"it reads a value that is not a number, {value!r}"[:80])


def kind_of(value: Any) -> Kind:
    """The kind of a Python number."""
    return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"


def joined_kind(one: Number, other: Number) -> Kind | None:
    """The kind of a value that is one or the other; None if there is none.

    A small integer that is written out, such as the 0 of ``x if x > 0 else 0``, is a float where the other is.
    """
    both = {one.kind, other.kind}
    if len(both) == 1:
        return one.kind
    if "none" in both:
        return None
    if both == {"int", "bool"}:
        return "int"
    return "float" if both == {"int", "float"} and (is_small(one) or is_small(other)) else "either"


def is_small(number: Number) -> bool:
    """Whether it is an integer that is written out, and is the same number as a float with everything made of it."""
    return number.kind == "int" and number.text.isdigit() and int(number.text) <= SMALL


def joined_shape(values: Sequence[Value]) -> Value | None:
    """What several values have in common, as one of them; None if that is too little."""
    first, *others = values
    for other in others:
        if isinstance(first, tuple) and isinstance(other, tuple) and len(first) == len(other):
            parts = [joined_shape(pair) for pair in zip(first, other, strict=True)]
            if None in parts:
                return None
            first = tuple(part for part in parts if part is not None)
        elif isinstance(first, Number) and isinstance(other, Number):
            kind = joined_kind(first, other)
            if kind is None:
                return None
            first = Number(kind, first.text if kind == "int" and is_small(first) and is_small(other) else "joined")
        else:
            return None
    return first


def flattened(value: Value) -> list[Number]:
    """The numbers in a value, in order."""
    return [value] if isinstance(value, Number) else [number for part in value for number in flattened(part)]


def renamed(values: Sequence[Value], texts: Iterator[str]) -> list[Value]:
    """The same kinds, under other texts."""
    return [Number(value.kind, next(texts)) if isinstance(value, Number) else tuple(renamed(value, texts))
            for value in values]


def one_number(value: Value, node: ast.expr) -> Number:
    """The value, which must be a number."""
    if isinstance(value, tuple) or value.kind == "none":
        raise NotCompiled(f"{shown(node)} takes a value other than a number")
    return value


def whole_number(node: ast.expr) -> int | None:
    """An integer that is written out."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def shown(node: ast.AST) -> str:
    """A piece of a function, in short."""
    return ast.unparse(node).splitlines()[0][:60]


def assigned(node: ast.AST) -> frozenset[str]:
    """All names that a function assigns to."""
    names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return frozenset(each.id for each in names if isinstance(each.ctx, ast.Store))
