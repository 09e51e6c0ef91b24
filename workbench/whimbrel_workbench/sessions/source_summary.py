"""Describe the sources of a query: names, rows and lateness."""

from __future__ import annotations

from typing import Final

from whimbrel.clock import show_ticks
from whimbrel.plan import Source
from whimbrel.stream import LatencyBands, Stream

_LATE: Final = {"raise": "stop the run", "drop": "dropped", "adjust": "adjusted", "side_output": "side output"}


def source_facts(query: Stream | LatencyBands) -> dict[str, tuple[tuple[str, str], ...]]:
    """For each source of a query by its name: what to know of it, as names and words."""
    answer = query if isinstance(query, Stream) else query[-1]
    found = {source.name: _facts(source) for source in answer.sources}
    if isinstance(query, LatencyBands):
        latencies = ("latencies", ", ".join(query.latencies))
        return {name: (*facts, latencies) for name, facts in found.items()}
    return found


def _facts(source: Source) -> tuple[tuple[str, str], ...]:
    unit, order = source.schema.unit, source.disorder
    latency = order.reorder_latency if order.partition is None else order.lag
    many = f"{source.rows:,}" if source.rows is not None else "unbounded" if source.live else "not counted"
    facts = [("rows", many), ("event time", source.time)]
    if source.arrival is not None:
        facts.append(("arrival time", source.arrival))
    if order.partition is not None:
        facts.append(("partitions", order.partition))
    if latency is None:
        facts.append(("reorder latency", "unlimited"))
    else:
        facts += [("reorder latency", show_ticks(latency, unit)), ("late events", _LATE[order.late])]
    return tuple(facts)
