"""Turn metrics and errors of a run into indicators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from whimbrel.clock import span_words
from whimbrel.connect.feeds import FeedStatus
from whimbrel.errors import WhimbrelError
from whimbrel.run import Metrics
from whimbrel_workbench.frames import Failure, Playback, Status
from whimbrel_workbench.frames.format_numbers import rate_words
from whimbrel_workbench.frames.format_times import instant_text
from whimbrel_workbench.frames.status import State

_SILENT_S: Final = 5
_SILENT_STEPS_S: Final = ((60, 5), (3_600, 60), (float("inf"), 3_600))


def status_of(state: State, metrics: Metrics, error: WhimbrelError | None,
              extra: tuple[tuple[str, str], ...] = (), playback: Playback | None = None) -> Status:
    """The indicators of a run at one moment, and what else it tells; held by its clock, it is paused."""
    facts = (
        ("rows", f"{metrics.rows:,}"),
        ("speed", rate_words(metrics.rows_per_s)),
        ("watermark", "complete" if state == "finished" else instant_text(metrics.watermark)),
        ("newest event", instant_text(metrics.newest)),
        *((("age", _age(metrics)),) if metrics.age_s is not None and state != "finished" else ()),
        ("late", f"{metrics.late_dropped:,} dropped, {metrics.late_adjusted:,} adjusted"),
        *_counted("dead letters", metrics.dead_letters.values()),
        *_counted("lost", [feed.lost for feed in metrics.feeds.values()]),
        ("buffered", f"{metrics.buffered_rows:,} rows"),
        *((f"feed {name}", f"{feed}{_silence(feed)}") for name, feed in metrics.feeds.items()),
        *((("sink retrying", metrics.sink_error),) if metrics.sink_error and state == "running" else ()),
        *extra,
        *((("evicted", f"{metrics.evicted_rows:,} rows"),) if metrics.evicted_rows else ()),
    )
    held = state == "running" and playback is not None and playback.state == "paused"
    return Status("paused" if held else state, metrics.fraction_read, facts,
                  failure_of(error) if error is not None else None, playback)


def progressive_status_of(state: State, metrics: Metrics, error: WhimbrelError | None,
                       facts: tuple[tuple[str, str], ...]) -> Status:
    """The indicators of a progressive query. Its rows come in any order, so there is no watermark and no late row."""
    return Status(state, metrics.fraction_read, facts, failure_of(error) if error is not None else None)


def _counted(name: str, feeds: Iterable[Mapping[str, int]]) -> tuple[tuple[str, str], ...]:
    """How many of what came to feeds are no rows, and why most of them; nothing, if there are none."""
    reasons = sum(map(Counter, feeds), Counter[str]())
    if not reasons:
        return ()
    (why, maximum), = reasons.most_common(1)
    return ((name, f"{reasons.total():,}: {why}" + (f" ({maximum:,})" if maximum < reasons.total() else "")),)


def _age(metrics: Metrics) -> str:
    """The age of the newest row, in ticks or in the two largest units of time."""
    age_s = metrics.age_s or 0.0
    return f"{age_s:,.0f}" if isinstance(metrics.newest, int) else span_words(age_s)


def _silence(feed: FeedStatus) -> str:
    """For how long nothing came to a feed that is connected, in ever larger steps: each is a message to the page."""
    if feed.connection not in ("live", "idle") or feed.queued_rows or feed.idle_s < _SILENT_S:
        return ""
    step_s = next(step_s for max_s, step_s in _SILENT_STEPS_S if feed.idle_s < max_s)
    return f", no rows for {span_words(feed.idle_s // step_s * step_s)}"


def failure_of(error: WhimbrelError) -> Failure:
    """What / where / hint of an error."""
    return Failure(type(error).__name__, error.what, error.where, error.hint)
