"""Start several queries that read their sources once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import whimbrel
from whimbrel_workbench.sessions.latency_run import LatencyRun

if TYPE_CHECKING:
    from whimbrel.run import Run
    from whimbrel.stream import LatencyBands, Stream


def start_together(queries: Sequence[Stream | LatencyBands], keep_rows: int = 1_000_000) -> list[Run | LatencyRun]:
    """Start queries on one thread and one reading of their sources; one run for each, as a feed follows it.

    Parameters
    ----------
    queries : sequence of Stream or LatencyBands
        Those at several latencies are so many streams of the one run.
    keep_rows : int
        Settled result rows of each to keep.
    """
    streams = [tuple(query.revisions) if isinstance(query, whimbrel.LatencyBands) else (query,) for query in queries]
    runs = iter(whimbrel.start(*(stream for each in streams for stream in each), keep_rows=keep_rows))
    return [LatencyRun(query, [next(runs) for _ in each]) if isinstance(query, whimbrel.LatencyBands) else next(runs)
            for query, each in zip(queries, streams, strict=True)]
