"""Status of a feed that is being read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from whimbrel.migration_hints import FEED_STATUS, absent

Link = Literal["connecting", "live", "idle", "reconnecting", "ended", "failed"]


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """Status of a feed at one moment.

    Attributes
    ----------
    connection : {"connecting", "live", "idle", "reconnecting", "ended", "failed"}
        "idle": connected, without rows for ``idle_timeout``.
    waiting_for : str
        While connecting: what must happen before messages can arrive, such as the assignment of partitions in a group.
    phase : {"", "history", "catching up", "live"}
        Phase of a hybrid source; empty for other feeds.
    messages, bytes : int
        Received messages, and their size.
    rows : int
        Rows made of the messages.
    queued_rows, queued_bytes : int
        Rows in the buffer, and their size in memory.
    dead_letters : mapping of str to int
        Malformed messages and invalid rows, by reason.
    lost : mapping of str to int
        Lost messages by reason; a number of events where messages cannot be counted.
    duplicates : int
        Rows of the feed that were dropped because they are in the history. With ``keys=`` and ``dedup_window=`` this
        includes rows that may be in the history.
    shed : mapping of str to int
        Rows dropped by load shedding, by rule. For ``WidenHop``: windows that were skipped.
    reconnects : int
        Number of lost connections.
    attempts : int
        Failed connection attempts since the last success.
    retry_in_s : float
        Seconds until the next attempt.
    lag_rows : int or None
        Consumer lag: messages at the broker that are not yet received.
    eta_s : float or None
        Seconds until the feed has caught up, at the rate of the last seconds; None while the lag does not fall.
    backpressure_s : float
        Total time in which the buffer was full.
    idle_s : float
        Seconds without rows.
    error : str
        Error of the last lost connection.

    Examples
    --------
    >>> print(FeedStatus("reconnecting", attempts=3, retry_in_s=4.2, error="refused"))
    reconnecting in 4 s (attempt 3: refused)
    >>> print(FeedStatus(waiting_for="the group"))
    waiting for the group
    """

    connection: Link = "connecting"
    waiting_for: str = ""
    phase: Literal["", "history", "catching up", "live"] = ""
    messages: int = 0
    rows: int = 0
    bytes: int = 0
    queued_rows: int = 0
    queued_bytes: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict, hash=False)
    lost: Mapping[str, int] = field(default_factory=dict, hash=False)
    duplicates: int = 0
    shed: Mapping[str, int] = field(default_factory=dict, hash=False)
    reconnects: int = 0
    attempts: int = 0
    retry_in_s: float = 0.0
    lag_rows: int | None = None
    eta_s: float | None = None
    backpressure_s: float = 0.0
    idle_s: float = 0.0
    error: str = ""

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = absent("A feed's status", FEED_STATUS)

    def __str__(self) -> str:
        if self.connection == "reconnecting":
            return f"reconnecting in {self.retry_in_s:.0f} s (attempt {self.attempts}: {self.error})"
        over = self.connection == "failed" or (self.connection == "ended" and self.phase == "live")
        parts: list[str] = [self.phase] if self.phase and not over else []
        if self.connection == "connecting" and self.waiting_for:
            parts.append(f"waiting for {self.waiting_for}")
        parts = parts or [self.connection]
        if self.phase == "catching up" and self.eta_s is not None:
            parts.append(f"{self.eta_s:.0f} s to go")
        if dead := sum(self.dead_letters.values()):
            parts.append(f"{dead:,} dead letter{'s' if dead > 1 else ''}")
        for counts, what in ((self.lost, "lost"), (self.shed, "shed")):
            if count := sum(counts.values()):
                parts.append(f"{count:,} {what}")
        return ", ".join(parts)
