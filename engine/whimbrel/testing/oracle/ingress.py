"""What a source lets in when rows come late (SEMANTICS 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from whimbrel.errors import DisorderError
from whimbrel.testing.oracle.facts import INF, Fact, Time


@dataclass
class Ingested:
    """The facts of the stream, and how many rows were dropped or moved for coming late."""

    facts: list[Fact] = field(default_factory=list)
    dropped: int = 0
    adjusted: int = 0


def ingress(arrivals: Iterable[Fact], reorder_latency: int | None,
            late: Literal["raise", "drop", "adjust"]) -> Ingested:
    """Rows in arrival order, one after the other.

    "highWatermark hw = largest sync seen; current = max(current, hw - L). A row is late iff sync < current (equal is
    on time). Raise: an error. Drop: dropped and counted. Adjust: interval -> [current, end), dropped if
    current >= end", and a start without a known end is moved the same way. "History read whole has L = INF:
    everything is on time": `reorder_latency` None.
    """
    answer = Ingested()
    high: Time = -INF
    current: Time = -INF
    latency = INF if reorder_latency is None else reorder_latency
    for row, (start, end, payload) in enumerate(arrivals):
        high = max(high, start)
        current = max(current, high - latency)
        if start >= current:
            answer.facts.append((start, end, payload))
        elif late == "raise":
            raise DisorderError(f"Row {row} at {start} came when {current} had been promised.")
        elif late == "adjust" and current < end:
            answer.facts.append((current, end, payload))
            answer.adjusted += 1
        else:
            answer.dropped += 1
    return answer
