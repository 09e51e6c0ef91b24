"""Memory of columns: large blocks for results, and reuse of freed pages."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import weakref
from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]

_BLOCK = 32 << 20
_PIECE = 64 << 10
"""Bytes of the smallest array that is worth a piece of a block."""
_UNSHARED = 2
"""What :func:`sys.getrefcount` counts of an array that is in no other: the attribute and its own argument."""
_LINE = 64
"""Bytes of a cache line: Arrow wants its buffers to begin at one."""
_SPARE_BLOCKS = 4
"""Most blocks that wait to be used again; together as much as :func:`keep_freed_memory` leaves to the allocator."""

_spare: list[Array] = []


class Storage:
    """Blocks that are large enough for huge pages, which NumPy requests for arrays from 4 MiB.

    The columns of a result come in pieces that fit the cache. If they stayed where they were written, every piece would
    need fresh memory, and its page faults cost more than most kernels. Copying them out of the cache frees the memory
    for the next piece. A kernel whose rows stay allocates their memory here, without a copy.

    Blocks without references are used again, here from the beginning or, a few at most, elsewhere. The page faults of a
    new block cost twice as much as writing to it, and more when the system has no huge pages left.
    """

    def __init__(self) -> None:
        self._block = np.empty(0, np.uint8)
        self._given = 0
        self._alike: list[Array] = []
        self._apart: Storage | None = None
        """Where these are: they stay longer than what else a block holds."""

    def empty(self, rows: int, dtype: np.dtype[Any] | type) -> Array:
        """A new array."""
        size = rows * np.dtype(dtype).itemsize
        if not _PIECE <= size <= _BLOCK // 4:
            return np.empty(rows, dtype)
        if sys.getrefcount(self._block) <= _UNSHARED:
            self._given = 0
        if self._given + size > len(self._block):
            self._block, self._given = _block(), 0
        piece = self._block[self._given : self._given + size]
        self._given += -(-size // _LINE) * _LINE
        return np.frombuffer(piece.data, dtype)  # the parts keep it alive, not the block

    def alike(self, number: int, rows: int) -> Array:
        """An array of one repeated number, shared between calls for the last two numbers."""
        for known in self._alike:
            if known[0] == number and len(known) >= rows:
                return known[:rows]
        self._apart = self._apart or Storage()
        array = self._apart.empty(rows, np.int64)
        array[:] = number
        self._alike = [*self._alike[-1:], array]
        return array

    def take(self, array: Array, rows: Array) -> Array:
        """The values at these positions, none of which is negative."""
        if array.dtype == np.bool_ or len(rows) * array.itemsize < _PIECE:  # Arrow packs the former elsewhere
            return array[rows]
        return np.take(array, rows, out=self.empty(len(rows), array.dtype), mode="clip")  # others make a copy first

    def keep(self, array: Array) -> Array:
        """The values, moved here, unless they are in memory that stays anyway, Arrow's or a block's, or is small."""
        owner: Any = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if isinstance(owner.base, pa.Buffer | memoryview) or owner.nbytes < _PIECE:
            return array
        return self.copy(array)

    def copy(self, array: Array) -> Array:
        """The values once more, here."""
        copy = self.empty(len(array), array.dtype)
        copy[:] = array
        return copy


class PreallocatedStorage(Storage):
    """For columns that are given away with the memory that they were written to: nothing is moved."""

    def empty(self, rows: int, dtype: np.dtype[Any] | type) -> Array:
        return np.empty(rows, dtype)

    def copy(self, array: Array) -> Array:
        return array


def _block() -> Array:
    """A block that is spare, or a new one."""
    try:
        memory = _spare.pop()
    except IndexError:
        memory = np.empty(_BLOCK, np.uint8)
    block = np.frombuffer(memory.data, np.uint8)  # parts of it hold this view, and not the memory itself
    weakref.finalize(block, _give_back, memory).atexit = False
    return block


def _give_back(memory: Array) -> None:
    if len(_spare) < _SPARE_BLOCKS:
        _spare.append(memory)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Names of settings of glibc's mallopt (malloc.h)."""


@functools.cache
def keep_freed_memory() -> None:
    """Let the C allocator keep up to 128 MiB of freed memory for the next allocations.

    For arrays of the size of a batch column, glibc requests memory from the system each time and returns it at once,
    until it has adapted to larger ones. Each batch then pays for its page faults, which cost more than most kernels.
    These are the values to which glibc would adapt. Settings in the environment, and other C libraries, are respected.
    """
    if any(name.startswith("MALLOC_") and name.endswith("_THRESHOLD_") for name in os.environ):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, _BLOCK)
    mallopt(_TRIM_THRESHOLD, 128 << 20)
