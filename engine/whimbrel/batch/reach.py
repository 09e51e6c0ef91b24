"""Times so near the ends of int64 that a window around them would wrap."""

from __future__ import annotations

from whimbrel.batch.batch import Batch
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import KernelError


def check_reach(batch: Batch, ticks: int, where: str, *, in_order: bool = False) -> None:
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

    Raises
    ------
    KernelError
        Naming the time; a wrapped lifetime would be a silent wrong answer.
    """
    if not len(batch):
        return
    sync = batch.sync
    first, last = (sync[0], sync[-1]) if in_order else (sync.min(), sync.max())
    for time in (int(first), int(last)):
        if not MIN_TIME + ticks < time < INF - ticks:
            raise KernelError(f"The time {time} is too near the end of time for windows of {ticks} ticks.", where=where,
                              hint="such times are often placeholders; drop them with where(...) first")
