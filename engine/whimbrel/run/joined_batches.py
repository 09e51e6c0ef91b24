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
_LONG_ROWS = 1 << 21
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
    views = True
    try:
        for number in count():
            try:
                batch = next(batches)
            except StopIteration:
                break
            except Exception:
                if held:  # an operator may fail at earlier rows
                    yield _joined(held, views=views)
                raise
            if held:
                adjoins = batch is not None and views and _adjoin(held[-1], batch)
                if batch is None or not _join(held[-1], batch) or not (
                        (rows + len(batch) <= BATCH_ROWS and size + batch.nbytes <= _MOST_BYTES)
                        or (long and adjoins and rows + len(batch) <= _LONG_ROWS)):
                    yield _joined(held, views=views)
                    held, rows, size, adjoins = [], 0, 0, True
                views = adjoins
            begins = number >= _AS_THEY_COME or (long and batch is not None and len(batch) >= BATCH_ROWS // 2)
            if batch is None or not (held or begins):
                yield batch
            else:
                held.append(batch)
                rows, size = rows + len(batch), size + batch.nbytes
        if held:
            yield _joined(held, views=views)
    finally:
        batches.close()


def _joined(batches: list[Batch], *, views: bool) -> Batch:
    first, times = batches[0], batches[0].times
    if len(batches) == 1 or not views or not isinstance(times, Pulse):
        return Batch.concat(batches)
    rows = sum(map(len, batches))
    columns = (Column(column.type, as_strided(column.values, (rows,), writeable=False)) for column in first.columns)
    return first.having(sync=Pulse(times.timebase, times.first, rows), columns=tuple(columns))


def _join(before: Batch, after: Batch) -> bool:
    """Whether one batch may follow the other one in a batch: samples only if they are consecutive."""
    if before.absent is not None or after.absent is not None:
        return False
    one, other = before.times, after.times
    if isinstance(one, Pulse) and isinstance(other, Pulse):
        return one.joined(other) is not None
    return not (isinstance(one, Pulse) or isinstance(other, Pulse))


def _adjoin(before: Batch, after: Batch) -> bool:
    """Whether both are samples of one memory, where the second batch begins where the first one ends."""
    if not (isinstance(before.times, Pulse) and isinstance(before.ends, int) and isinstance(after.ends, int)):
        return False
    if before.ends != after.ends:
        return False
    for column, following in zip(before.columns, after.columns, strict=True):
        one, other = column.values, following.values
        if not isinstance(one, np.ndarray) or column.valid is not None or following.valid is not None:
            return False
        if not isinstance(one.base, np.ndarray) or one.base is not other.base or one.dtype != other.dtype:
            return False
        if _address(one) + one.nbytes != _address(other):
            return False
    return True


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
