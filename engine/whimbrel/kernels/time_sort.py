"""Sort order of a time column, adaptive to disorder."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, frozen
from whimbrel.kernels.compile import Compiled, forced_tier
from whimbrel.kernels.primitives.sorting import time_sort as primitive

Array = np.ndarray[Any, Any]

_ascending = Compiled(primitive.ascending)
_extent = Compiled(primitive.extent)
_steps = Compiled(primitive.steps)
_order_near = Compiled(primitive.order_near)
_merge_late = Compiled(primitive.merge_late)
_count_slices = Compiled(primitive.count_slices)
_deal_slices = Compiled(primitive.deal_slices)
_sort_slices = Compiled(primitive.sort_slices)

_FEW_ROWS = 4_096
_LATE_DIVISOR = 8
_SLICE_ROWS = 2_048
_MAX_SLICE_ROWS = 16 * _SLICE_ROWS


def ascends(times: Array) -> bool:
    """Whether no time is before the one in front of it; one pass, at the speed of memory.

    Examples
    --------
    >>> import numpy as np
    >>> from whimbrel.kernels import ascends
    >>> ascends(np.array([1, 2, 2])), ascends(np.array([2, 1]))
    (True, False)
    """
    times = frozen(times)
    if len(times) < _FEW_ROWS or not _ascending.ready(times):
        return not (times[1:] < times[:-1]).any()
    return bool(_ascending(times))


def ordered(batch: Batch) -> bool:
    """Whether no row is before the one in front of it."""
    return batch.gaps is not None or ascends(batch.sync)


def with_gaps(batch: Batch) -> Batch:
    """The rows and what is between their times, where they are in order and so many that it is worth a look.

    Examples
    --------
    >>> import numpy as np
    >>> from whimbrel.batch import Batch, Schema
    >>> from whimbrel.kernels import tier
    >>> with tier("primitives"):  # wait for the compiler; until it is done, nothing is looked at
    ...     with_gaps(Batch(Schema(()), np.arange(0, 100_000, 5), 1, ())).gaps
    (5, 5)
    """
    if batch.gaps is not None or len(batch) < _FEW_ROWS or not _steps.ready(times := batch.sync):
        return batch
    minimum, maximum = map(int, _steps(times))
    return batch if minimum < 0 else batch.having(gaps=(minimum, maximum))


def time_order(sync: Array) -> Array | None:
    """Positions that put times in order, those of one time as they came; None when they are in order already.

    A stable sort like NumPy's, made for arriving rows. Rows that are a few positions late are moved. If few rows are
    later than that, only those are sorted and merged in. Otherwise rows are dealt to slices of time that fit the cache,
    as packed pairs of time and position, and each slice is radix-sorted by its upper digits.

    Examples
    --------
    >>> import numpy as np
    >>> from whimbrel.kernels import time_order
    >>> time_order(np.array([3, 1, 2, 1])).tolist()
    [1, 3, 2, 0]
    """
    if ascends(sync):
        return None
    if len(sync) < _FEW_ROWS or forced_tier() == "interpreted":
        return sync.argsort(kind="stable")
    merged = _late_merged(sync)
    return shuffled_order(sync) if merged is None else merged


def _late_merged(sync: Array) -> Array | None:
    """The order, where most rows are no more than a few places late."""
    order, late = np.empty(len(sync), np.int64), np.empty(len(sync) // _LATE_DIVISOR, np.int64)
    found = int(_order_near(sync, late, order))
    if found < 0:
        return None
    late = late[:found]
    _merge_late(sync, late[sync[late].argsort(kind="stable")], order)
    return order


def shuffled_order(sync: Array) -> Array:
    """The order that `time_order` finds, for times that are known to be far from any order.

    Examples
    --------
    >>> import numpy as np
    >>> from whimbrel.kernels import shuffled_order
    >>> shuffled_order(np.array([3, 1, 2, 1])).tolist()
    [1, 3, 2, 0]
    """
    if len(sync) < _FEW_ROWS or forced_tier() == "interpreted":
        return sync.argsort(kind="stable")
    first, last = map(int, _extent(sync))
    span = last - first
    if span >= 2**63:  # differences of such times leave int64
        return sync.argsort(kind="stable")
    shift = max(0, (span * _SLICE_ROWS // len(sync)).bit_length() - 1)
    counts = np.zeros((span >> shift) + 1, np.int64)
    _count_slices(sync, first, shift, counts)
    bounds = counts.cumsum()
    row_bits = (len(sync) - 1).bit_length()
    coarse = max(0, shift + row_bits - 63)
    order = np.empty(len(sync), np.int64)
    _deal_slices(sync, first, shift, coarse, row_bits, bounds - counts, order)
    capacity = min(int(counts.max()), _MAX_SLICE_ROWS)
    _sort_slices(sync, coarse, row_bits, bounds, order, np.empty(capacity, np.int64),
                 np.empty(2 << primitive.DIGIT_BITS, np.int64))
    for crowded in np.flatnonzero(counts > capacity):
        rows = order[bounds[crowded] - counts[crowded] : bounds[crowded]]
        inside = time_order(sync[rows])
        if inside is not None:
            rows[:] = rows[inside]
    return order
