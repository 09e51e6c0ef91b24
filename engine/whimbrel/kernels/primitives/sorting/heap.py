"""A binary heap of (time, slot) in two arrays, earliest on top. Times pushed in order cost O(1) each."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def heap_push(times: Array, slots: Array, count: int, time: int, slot: int) -> int:
    """Add an entry; returns the new count. There must be room."""
    place = count
    while place > 0:
        above = (place - 1) >> 1
        if times[above] <= time:
            break
        times[place] = times[above]
        slots[place] = slots[above]
        place = above
    times[place] = time
    slots[place] = slot
    return count + 1


def heap_pop(times: Array, slots: Array, count: int) -> int:
    """Remove the earliest entry, which the caller has read at position 0; returns the new count."""
    count -= 1
    time = times[count]
    slot = slots[count]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= count:
            break
        if below + 1 < count and times[below + 1] < times[below]:
            below += 1
        if times[below] >= time:
            break
        times[place] = times[below]
        slots[place] = slots[below]
        place = below
    times[place] = time
    slots[place] = slot
    return count
