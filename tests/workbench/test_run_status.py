"""What a page says of a run next to its picture."""

from __future__ import annotations

import pytest

import whimbrel as wb
from whimbrel.connect.feeds import FeedStatus
from whimbrel.run import Metrics
from whimbrel_workbench.sessions.replay_controller import playback_of
from whimbrel_workbench.sessions.run_status import status_of


def test_each_feed_says_how_it_is_and_what_was_given_up() -> None:
    feeds = {"flights": FeedStatus("reconnecting", attempts=3, retry_in_s=4.2, error="refused"),
             "weather": FeedStatus("live", phase="catching up", eta_s=9.0),
             "log": FeedStatus("live", lost={"a file was cut": 1}),
             "meters": FeedStatus("live", shed={"sample 0.1": 1200}, dead_letters={"no JSON": 3, "no time": 1})}
    metrics = Metrics(feeds=feeds, dead_letters={"meters": feeds["meters"].dead_letters})
    facts = dict(status_of("running", metrics, None).facts)
    assert facts["feed flights"] == "reconnecting in 4 s (attempt 3: refused)"
    assert facts["feed weather"] == "catching up, 9 s to go"
    assert facts["feed meters"] == "live, 4 dead letters, 1,200 shed"
    assert facts["feed log"] == "live, 1 lost"
    assert (facts["dead letters"], facts["lost"]) == ("4: no JSON (3)", "1: a file was cut")
    assert "dead letters" not in dict(status_of("running", Metrics(), None).facts)


@pytest.mark.parametrize(("idle_s", "words"), ((4.9, "live"), (14.9, "live, no rows for 10 s"),
                                                 (59, "live, no rows for 55 s"), (119, "live, no rows for 1 min"),
                                                 (9_000, "live, no rows for 2 h")))
def test_a_silent_feed_says_for_how_long(idle_s: float, words: str) -> None:
    state = FeedStatus("live", idle_s=idle_s)
    assert dict(status_of("running", Metrics(feeds={"meters": state}), None).facts)["feed meters"] == words
    held = FeedStatus("live", idle_s=idle_s, queued_rows=7)  # nobody takes what came
    assert dict(status_of("running", Metrics(feeds={"meters": held}), None).facts)["feed meters"] == "live"


def test_a_sink_whose_server_is_away_is_shown_while_it_retries() -> None:
    metrics = Metrics(sink_error="refused")
    assert dict(status_of("running", metrics, None).facts)["sink retrying"] == "refused"
    assert "sink retrying" not in dict(status_of("failed", metrics, None).facts)


def test_a_slow_run_is_not_one_that_waits_for_play() -> None:
    """On a busy machine a replay's button said "Start" while it played, and could not be paused."""
    clock = wb.ReplayClock(1)
    assert clock.state == "waiting"  # nobody has read for half a second
    assert [playback_of(clock, state).state for state in ("running", "paused")] == ["playing", "waiting"]
