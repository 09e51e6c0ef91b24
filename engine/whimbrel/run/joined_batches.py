"""Join small batches of a source that is read to its end."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice

from whimbrel.batch import Batch, Pulse
from whimbrel.connect.tables.columnar_source import BATCH_ROWS

_AS_THEY_COME = 32
"""The first batches of a source are not joined: a source with fewer is read soon in any case."""
_MOST_BYTES = 1 << 21
"""Payload and times of joined batches stay in the CPU cache."""


def joined_batches(batches: Generator[Batch | None]) -> Generator[Batch | None]:
    """The same rows in the same order, in fewer batches.

    Each batch costs every operator some microseconds, however few its rows are. To copy its rows costs less. Samples
    are joined where they are consecutive, so that they still need no times.
    """
    try:
        yield from islice(batches, _AS_THEY_COME)
        held: list[Batch] = []
        rows = size = 0
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                break
            except Exception:
                if held:  # an operator may fail at earlier rows
                    yield Batch.concat(held)
                raise
            if held and (batch is None or rows + len(batch) > BATCH_ROWS or size + batch.nbytes > _MOST_BYTES
                         or not _joins(held[-1], batch)):
                yield Batch.concat(held)
                held, rows, size = [], 0, 0
            if batch is None:
                yield None
            else:
                held.append(batch)
                rows, size = rows + len(batch), size + batch.nbytes
        if held:
            yield Batch.concat(held)
    finally:
        batches.close()


def _joins(before: Batch, after: Batch) -> bool:
    if before.absent is not None or after.absent is not None:
        return False
    one, other = before.times, after.times
    if isinstance(one, Pulse) != isinstance(other, Pulse):
        return False
    return not (isinstance(one, Pulse) and isinstance(other, Pulse)) or one.joined(other) is not None
