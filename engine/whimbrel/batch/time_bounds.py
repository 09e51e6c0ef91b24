"""Check that sums and differences of times stay within int64."""

from __future__ import annotations

import numpy as np

from whimbrel.batch.batch import Batch, Ticks
from whimbrel.batch.pulse import Pulse
from whimbrel.clock import INF, MIN_TIME, format_instant, show_ticks
from whimbrel.errors import KernelError


def check_reach(batch: Batch, ticks: int, where: str, *, in_order: bool = False, ends: bool = False) -> None:
    """Refuse rows that lie less than `ticks` from either end of time.

    Parameters
    ----------
    batch : Batch
    ticks : int
        How far an operator moves the start or the end of a lifetime.
    where : str
        The operator, in the user's words.
    in_order : bool
        Whether rows are in the order of time.
    ends : bool
        Look at the ends of lifetimes, too, where they are known.

    Raises
    ------
    KernelError
        Naming the time; a wrapped lifetime would be a silent wrong answer.
    """
    if not len(batch):
        return
    times = ([batch.time(0), batch.time(-1)] if in_order or isinstance(batch.times, Pulse)
             else [int(batch.sync.min()), int(batch.sync.max())])
    if ends:
        known = batch.other[batch.other != INF]
        times += [int(known.min()), int(known.max())] if len(known) else []
    for time in times:
        if not MIN_TIME + ticks < time < INF - ticks:
            raise KernelError(f"The time {_shown(time, batch)} is too close to the limit of int64: "
                              f"{_span(ticks, batch)} must fit between.",
                              where=where, hint="Leave out such placeholder times before the log is read.")


def elapsed(later: Ticks, earlier: Ticks) -> Ticks:
    """Ticks from times to later ones; what int64 does not hold is its largest number.

    >>> elapsed(np.array([5, INF]), np.array([3, -1])).tolist()
    [2, 9223372036854775807]
    """
    with np.errstate(over="ignore"):
        ticks = later - earlier
    return np.where(ticks < 0, INF, ticks)


def _shown(time: int, batch: Batch) -> str:
    """A time as users see it, if there is an instant for it: the least int64 has none."""
    schema = batch.schema
    return str(time if schema.unit is None or time == MIN_TIME else format_instant(time, schema.unit, schema.zone))


def _span(ticks: int, batch: Batch) -> str:
    return f"{ticks} ticks" if batch.schema.unit is None else show_ticks(ticks, batch.schema.unit)
