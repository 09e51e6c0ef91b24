"""Rebuild a query at one or several reorder latencies."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

from whimbrel.connect import Replay, ReplayClock
from whimbrel.errors import PlanError
from whimbrel.plan import Source
from whimbrel.stream.rebind import rebind
from whimbrel.stream.stream import LatencyBands, Stream


def asked_at(query: Stream | LatencyBands, latencies: Sequence[int],
             clock: ReplayClock | None = None) -> Stream | LatencyBands:
    """The query with another reorder latency of its sources, or with latency bands for several.

    Rows that are later are dropped, where they would have been an error.

    Parameters
    ----------
    query : Stream or LatencyBands
    latencies : sequence of int
        In ticks, growing. One is what all sources promise; of several, or where there were several, each is a band.
    clock : ReplayClock, optional
        What its replays follow from now on, if any.

    Raises
    ------
    PlanError
        When there is no latency, or the query cannot be asked at several.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 3], "seen": [1, 5, 6]}, time="at", arrival="seen", reorder_latency=2)
    >>> totals = log.tumbling_window(4).aggregate(n=wb.count())
    >>> asked_at(totals, [0]).collect()["n"].to_pylist(), asked_at(totals, [2]).collect()["n"].to_pylist()
    ([1, 1], [2, 1])
    """
    if not latencies:
        raise PlanError("asked_at() needs a latency.", where="asked_at()", hint="Add a latency, such as 0.")
    asked = query.query if isinstance(query, LatencyBands) else query
    sources = {source: source.on_clock(clock) if isinstance(source, Replay) and clock is not None else source
               for source in asked.sources}
    if isinstance(query, Stream) and len(latencies) == 1:
        changed = {source: _with_latency(read, latencies[0]) for source, read in sources.items()}
        return asked.on(changed)
    again = replace(asked, node=rebind(asked.node, sources))
    if isinstance(query, LatencyBands):
        return again.at_latencies(*latencies, partial=query.partial, merge=query.merge)
    return again.at_latencies(*latencies)


def _with_latency(source: Source, latency: int) -> Source:
    late = "drop" if source.disorder.late == "raise" else source.disorder.late
    copied = copy.copy(source)
    copied.disorder = replace(source.disorder, reorder_latency=latency, late=late)
    return copied
