"""Hash words of 64 bits by SplitMix64.

Hashes are from 0 to 2**63 - 1. Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

GOLDEN = 0x9E3779B97F4A7C15


def stirred(word: Any) -> Any:
    """A word of 64 bits, mixed."""
    state = np.uint64(word) + np.uint64(GOLDEN)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def mixed(word: Any) -> Any:
    """A word of 64 bits, mixed, without its last bit."""
    return np.int64(stirred(word) >> np.uint64(1))


def hash_integers(values: Array, hashes: Array) -> None:
    """Hash integers of 64 bits."""
    for row in range(values.shape[0]):
        hashes[row] = mixed(values[row])


def hash_floats(values: Array, hashes: Array) -> None:
    """Hash float64 by their bits: -0.0 is 0.0, and all NaN are one."""
    for row in range(values.shape[0]):
        word = values[row]
        if word << np.uint64(1) == np.uint64(0):
            word = np.uint64(0)
        elif word << np.uint64(1) > np.uint64(0xFFE0000000000000):
            word = np.uint64(0x7FF8000000000000)
        hashes[row] = mixed(word)
