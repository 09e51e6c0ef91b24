"""Memory that the allocator keeps after arrays are gone: keep all of it, or give all of it back."""

from __future__ import annotations

import ctypes

import pyarrow as pa

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""Names of settings of glibc's mallopt (malloc.h)."""


def keep_memory() -> None:
    """From now on, ask the system for no array's memory apart, and give none back; with another C library, nothing.

    The engine keeps the memory of answers that nobody holds any more. A loop that makes a new output is given fresh
    pages for it each time, which cost more than the loop does where it is simple.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def give_back_memory() -> None:
    """Return freed memory to the system, so that what a process needs next is seen to grow; elsewhere, nothing."""
    pa.default_memory_pool().release_unused()
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    trim(0)
