"""Loops by hand as sides of a comparison: with the times of their values, and whether their answers are ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from bench import limit_periodic as limit

Array = np.ndarray[Any, Any]


def with_times(loop: Callable[[], Any], at: Array | None = None) -> Callable[[], Any]:
    """A loop that also writes the lifetimes of its values, as a table of results has them; maybe it has `at`."""
    def loop_with_times() -> Any:
        written = loop()
        if isinstance(written, tuple):
            limit.ends(written[0])
        elif at is not None:
            limit.ends(at)
        else:
            limit.timeline(0, len(written), 1)
        return written

    return loop_with_times


def agrees(columns: tuple[str, ...], *, nulls: bool = False) -> Callable[[pa.Table, Any], bool]:
    """Whether the columns are those that a loop wrote; rounding may differ.

    Parameters
    ----------
    columns : tuple of str
        In the order of the arrays of the loop.
    nulls : bool
        Compare also at which rows a value is unknown, which is nan in arrays. Without it, such rows are left out.
    """
    def same(ours: pa.Table, theirs: Any) -> bool:
        written = theirs if isinstance(theirs, tuple) else (theirs,)
        pairs = [(ours[name].cast(pa.float64()).to_numpy(), np.asarray(other, np.float64))
                 for name, other in zip(columns, written, strict=True)]
        if any(len(one) != len(other) for one, other in pairs):
            return False
        if nulls and any((np.isnan(one) != np.isnan(other)).any() for one, other in pairs):
            return False
        return all(np.allclose(one[known], other[known], rtol=1e-4, atol=1e-4)
                   for one, other in pairs for known in [np.isfinite(other) & np.isfinite(one)])

    return same
