"""Distance of two times without int64 overflow."""

from __future__ import annotations

INF = 2**63 - 1


def elapsed(later: int, earlier: int) -> int:
    """Ticks from one time to a later one, at most 2**63 - 1."""
    if earlier < 0 and later > INF + earlier:
        return INF
    return later - earlier


def middle(one: int, other: int) -> int:
    """The middle of two times, rounded down."""
    return (one >> 1) + (other >> 1) + (one & other & 1)
