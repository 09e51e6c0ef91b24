"""Predict whether a result will have several times."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from whimbrel.clock import TickUnit, ticks_per_second
from whimbrel.stream import LatencyBands, Stream

if TYPE_CHECKING:
    from whimbrel import ReplayClock

_CUTS: Final = 16
"""Into so many parts a log is cut to see how long it is, less its first and its last part."""

_WINDOWS: Final = 1.5
"""A replay of several windows takes longer than so many; one of a single window waits for its late rows, too."""


def several_times(query: Stream | LatencyBands, clock: ReplayClock | None = None) -> bool:
    """Whether rows at other times than the first are to be expected: from the plan, and from how long its logs are.

    Parameters
    ----------
    query : Stream or LatencyBands
    clock : ReplayClock, optional
        Of its run, which knows from when to when a replay goes.

    Returns
    -------
    bool
        False also for a log of which nobody knows how long it is.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": list(range(100))}, time="at")
    >>> [several_times(log.tumbling_window(size).aggregate(n=wb.count())) for size in (10, 1000)]
    [True, False]
    """
    answer = query if isinstance(query, Stream) else query[-1]
    time_grid = answer.node.properties.time_grid
    if time_grid is None:
        return True  # something changes whenever an event begins or ends
    replayed = None if clock is None else _ticks(clock, answer.schema.unit)
    if replayed is not None:
        return replayed > _WINDOWS * time_grid.hop
    if any(source.live for source in answer.sources):
        return True
    cuts = [source.cuts(_CUTS) for source in answer.sources]
    return any(each and max(each) - min(each) > time_grid.hop for each in cuts)


def _ticks(clock: ReplayClock, unit: TickUnit) -> float | None:
    """How long what is replayed on a clock took; None where that is not known in these units."""
    per_second = ticks_per_second(unit)
    match clock.range:
        case datetime() as first, datetime() as last if per_second is not None:
            return (last - first) / timedelta(seconds=1) * per_second
        case int() as first, int() as last if per_second is None:
            return last - first
    return None
