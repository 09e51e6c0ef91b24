"""Masks of sliding windows over the slots of a periodic stream."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def window_turns(starts: Array, first: int, stop: int, width: int, alive: Array, turns: Array,
                 begins: Array) -> None:
    """Write it for the windows that end at some places.

    Parameters
    ----------
    starts : array of bool
        Where events begin; known from `width` places before the first one on.
    first, stop : int
    width : int
        Places of a window.
    alive, turns, begins : array of bool
        Whether some event is in the window, whether one enters or leaves it, and whether both is so.
    """
    inside = 0
    for at in range(first - width, first):
        inside += starts[at]
    for at in range(first, stop):
        entered, left = starts[at], starts[at - width]
        inside = inside + entered - left
        alive[at], turns[at] = inside > 0, entered or left
        begins[at] = alive[at] and turns[at]
