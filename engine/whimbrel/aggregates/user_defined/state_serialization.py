"""Serialize Python states as text for checkpoints."""

from __future__ import annotations

import base64
import json
from collections import deque
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np


class Unwritable(Exception):  # noqa: N818 - it is an answer
    """A value that has no text; says which."""


def to_text(value: Any) -> str:
    """None, bools, numbers, texts, times, lists, tuples, dicts, sets and arrays as text.

    >>> from_text(to_text({"seen": [1, (2.5, None)]}))
    {'seen': [1, (2.5, None)]}
    """
    return json.dumps(_plain(value))


def from_text(text: str) -> Any:
    """The value again, of the same types."""
    return _value(json.loads(text))


def _plain(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_plain(part) for part in value]
    if kind in (tuple, set, frozenset, deque):
        parts = [_plain(part) for part in value]
        return {kind.__name__: [parts, value.maxlen] if isinstance(value, deque) else parts}
    if kind is dict:
        return {"dict": [[_plain(key), _plain(part)] for key, part in value.items()]}
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
    if kind in (datetime, date, time):
        return {kind.__name__: value.isoformat()}
    if kind is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    raise Unwritable(f"a {kind.__name__} ({value!r})"[:120])


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    (kind, held), = plain.items()
    return _MADE[kind](held)


def _packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _zoned(held: Any) -> datetime:
    """An instant, on the clocks of a place."""
    written, zone = held
    return datetime.fromisoformat(written).astimezone(ZoneInfo(zone))


def _array(held: Any) -> np.ndarray[Any, Any]:
    dtype, shape, content = held
    return np.frombuffer(base64.b64decode(content), dtype).reshape(shape).copy()


_MADE: dict[str, Any] = {
    "tuple": lambda held: tuple(map(_value, held)), "set": lambda held: set(map(_value, held)),
    "frozenset": lambda held: frozenset(map(_value, held)),
    "deque": lambda held: deque(map(_value, held[0]), held[1]),
    "zoned": _zoned, "dict": lambda held: {_value(key): _value(part) for key, part in held},
    "number": lambda held: np.frombuffer(base64.b64decode(held[1]), held[0])[0], "array": _array,
    "bytes": base64.b64decode, "decimal": Decimal, "datetime": datetime.fromisoformat, "date": date.fromisoformat,
    "time": time.fromisoformat, "timedelta": lambda held: timedelta(*held),
}
