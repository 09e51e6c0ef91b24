"""Count characters of texts by words of eight bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.text_hashes import word_at

Array = np.ndarray[Any, Any]

_ONES = 0x0101010101010101


def continuing(word: Any) -> Any:
    """How many bytes of a word continue a character of UTF-8: their first two bits are 1 and 0."""
    marks = (word >> np.uint64(7)) & (~word >> np.uint64(6)) & np.uint64(_ONES)
    return np.int64((marks * np.uint64(_ONES)) >> np.uint64(56))


def count_characters(data: Array, offsets: Array, counts: Array) -> None:
    """Write how many characters each text has."""
    for row in range(counts.shape[0]):
        at, stop = offsets[row], offsets[row + 1]
        count = np.int64(stop - at)
        if stop - at >= 8:
            while at + 8 <= stop:
                count -= continuing(word_at(data, at))
                at += 8
            if at < stop:  # the last eight bytes, without those that were counted
                count -= continuing(word_at(data, stop - 8) >> np.uint64(8 * (8 - (stop - at))))
        else:
            for byte in range(at, stop):
                count -= (data[np.uint64(byte)] & 0xC0) == 0x80
        counts[row] = count
