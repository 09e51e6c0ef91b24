"""Integers of two and four bytes in either order."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def big16(data: Array, at: int) -> int:
    """Two bytes, the high one first."""
    return (int(data[at]) << 8) | int(data[at + 1])


def word16(data: Array, at: int, big: bool) -> int:
    """Two bytes in the order of a file."""
    if big:
        return (int(data[at]) << 8) | int(data[at + 1])
    return (int(data[at + 1]) << 8) | int(data[at])


def word32(data: Array, at: int, big: bool) -> int:
    """Four bytes in the order of a file."""
    if big:
        return (int(data[at]) << 24) | (int(data[at + 1]) << 16) | (int(data[at + 2]) << 8) | int(data[at + 3])
    return (int(data[at + 3]) << 24) | (int(data[at + 2]) << 16) | (int(data[at + 1]) << 8) | int(data[at])
