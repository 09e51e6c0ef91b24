"""Hash texts by words of eight bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.value_hashes import GOLDEN, mixed, stirred

Array = np.ndarray[Any, Any]


def word_at(data: Array, at: int) -> Any:
    """Eight bytes, the low one first."""
    place = np.uint64(at)  # numba asks of signed places whether they count from the end
    return (np.uint64(data[place]) | np.uint64(data[place + np.uint64(1)]) << np.uint64(8)
            | np.uint64(data[place + np.uint64(2)]) << np.uint64(16)
            | np.uint64(data[place + np.uint64(3)]) << np.uint64(24)
            | np.uint64(data[place + np.uint64(4)]) << np.uint64(32)
            | np.uint64(data[place + np.uint64(5)]) << np.uint64(40)
            | np.uint64(data[place + np.uint64(6)]) << np.uint64(48)
            | np.uint64(data[place + np.uint64(7)]) << np.uint64(56))


def hash_texts(data: Array, offsets: Array, hashes: Array) -> None:
    """Hash texts by SplitMix64, sixteen bytes at a time: two chains of words, of which one begins with the length.

    The last words may overlap those before. Of texts below eight bytes there is one word.
    """
    for row in range(hashes.shape[0]):
        first, stop = offsets[row], offsets[row + 1]
        one, other = np.uint64(stop - first), np.uint64(GOLDEN)
        if stop - first >= 8:
            at = first
            while at + 16 < stop:
                one, other = stirred(one ^ word_at(data, at)), stirred(other ^ word_at(data, at + 8))
                at += 16
            one ^= word_at(data, max(stop - 16, first))
            other ^= word_at(data, stop - 8)
        else:
            word = np.uint64(0)
            for byte in range(first, stop):
                word = word << np.uint64(8) | np.uint64(data[np.uint64(byte)])
            one ^= word
        hashes[row] = mixed(stirred(one) ^ other)
