"""Operators over samples say how far they read: events of that range suffice for a result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.plan import Exact, KnownInput, LineageRequest, Node, Operator

LOG = wb.from_arrow({"at": np.arange(0, 400, 2), "x": np.arange(200.0)}, time="at", name="log").select("x")
SAMPLES = LOG.resample(2, how="hold", limit=1)
QUERIES: dict[str, tuple[Callable[[wb.Stream], wb.Stream], int | None, int | None]] = {
    "hold": (lambda samples: samples.resample(3, how="hold", limit=4), 4, 0),
    "linear": (lambda samples: samples.resample(3, how="linear", limit=4), 4, 4),
    "sliding_window": (lambda samples: samples.sliding_window(5), 0, 0),
    "fir": (lambda samples: samples.select(y=wb.fir(col.x, [1.0] * 5, align="center")), 6, 6),
    "polyphase": (lambda samples: samples.resample(3, how="polyphase"), None, None),
    "rewindow": (lambda samples: samples.rewindow(4, 2), 10, 10),
}


def asked(node: Node, wanted: LineageRequest) -> LineageRequest:
    """What a query needs of the samples, if no step between needs more."""
    while node is not SAMPLES.node:
        assert isinstance(node.op, Operator)
        below, = node.inputs
        given = KnownInput(below.schema, below.properties, None if below.reach is None else below.reach.longest)
        wanted, = node.op.lineage(wanted, given)
        node = below
    return wanted


@pytest.mark.parametrize("name", QUERIES)
def test_lineage_and_reach_have_the_same_bounds(name: str) -> None:
    build, back, lookahead = QUERIES[name]
    query = build(SAMPLES)
    reach, before = query.node.reach, SAMPLES.node.reach
    assert reach is not None
    assert before is not None
    found = asked(query.node, LineageRequest(100, 140, starting=True, exact=Exact.STARTS))
    assert (100 - found.start, found.end - 140) == (reach.back - before.back, reach.forward - before.forward)
    if back is not None:
        assert (100 - found.start, found.end - 140) == (back, lookahead)


@pytest.mark.parametrize("name", QUERIES)
def test_events_within_the_bounds_suffice(name: str) -> None:
    build, *_ = QUERIES[name]
    found = asked(build(SAMPLES).node, LineageRequest(100, 140, starting=True, exact=Exact.STARTS))
    time = wb.start_time().cast(int)
    part = SAMPLES.where((time >= found.start) & (time < found.end))
    whole, rows = ([row for row in build(samples).collect().to_pylist() if 100 <= row["start"] < 140]
                   for samples in (SAMPLES, part))
    assert rows == whole
    assert len(rows) > 5
