"""Memory of arrays that the allocator keeps, so that a loop which is run again writes where it wrote before."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""Names of settings of glibc's mallopt (malloc.h)."""


def keep_memory() -> None:
    """From now on, ask the system for no array's memory apart, and give none back; with another C library, nothing.

    The engine keeps the memory of answers that nobody holds any more. A loop that makes its output anew is given fresh
    pages for it each time, which cost more than the loop does where it is simple.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, 2**31 - 1)
