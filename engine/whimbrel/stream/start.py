"""Start several queries together."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel import run as running
from whimbrel.errors import PlanError
from whimbrel.migration_hints import renamed
from whimbrel.plan import Sink
from whimbrel.run import Checkpoints, Run
from whimbrel.stream.stream import LatencyBands, Stream


@renamed(to="sinks")
def start(*queries: Stream, keep_rows: int = 1_000_000, sinks: Sequence[Sink | None] = (),
          checkpoints: Checkpoints | None = None) -> tuple[Run, ...]:
    """Start queries together, with shared sources and steps.

    Each source is read once, and common steps are computed once.

    Sources are shared when they are the same objects: assign a stream to a name, and use it in several queries. Steps
    over them are shared when they are the same objects, or equal in their expressions and options. All
    runs share one thread and read the same rows at the same time. Pausing, resuming and checkpoints therefore apply to
    all. When one is stopped, the others continue, and what only that one needs is no longer read or computed. The same
    holds when one fails, or its sink. A failed source ends all. With checkpoints a failed sink ends all, too: they
    resume together from the last checkpoint without loss.

    Parameters
    ----------
    *queries : Stream
    keep_rows : int
        Settled result rows of each to keep, as in :meth:`whimbrel.Stream.start`.
    sinks : sequence of Sink or None
        Where settled rows go, one for each query.
    checkpoints : Checkpoints, optional
        As in :meth:`whimbrel.Stream.start`, of all of them together.

    Returns
    -------
    tuple of Run
        One for each query, in their order.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1, 4, 12], "x": [1, 2, 3]}, time="at")
    >>> totals = events.tumbling_window(10).aggregate(total=wb.sum(wb.col.x))
    >>> runs = wb.start(totals, totals.where(wb.col.total > 3))
    >>> [run.wait() for run in runs]
    [True, True]
    >>> runs[1].snapshot().table.to_pylist()
    []
    """
    check(queries, "start()")
    sinks = [sinks] if isinstance(sinks, Sink | str) else sinks
    if len(sinks) not in (0, len(queries)):
        raise PlanError(f"sinks must have one entry per query, got {len(sinks)} for {len(queries)} queries.",
                        where="start(..., sinks=...)",
                        hint="Give one sink per query, in order, or None for a query without a sink.")
    return running.start(*(query.node for query in queries), keep_rows=keep_rows, sinks=sinks, checkpoints=checkpoints)


def check(queries: tuple[Stream, ...], where: str) -> None:
    """Check that there is at least one query, and only streams."""
    if not queries:
        raise PlanError(f"{where} needs a stream.", where=where, hint="Pass at least one stream.")
    for query in queries:
        if not isinstance(query, Stream):
            raise PlanError(f"{where} needs streams, got {type(query).__name__}.", where=where,
                            hint="Use bands.start() or wb.start(*bands, ...)."
                            if isinstance(query, LatencyBands) else "Pass streams.")
