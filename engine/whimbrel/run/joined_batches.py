"""Join small batches of a source that is read to its end."""

from __future__ import annotations

from collections.abc import Generator
from itertools import count
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from whimbrel.batch import Batch, Column, Pulse
from whimbrel.connect.tables.columnar_source import BATCH_ROWS

Array = np.ndarray[Any, Any]

_AS_THEY_COME = 32
"""The first batches of a source are not joined: a source with fewer is read soon in any case."""
_MOST_BYTES = 1 << 21
"""Payload and times of joined batches stay in the CPU cache."""
_LONG_ROWS = 1 << 20
"""Rows of a long batch, whose parts lie one after the other in memory already."""


def joined_batches(batches: Generator[Batch | None], *, long: bool = False) -> Generator[Batch | None]:
    """The same rows in the same order, in fewer batches.

    Each batch costs every operator some microseconds, however few its rows are. To copy its rows costs less. Samples
    are joined where they are consecutive, so that they still need no times.

    Parameters
    ----------
    batches : generator of Batch
    long : bool
        Whether batches may be longer than what stays in the CPU cache, where no row need be copied.
    """
    held: list[Batch] = []
    rows = size = 0
    try:
        for number in count():
            try:
                batch = next(batches)
            except StopIteration:
                break
            except Exception:
                if held:  # an operator may fail at earlier rows
                    yield _concat(held)
                raise
            if held and (batch is None or not _joins(held[-1], batch) or not (
                    (rows + len(batch) <= BATCH_ROWS and size + batch.nbytes <= _MOST_BYTES)
                    or (long and rows + len(batch) <= _LONG_ROWS and _adjoined([held[-1], batch]) is not None))):
                yield _concat(held)
                held, rows, size = [], 0, 0
            begins = number >= _AS_THEY_COME or (long and batch is not None and len(batch) >= BATCH_ROWS // 2)
            if batch is None or not (held or begins):
                yield batch
            else:
                held.append(batch)
                rows, size = rows + len(batch), size + batch.nbytes
        if held:
            yield _concat(held)
    finally:
        batches.close()


def _concat(batches: list[Batch]) -> Batch:
    columns = _adjoined(batches)
    if columns is None:
        return Batch.concat(batches)
    first, times = batches[0], batches[0].times
    assert isinstance(times, Pulse)
    rows = sum(map(len, batches))
    return first.having(sync=Pulse(times.timebase, times.first, rows), columns=columns)


def _joins(before: Batch, after: Batch) -> bool:
    if before.absent is not None or after.absent is not None:
        return False
    one, other = before.times, after.times
    if isinstance(one, Pulse) != isinstance(other, Pulse):
        return False
    return not (isinstance(one, Pulse) and isinstance(other, Pulse)) or one.joined(other) is not None


def _adjoined(batches: list[Batch]) -> tuple[Column, ...] | None:
    """Columns of consecutive samples that lie one after the other in memory, as views; None for others."""
    if not all(isinstance(batch.times, Pulse) and isinstance(batch.ends, int) and batch.ends == batches[0].ends
               for batch in batches):
        return None
    found = []
    for parts in zip(*[batch.columns for batch in batches], strict=True):
        values = None if any(part.valid is not None for part in parts) else _view([part.values for part in parts])
        if values is None:
            return None
        found.append(Column(parts[0].type, values))
    return tuple(found)


def _view(arrays: list[Any]) -> Array | None:
    """Views of one array that lie one after the other in memory, as one view."""
    first = arrays[0]
    if not isinstance(first, np.ndarray) or not isinstance(first.base, np.ndarray):
        return None
    address = first.__array_interface__["data"][0]
    for each in arrays:
        if (not isinstance(each, np.ndarray) or each.base is not first.base or each.dtype != first.dtype
                or not each.flags.c_contiguous or each.__array_interface__["data"][0] != address):
            return None
        address += each.nbytes
    return as_strided(first, (sum(map(len, arrays)),), first.strides, writeable=False)
