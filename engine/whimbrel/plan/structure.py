"""Equality of operators by structure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import pyarrow as pa

_PLAIN = (str, bytes, bool, int, type(None), Enum)


class _Same:
    """Stands for an object that equals only itself, and keeps it: its address is not used again meanwhile."""

    __slots__ = ("_of",)

    def __init__(self, of: Any) -> None:
        self._of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._of is other._of

    def __hash__(self) -> int:
        return id(self._of)


def structure(value: Any) -> Hashable:
    """What an operator, or a part of one, is: equal for operators that do the same.

    Dataclasses, sequences and plain values are compared part by part. Anything else equals only itself: a function, a
    source, an object of a user.

    Examples
    --------
    >>> from whimbrel.expr import col
    >>> structure(col.x > 2) == structure(col.x > 2), structure(col.x > 2) == structure(col.x > 2.0)
    (True, False)
    """
    if isinstance(value, _PLAIN) or value.__class__ is type:
        return type(value), value
    if isinstance(value, float):
        return float, value.hex()
    if isinstance(value, pa.DataType):
        return pa.DataType, value
    if isinstance(value, tuple | list):
        return type(value), *map(structure, value)
    if isinstance(value, frozenset):
        return frozenset, frozenset(map(structure, value))
    if isinstance(value, Mapping):
        return type(value), *((structure(key), structure(part)) for key, part in value.items())
    if is_dataclass(value):
        return type(value), *(structure(getattr(value, field.name)) for field in fields(value) if field.init)
    return _Same(value)
