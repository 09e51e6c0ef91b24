"""Gather rows by position, and request their memory ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import PreallocatedStorage, frozen
from whimbrel.kernels.compile import Compiled
from whimbrel.kernels.primitives.rows import gather as primitive

Array = np.ndarray[Any, Any]

_gather = Compiled(primitive.gather)
_FEW_ROWS = 4_096


class PrefetchingStorage(PreallocatedStorage):
    """For rows that are put into another order: a compiled loop gathers them.

    Examples
    --------
    >>> import numpy as np
    >>> PrefetchingStorage().take(np.array([5.0, 7.0, 9.0]), np.array([2, 0])).tolist()
    [9.0, 5.0]
    """

    def take(self, array: Array, rows: Array) -> Array:
        """The values at these positions, none of which is negative."""
        if len(rows) < _FEW_ROWS:
            return super().take(array, rows)
        out = self.empty(len(rows), array.dtype)
        given, target = (each.view(f"i{array.itemsize}") for each in (array, out))  # one loop for each width
        arguments = frozen(given), frozen(rows), target
        if not _gather.ready(*arguments):
            return super().take(array, rows)
        _gather(*arguments)
        return out
