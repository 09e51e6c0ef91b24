"""Memory that kernels of a thread use again and again."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_LARGEST = 1 << 20
"""Most entries of an array that is kept; larger ones are new."""


class _Kept(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[tuple[str, np.dtype[Any]], Array] = {}


_kept = _Kept()


def scratch(name: str, length: int, dtype: np.dtype[Any] | type = np.int64) -> Array:
    """An array with any contents.

    It is valid until this thread asks for the next one of this name and type: no row that is kept may refer to it. New
    memory costs as much as a simple loop over it, because the system clears each page.
    """
    if length > _LARGEST:
        return np.empty(length, dtype)
    key = name, np.dtype(dtype)
    known = _kept.arrays.get(key)
    if known is None or len(known) < length:
        known = _kept.arrays[key] = np.empty(min(_LARGEST, max(1_024, 2 * length)), dtype)
    return known[:length]
