"""Ticks: time as int64 counts of a stream's unit."""

from __future__ import annotations

from typing import Final, Literal

TickUnit = Literal["s", "ms", "us", "ns"] | None
"""The unit of a tick; ``None`` means integers without a calendar."""

INF: Final = 2**63 - 1
"""No end known. As a watermark: nothing can follow."""

MIN_TIME: Final = -(2**63)
"""Before every event. As a watermark: none yet."""

_PER_SECOND: Final[dict[TickUnit, int]] = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def ticks_per_second(unit: TickUnit) -> int | None:
    """Ticks in a second, or None for plain integers."""
    return _PER_SECOND.get(unit)
