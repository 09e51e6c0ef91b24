"""Choose the slot of a group in an evicting table.

A group is a key in a pane. Both are mixed into one number whose first bits choose the slot, so that panes of one key,
and keys that follow each other, are spread evenly. A free slot has the pane :data:`FREE`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FREE = -(2**63)
"""No pane begins at this time."""


def slot_of_group(key: int, pane: int, slots: int) -> Any:
    """The slot of a key in a pane, of so many slots: a power of two.

    The key and the pane are multiplied by odd constants (Knuth, The Art of Computer Programming 3, 6.4).
    """
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(pane) * np.uint64(0xC2B2AE3D27D4EB4F)
    return np.int64((mixed >> np.uint64(32)) * np.uint64(slots) >> np.uint64(32))
