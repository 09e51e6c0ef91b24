"""Find the operator state of a kernel in its attributes, for checkpoints."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column

_PLAIN = (bool, int, float, str, type(None), np.ndarray, Batch, Column, pa.Array)
_NOT_WALKED = (set, deque, bytearray)


class Fixed(Enum):
    """Marks what the plan defines and no row changes, such as expressions: it is made again, not saved."""

    FIXED = "fixed"


FIXED = Fixed.FIXED


@dataclass(frozen=True)
class ObjectState:
    """The state of an object, by attribute."""

    parts: dict[str, Any]


def state_of(value: Any) -> Any:
    """What `value` remembers: arrays, batches and plain values, in lists, tuples, dicts and :class:`ObjectState`.

    An object remembers something if it has ``fork()`` or ``state_parts()``: then all its attributes are walked, or what
    ``state_parts()`` answers. All other objects are :data:`FIXED`.

    Raises
    ------
    TypeError
        For a mutable collection that is not walked, such as a set: it would be forgotten in silence.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        items = [state_of(item) for item in value]
        return FIXED if items and all(item is FIXED for item in items) else type(value)(items)
    if isinstance(value, dict):
        return _but_fixed(value)
    if isinstance(value, _NOT_WALKED):
        raise TypeError(f"Operator state must be arrays, batches, lists and dicts, got {type(value).__name__}.")
    kind = type(value)  # an expression answers for any name, and looks for similar ones first
    if hasattr(kind, "state_parts"):
        return ObjectState(_but_fixed(value.state_parts()))
    return ObjectState(_but_fixed(vars(value))) if hasattr(kind, "fork") else FIXED


def restored(value: Any, state: Any) -> Any:
    """`value`, as new, with the state that an equal one had: itself if it is an object, else what takes its place."""
    if state is FIXED:
        return value
    if isinstance(state, ObjectState):
        if hasattr(type(value), "restore_state"):
            value.restore_state(state.parts)
        else:
            restore_attributes(value, state.parts)
        return value
    if isinstance(state, list | tuple):
        items = value if isinstance(value, list | tuple) else ()
        return type(state)(restored(items[index] if index < len(items) else None, item)
                           for index, item in enumerate(state))
    if isinstance(state, dict):
        known = value if isinstance(value, dict) else {}
        fixed = {key: item for key, item in known.items() if state_of(item) is FIXED}
        return fixed | {key: restored(known.get(key), item) for key, item in state.items()}
    return state


def restore_attributes(target: Any, parts: dict[str, Any]) -> None:
    """Put the state of each attribute back."""
    for name, part in parts.items():
        setattr(target, name, restored(getattr(target, name, None), part))


def _but_fixed(items: dict[Any, Any]) -> dict[Any, Any]:
    states = {key: state_of(item) for key, item in items.items()}
    return {key: state for key, state in states.items() if state is not FIXED}
