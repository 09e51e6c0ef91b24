"""Late policies of a source (docs/semantics.md, order and late events)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from whimbrel.errors import DisorderError
from whimbrel.testing.oracle.events import INF, Event, Time


@dataclass
class Ingested:
    """The facts of the stream, and how many rows were dropped or moved for coming late.

    With partitions: these rows by partition, and the low watermark after the last row.
    """

    facts: list[Event] = field(default_factory=list)
    dropped: int = 0
    adjusted: int = 0
    late: dict[Any, int] = field(default_factory=dict)
    low: Time = -INF


@dataclass(frozen=True)
class Punctuation:
    """No row before this time follows in a partition; in none, as a low watermark, where it is None."""

    time: int
    partition: Any = None


def ingress(arrivals: Iterable[Event], reorder_latency: int | None,
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
    for row, event in enumerate(arrivals):
        high = max(high, event[0])
        current = max(current, high - latency)
        _apply_policy(row, event, current, late, answer)
    return answer


def partitioned_ingress(arrivals: Iterable[Event | Punctuation], reorder_latency: int | None,
                        late: Literal["raise", "drop", "adjust"], *, by: str, lag: int | None = None,
                        every: int = 1, added: int = 0) -> Ingested:
    """Rows and punctuations in arrival order, of partitions that the payload column `by` names.

    "Order, disorder and punctuation per partition; a global low watermark bounds all partitions, past and future":
    current[p] = max(current[p], hw[p] - L, punctuations of p, low watermark). With a `lag` the low watermark is the
    largest sync seen anywhere less the lag, "snapped DOWN to a multiple" of `every` "and put just before the row that
    crosses it". It is less by what is `added` for the latency of a band. What happens to late rows is as in
    :func:`ingress`.
    """
    answer = Ingested()
    currents: dict[Any, Time] = {}
    latency = INF if reorder_latency is None else reorder_latency
    for row, arrival in enumerate(arrivals):
        if isinstance(arrival, Punctuation):
            if arrival.partition is None:
                answer.low = max(answer.low, arrival.time)
            else:
                currents[arrival.partition] = max(currents.get(arrival.partition, -INF), arrival.time)
            continue
        start, partition = arrival[0], arrival[2][by]
        if lag is not None:
            answer.low = max(answer.low, (start - lag) // every * every - added)
        currents[partition] = max(currents.get(partition, -INF), start - latency)
        refused = answer.dropped + answer.adjusted
        _apply_policy(row, arrival, max(currents[partition], answer.low), late, answer)
        if answer.dropped + answer.adjusted > refused:
            answer.late[partition] = answer.late.get(partition, 0) + 1
    return answer


def _apply_policy(row: int, event: Event, current: Time, late: Literal["raise", "drop", "adjust"],
                  answer: Ingested) -> None:
    start, end, payload = event
    if start >= current:
        answer.facts.append(event)
    elif late == "raise":
        raise DisorderError(f"Row {row} at {start} came when {current} had been promised.")
    elif late == "adjust" and current < end:
        answer.facts.append((current, end, payload))
        answer.adjusted += 1
    else:
        answer.dropped += 1
