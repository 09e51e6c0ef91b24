"""A binary heap of (time, slot) in two arrays, earliest on top.

Times that are pushed in order cost O(1) each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def heap_push(times: Array, slots: Array, count: int, time: int, slot: int) -> int:
    """Add an entry; returns the new count. The heap must not be full."""
    node = count
    while node > 0:
        above = (node - 1) >> 1
        if times[above] <= time:
            break
        times[node] = times[above]
        slots[node] = slots[above]
        node = above
    times[node] = time
    slots[node] = slot
    return count + 1


def heap_pop(times: Array, slots: Array, count: int) -> int:
    """Remove the earliest entry, which the caller has read at position 0; returns the new count."""
    count -= 1
    time = times[count]
    slot = slots[count]
    node = 0
    while True:
        below = 2 * node + 1
        if below >= count:
            break
        if below + 1 < count and times[below + 1] < times[below]:
            below += 1
        if times[below] >= time:
            break
        times[node] = times[below]
        slots[node] = slots[below]
        node = below
    times[node] = time
    slots[node] = slot
    return count
