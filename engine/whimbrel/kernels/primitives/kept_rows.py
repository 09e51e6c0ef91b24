"""Where a condition holds."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def places_of(kept: Array, places: Array) -> None:
    """Write down the places where it is true; there is room for one more, since no row is asked whether to write."""
    found = 0
    for row in range(kept.shape[0]):
        places[found] = row
        found += kept[row]
