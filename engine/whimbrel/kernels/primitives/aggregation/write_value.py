"""Write a value that may be null to a result array."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def show(value: Any, out: Array, index: int) -> bool:
    """Write a value if there is one; whether there is."""
    if value is None:
        return False
    out[index] = value
    return True
