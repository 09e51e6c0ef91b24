"""Round durations: 1, 2, 5, ... seconds, a minute, a day."""

from __future__ import annotations

from functools import cache

from whimbrel.clock.ticks import INF, TickUnit, ticks_per_second

_S = 10**9
_ROUND_NS = (
    *(each * 10**power for power in range(9) for each in (1, 2, 5)),
    *(each * _S for each in (1, 2, 5, 10, 15, 30)),
    *(each * 60 * _S for each in (1, 2, 5, 10, 15, 30)),
    *(each * 3_600 * _S for each in (1, 2, 3, 6, 12)),
    *(each * 86_400 * _S for each in (1, 2, 7, 14, 28, 56, 112, 364, 3_640, 36_400)),
)
_ROUND = tuple(each * 10**power for power in range(18) for each in (1, 2, 5))


@cache
def round_spans(unit: TickUnit) -> tuple[int, ...]:
    """Spans in ticks, growing, the first of them nothing.

    >>> round_spans("s")[:9], round_spans(None)[:5]
    ((0, 1, 2, 5, 10, 15, 30, 60, 120), (0, 1, 2, 5, 10))
    """
    per_second = ticks_per_second(unit)
    if per_second is None:
        return 0, *_ROUND
    return 0, *(ticks for ns in _ROUND_NS if not ns * per_second % _S and (ticks := ns * per_second // _S) < INF)
