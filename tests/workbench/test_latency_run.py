"""Several latencies in one picture: each moment by the latest band that has settled it."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.errors import WhimbrelError
from whimbrel_workbench.frames import Frame, Lines, Options
from whimbrel_workbench.sessions import LatencyRun, LiveSession

TIMES = [time for at in range(0, 2000, 2) for time in ([at, at - 60] if at % 100 == 98 else [at])]
LOG = wb.from_arrow(pa.table({"at": TIMES, "seen": list(range(len(TIMES)))}), time="at", arrival="seen", name="log")
COUNTS = LOG.tumbling_window(20).aggregate(n=wb.count())


def test_an_ended_run_shows_the_last_band() -> None:
    bands = COUNTS.at_latencies(0, 100)
    run = LatencyRun(bands, bands.start())
    assert run.wait(10)
    shot = run.snapshot()
    assert shot.table.equals(bands[-1].collect())
    assert shot.settled == len(shot.table)
    assert (run.state, run.error) == ("finished", None)
    assert run.facts == (("settled after", "0: 100 rows, 100: 100 rows"),
                         ("revised", "20 updated (n by up to 1), 0 inserted, 0 deleted"))


def test_early_answers_stand_where_the_last_band_has_not_come() -> None:
    replayed = COUNTS.at_latencies(0, 100, 400).on(wb.replay(LOG, speed=100, reorder_latency=0))
    run = LatencyRun(replayed, replayed.start())
    try:
        while run.snapshot().settled < 20:
            time.sleep(0.01)
        run.pause()
        assert run.state == "paused"
        shot = run.snapshot()
        starts = shot.table["start"].to_pylist()
        assert starts == sorted(set(starts))
        assert 20 <= shot.settled < len(starts)
        assert shot.table.slice(0, shot.settled).equals(COUNTS.collect().slice(0, shot.settled))
    finally:
        run.stop()


def test_a_view_draws_all_bands() -> None:
    frames: list[Frame] = []

    def show(frame: Frame) -> bool:
        frames.append(frame)
        return True

    feed = LiveSession(COUNTS.at_latencies(0, 100), Options(), show)
    feed.start()
    while not frames or frames[-1].status.state != "finished":
        time.sleep(0.01)
    assert isinstance(frames[-1].picture, Lines)
    facts = dict(frames[-1].status.facts)
    assert facts["revised"].startswith("20 updated")
    feed.restart()
    feed.close()


def test_a_failing_query_says_so() -> None:
    failing = LOG.select(x=wb.col.at * 2**62).tumbling_window(20).aggregate(s=wb.sum(wb.col.x)).at_latencies(0, 100)
    run = LatencyRun(failing, failing.start())
    with pytest.raises(WhimbrelError, match="integer overflow"):
        run.wait(10)
    assert run.state == "failed"
    assert run.error is not None


@pytest.mark.parametrize("keep", (True, False))
def test_stopping_stops_every_band(keep: bool) -> None:
    bands = COUNTS.at_latencies(0, 100).on(wb.replay(LOG, speed=10, reorder_latency=0))
    run = LatencyRun(bands, bands.start())
    run.stop(keep=keep)
    assert run.wait(10)
    assert run.state == "stopped"
