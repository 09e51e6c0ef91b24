"""A run's metrics and errors, as the words that a page shows."""

from __future__ import annotations

from whimbrel.errors import WhimbrelError
from whimbrel.run import Metrics
from whimbrel_workbench.frames import Failure, Status
from whimbrel_workbench.frames.numbers import rate_words
from whimbrel_workbench.frames.status import State
from whimbrel_workbench.frames.times import words


def status_of(state: State, metrics: Metrics, error: WhimbrelError | None,
              told: tuple[tuple[str, str], ...] = ()) -> Status:
    """The indicators of a run at one moment, and what else it tells."""
    facts = (
        ("rows", f"{metrics.rows:,}"),
        ("speed", rate_words(metrics.rows_per_s)),
        ("watermark", "complete" if state == "finished" else words(metrics.watermark)),
        ("newest event", words(metrics.newest)),
        ("late", f"{metrics.late_dropped:,} dropped, {metrics.late_adjusted:,} adjusted"),
        ("buffered", f"{metrics.buffered_rows:,} rows"),
        *told,
        *((("forgotten", f"{metrics.forgotten_rows:,} rows"),) if metrics.forgotten_rows else ()),
    )
    return Status(state, metrics.share, facts, failure_of(error) if error is not None else None)


def failure_of(error: WhimbrelError) -> Failure:
    """What / where / hint of an error."""
    return Failure(type(error).__name__, error.what, error.where, error.hint)
