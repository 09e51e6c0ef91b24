"""Which starts on one side end which rows of the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.join import LEFT, RIGHT

Array = np.ndarray[Any, Any]


def clip_starts(
    cursor: Array, left_sync: Array, left_other: Array, left_group: Array, left_base: int,
    right_sync: Array, right_group: Array, links: Array, head: Array, out_slot: Array, out_start: Array,
) -> int:
    """Write, for each right start in time order, the left rows of its key that began before it and last beyond it.

    A row is written once and leaves its chain. Of simultaneous rows the right ones come first, so that they meet left
    rows with an earlier start only. Returns the number written; stops early when room runs out.
    """
    done = 0
    while cursor[LEFT] < left_sync.shape[0] or cursor[RIGHT] < right_sync.shape[0]:
        left, right = cursor[LEFT], cursor[RIGHT]
        from_right = left == left_sync.shape[0] or (
            right < right_sync.shape[0] and right_sync[right] <= left_sync[left])
        if from_right:
            group = right_group[right]
            while group >= 0 and head[group] >= 0:
                slot = head[group]
                if links[2 * slot] > right_sync[right]:
                    if done == out_slot.shape[0]:
                        return done
                    out_slot[done], out_start[done] = slot, right_sync[right]
                    done += 1
                head[group] = links[2 * slot + 1]
            cursor[RIGHT] += 1
        else:
            slot, group = left_base + left, left_group[left]
            links[2 * slot], links[2 * slot + 1] = left_other[left], -1
            if group >= 0:
                links[2 * slot + 1] = head[group]
                head[group] = slot
            cursor[LEFT] += 1
    return done
