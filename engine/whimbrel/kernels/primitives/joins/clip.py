"""Match left rows with the right starts that end them."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.hash_table import index
from whimbrel.kernels.primitives.joins.join import FIRST, LEFT, OF_BLOCK, RIGHT, STOP, hang, has_capacity

Array = np.ndarray[Any, Any]


def clip_starts(
    cursor: Array, left_sync: Array, left_base: int, left_group: Array, left_ends: Array, blocks: Array, slots: Array,
    used: Array, right_sync: Array, right_group: Array, out_slot: Array, out_start: Array, out_end: Array,
) -> int:
    """Write, for each right start in time order, the left rows of its key that began before it and last beyond it.

    A row is written once, with the end it had; it ends at that start from now on, and leaves its group. Of simultaneous
    rows the right ones come first, so that they meet left rows with an earlier start only. Returns the number written;
    stops early when a buffer or the blocks are full.
    """
    done = 0
    while cursor[LEFT] < left_sync.shape[0] or cursor[RIGHT] < right_sync.shape[0]:
        left, right = cursor[LEFT], cursor[RIGHT]
        from_right = left == left_sync.shape[0] or (
            right < right_sync.shape[0] and right_sync[right] <= left_sync[left])
        if from_right:
            if right_group[right] >= 0:
                block = OF_BLOCK * index(right_group[right])
                while blocks[block + FIRST] < blocks[block + STOP]:
                    slot = slots[blocks[block + FIRST]]
                    if left_ends[slot] > right_sync[right]:
                        if done == out_slot.shape[0]:
                            return done
                        out_slot[done], out_start[done], out_end[done] = slot, right_sync[right], left_ends[slot]
                        left_ends[slot] = right_sync[right]
                        done += 1
                    blocks[block + FIRST] += 1
            cursor[RIGHT] += 1
        else:
            slot = left_base + left
            if left_group[slot] >= 0:
                group = index(left_group[slot])
                if not has_capacity(group, blocks, slots, used):
                    return done
                hang(slot, group, left_ends, blocks, slots)
            cursor[LEFT] += 1
    return done
