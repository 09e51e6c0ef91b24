"""The same query asked at other latencies than it was written for."""

from __future__ import annotations

import pytest

import whimbrel as wb
from tests.engine.stream.test_lateness import log
from whimbrel import col
from whimbrel.errors import PlanError
from whimbrel.stream import LatencyBands, asked_at

LATENCIES = (0, 2, 40)


def totals(source: wb.Stream) -> wb.Stream:
    return source.tumbling_window(20).aggregate(n=wb.count(), total=wb.sum(col.x))


@pytest.mark.parametrize("latency", LATENCIES)
@pytest.mark.parametrize("replayed", (True, False))
def test_one_latency_is_what_the_source_promises(latency: int, replayed: bool) -> None:
    source = log(1)
    asked = wb.replay(source, speed=float("inf"), reorder_latency=100) if replayed else source
    expected = wb.replay(source, speed=float("inf"), reorder_latency=latency, late="drop")
    assert asked_at(totals(asked), [latency]).collect().equals(totals(expected).collect())


def test_several_latencies_are_bands_whatever_was_asked_before() -> None:
    source = log(1)
    whole = totals(source).at_latencies(*LATENCIES).collect()
    for query in (totals(source), totals(source).at_latencies(1, 3)):
        bands = asked_at(query, LATENCIES)
        assert isinstance(bands, LatencyBands)
        assert bands.collect().equals(whole)
    assert asked_at(bands, [2]).latencies == ("2",)


def test_a_split_of_the_user_s_own_stays() -> None:
    source = log(1)
    bands = source.at_latencies(
        0, 5, partial=lambda rows: rows.tumbling_window(20).aggregate(n=wb.count()),
        merge=lambda parts: parts.aggregate(n=wb.sum(col.n)))
    again = asked_at(bands.on(source), [2, 40])
    assert again.latencies == ("2", "40")
    assert again[1].collect()["n"].to_pylist() == totals(source).collect()["n"].to_pylist()


def test_replays_advance_by_the_clock_they_are_given() -> None:
    clock = wb.ReplayClock(float("inf"), paused=True)
    query = totals(wb.replay(log(1), speed=3, reorder_latency=100))
    run = asked_at(query, [2], clock).start()
    assert run.clock is clock
    clock.seek(150)
    assert clock.wait(30)
    assert run.snapshot().metrics.rows == 151
    run.stop()


def test_no_latency_and_latencies_that_do_not_grow_are_refused() -> None:
    with pytest.raises(PlanError, match="needs a latency"):
        asked_at(totals(log(1)), [])
    with pytest.raises(PlanError, match="Latencies must be in increasing order"):
        asked_at(totals(log(1)), [5, 2])
