"""Check the remaining memory before large results."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from whimbrel.errors import KernelError

SPACIOUS_BYTES = 256 << 20
"""Answers smaller than this are kept without asking how much memory is left."""
_CGROUP = Path("/sys/fs/cgroup")


def check_memory(held_bytes: int, growing: str, where: str) -> None:
    """Refuse an answer that takes more memory than is left for its copy in the order of start.

    Parameters
    ----------
    held_bytes : int
        What is kept of it so far.
    growing : str
        What makes so many rows, in words.
    where : str
        The step, in the user's words.

    Raises
    ------
    KernelError
        Before the machine runs out of memory, which would end the process instead.
    """
    free = free_bytes()
    if held_bytes > SPACIOUS_BYTES and free is not None and free < held_bytes:
        raise out_of_memory(growing, where, held_bytes)


def out_of_memory(growing: str, where: str, held_bytes: int | None = None) -> KernelError:
    """The error for an answer, or for the state of a step, that does not fit into memory."""
    if held_bytes is None:
        return KernelError(f"This step needs more memory than is left: {growing}.", where=where,
                           hint="Filter or aggregate before it, or use shorter windows and lifetimes.")
    return KernelError(f"The result needs more memory than is left after {held_bytes >> 20:,} MiB: {growing}.",
                       where=where, hint="Add where(...) or aggregate(...), or take it in parts: batches().")


def free_bytes() -> int | None:
    """Memory that this process may still take; None where the system does not say."""
    known = [left for left in (_of_machine(), _of_process(), _of_group()) if left is not None]
    return min(known, default=None)


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), None)


def _of_process() -> int | None:
    """What the limit of its addresses leaves (``ulimit -v``)."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 0)


def _of_group() -> int | None:
    """What the limit of its control group leaves, in a container; what files are cached is given back."""
    try:
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
        stat = dict(line.split() for line in (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines())
    except OSError:
        return None
    return None if limit == "max" else max(int(limit) - used + int(stat.get("inactive_file", 0)), 0)
