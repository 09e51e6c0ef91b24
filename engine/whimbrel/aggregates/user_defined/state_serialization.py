"""Serialize Python states as text for checkpoints."""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np


class Unwritable(Exception):  # noqa: N818 - it is an answer
    """A value that has no text; says which."""


def to_text(value: Any) -> str:
    """None, bools, numbers, texts, times, lists, tuples, dicts, sets and arrays as text.

    An object that stands in several places of a state is one object again when it is read.

    >>> from_text(to_text({"seen": [1, (2.5, None)]}))
    {'seen': [1, (2.5, None)]}
    """
    try:
        return json.dumps(_plain(value, {}))
    except RecursionError:
        raise Unwritable(f"a {type(value).__name__} that is nested too deeply") from None


def from_text(text: str) -> Any:
    """The value again, of the same types."""
    return _value(json.loads(text), [])


_MUTABLE = (list, dict, set, deque, np.ndarray)
"""Kinds that are numbered in the order of reading, so that a second place can name the first."""


def _plain(value: Any, numbers: dict[int, int]) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in _MUTABLE:
        if id(value) in numbers:
            return {"same": numbers[id(value)]}
        numbers[id(value)] = len(numbers)
    if kind is list:
        return [_plain(part, numbers) for part in value]
    if kind in (tuple, set, frozenset, deque):
        parts = [_plain(part, numbers) for part in value]
        return {kind.__name__: [parts, value.maxlen] if isinstance(value, deque) else parts}
    if kind is dict:
        return {"dict": [[_plain(key, numbers), _plain(part, numbers)] for key, part in value.items()]}
    if isinstance(value, np.generic):
        return {"number": [value.dtype.str, _packed(value.tobytes())]}
    if kind is np.ndarray and not value.dtype.hasobject:
        return {"array": [value.dtype.str, list(value.shape), _packed(np.ascontiguousarray(value).tobytes())]}
    if kind is bytes:
        return {"bytes": _packed(value)}
    if kind is Decimal:
        return {"decimal": str(value)}
    if kind is datetime and isinstance(value.tzinfo, ZoneInfo) and value.tzinfo.key is not None:
        return {"zoned": [value.isoformat(), value.tzinfo.key]}
    if kind in (datetime, time) and value.fold:
        return {f"second {kind.__name__}": value.isoformat()}
    if kind in (datetime, date, time):
        return {kind.__name__: value.isoformat()}
    if kind is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    raise Unwritable(f"a {kind.__name__} ({value!r})"[:120])


def _value(plain: Any, made: list[Any]) -> Any:
    """A value, given the mutable ones that were made before it. They are numbered before their parts are read."""
    if isinstance(plain, list):
        found: list[Any] = []
        made.append(found)
        found += (_value(part, made) for part in plain)
        return found
    if not isinstance(plain, dict):
        return plain
    (kind, held), = plain.items()
    if kind == "same":
        return made[held]
    if kind in _CONTAINERS:
        return _CONTAINERS[kind](held, made)
    return _MADE[kind](held)


def _dict(held: Any, made: list[Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    made.append(found)
    for key, part in held:
        found[_value(key, made)] = _value(part, made)
    return found


def _set(held: Any, made: list[Any]) -> set[Any]:
    found: set[Any] = set()
    made.append(found)
    found.update(_value(part, made) for part in held)
    return found


def _deque(held: Any, made: list[Any]) -> deque[Any]:
    parts, most = held
    found: deque[Any] = deque(maxlen=most)
    made.append(found)
    found.extend(_value(part, made) for part in parts)
    return found


def _array(held: Any, made: list[Any]) -> np.ndarray[Any, Any]:
    dtype, shape, content = held
    made.append(found := np.frombuffer(base64.b64decode(content), dtype).reshape(shape).copy())
    return found


_CONTAINERS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "dict": _dict, "set": _set, "deque": _deque, "array": _array,
    "tuple": lambda held, made: tuple([_value(part, made) for part in held]),
    "frozenset": lambda held, made: frozenset([_value(part, made) for part in held]),
}


def _packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _zoned(held: Any) -> datetime:
    """An instant, on the clocks of a place."""
    written, zone = held
    return datetime.fromisoformat(written).astimezone(ZoneInfo(zone))


_MADE: dict[str, Callable[[Any], Any]] = {
    "zoned": _zoned, "number": lambda held: np.frombuffer(base64.b64decode(held[1]), held[0])[0],
    "bytes": base64.b64decode, "decimal": Decimal, "datetime": datetime.fromisoformat, "date": date.fromisoformat,
    "time": time.fromisoformat, "timedelta": lambda held: timedelta(*held),
    "second datetime": lambda held: datetime.fromisoformat(held).replace(fold=1),
    "second time": lambda held: time.fromisoformat(held).replace(fold=1),
}
