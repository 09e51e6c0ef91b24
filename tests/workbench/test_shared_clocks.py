"""Views of one replay share one clock, unless no run is left that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import whimbrel as wb
from whimbrel_workbench.sessions import LatencyRun, SharedClocks
from whimbrel_workbench.sessions.shared_clocks import ReplayRun

LOG = wb.from_arrow({"at": list(range(100)), "v": list(range(100))}, time="at", reorder_latency=0)


class Desk:
    """Starts queries as views do, each in addition to those that run already."""

    def __init__(self) -> None:
        self.clocks = SharedClocks()
        self.started = ExitStack()

    def start(self, query: wb.Stream | wb.LatencyBands, *, instead_of: tuple[ReplayRun, ...] = ()) -> ReplayRun:
        joined = self.clocks.joined(query, instead_of)
        run = joined.start() if isinstance(joined, wb.Stream) else LatencyRun(joined, joined.start())
        self.clocks.going(query, run)
        self.started.callback(run.stop)
        return run


@pytest.fixture(name="desk")
def _desk() -> Iterator[Desk]:
    desk = Desk()
    with desk.started:
        yield desk


def test_what_reads_one_replay_goes_by_one_clock(desk: Desk) -> None:
    live = wb.replay(LOG, speed=1)
    counts = live.tumbling_window(10).aggregate(n=wb.count())
    first, second = desk.start(live), desk.start(counts)
    banded = desk.start(counts.at_latencies(0, 5))
    assert first.clock is second.clock is banded.clock is not None
    assert first.clock.speed == 1
    assert desk.start(wb.replay(LOG, speed=1)).clock is not first.clock, "another replay of the same log"
    first.clock.seek(60)
    first.clock.pause()
    third = desk.start(counts)
    assert third.clock is not None
    assert third.clock.wait(10)
    assert third.snapshot().metrics.rows == second.snapshot().metrics.rows == 61, "it has come to where the others are"


def test_a_query_that_replaces_another_begins_again(desk: Desk) -> None:
    live = wb.replay(LOG, speed=1)
    first = desk.start(live)
    second = desk.start(live, instead_of=(first,))
    assert second.clock is not first.clock
    assert desk.start(live, instead_of=(first,)).clock is second.clock, "together with the second, which continues"


def test_nobody_joins_a_run_that_was_asked_to_stop(desk: Desk) -> None:
    live = wb.replay(LOG, speed=1)
    first = desk.start(live)
    second = desk.start(live, instead_of=(first,))  # and the first says that it runs: its thread has not stopped yet
    third = desk.start(live)
    assert third.clock is second.clock
    desk.clocks.left(second, third)
    assert desk.start(live).clock is not second.clock


@pytest.mark.parametrize("over", ["stopped", "ended"])
def test_nobody_joins_what_is_over(desk: Desk, over: str) -> None:
    live = wb.replay(LOG, speed=float("inf") if over == "ended" else 1)
    first = desk.start(live)
    if over == "stopped":
        first.stop()
    assert first.wait(10)
    assert desk.start(live).clock is not first.clock


def test_a_clock_that_was_given_is_the_one(desk: Desk) -> None:
    clock = wb.ReplayClock(speed=1)
    live = wb.replay(LOG, clock=clock)
    assert desk.start(live).clock is desk.start(live).clock is clock


def test_a_clock_that_was_given_to_one_replay_is_that_of_the_other(desk: Desk) -> None:
    given, alone = wb.replay(LOG, clock=wb.ReplayClock(speed=1)), wb.replay(LOG)
    apart = desk.start(alone)
    joined = desk.start(given.join(alone, on="v"))
    assert joined.clock is given.sources[0].clock is not apart.clock
    assert desk.start(alone).clock is apart.clock


def test_a_join_of_replays_that_go_by_two_clocks_has_its_own(desk: Desk) -> None:
    left, right = wb.replay(LOG, speed=1), wb.replay(LOG, speed=1)
    joined = left.join(right, on="v")
    apart = {id(desk.start(left).clock), id(desk.start(right).clock)}
    assert id(desk.start(joined).clock) not in apart


def test_a_join_goes_by_the_clock_of_one_of_its_replays(desk: Desk) -> None:
    left, right = wb.replay(LOG, speed=1), wb.replay(LOG, speed=1)
    alone = desk.start(left)
    joined = desk.start(left.join(right, on="v"))
    assert joined.clock is alone.clock
    assert desk.start(right).clock is alone.clock, "the third together with the join"
