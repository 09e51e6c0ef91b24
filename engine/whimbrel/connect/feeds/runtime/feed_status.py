"""What a feed says about itself while it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Link = Literal["connecting", "live", "idle", "reconnecting", "ended", "failed"]


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """A feed at one moment.

    Attributes
    ----------
    connection : {"connecting", "live", "idle", "reconnecting", "ended", "failed"}
        "idle": connected, and nothing came for as long as its ``idle_timeout``.
    waiting_for : str
        While it is connecting: what else must happen before anything can come, such as a group that shares out its
        partitions.
    phase : {"", "history", "catching up", "live"}
        Of a feed that follows a history: where it is.
    messages, rows, bytes : int
        Received, and made of them.
    queued_rows, queued_bytes : int
        Rows that wait for the query, and what they take in memory.
    dead_letters : mapping of str to int
        Messages and rows that were refused, by reason.
    lost : mapping of str to int
        What was there and could not be received any more, by reason: messages, or how often where nobody counts them.
    duplicates : int
        Rows left out because they had come before; with ``keys=`` and ``dedup_window=``,
        because the history may have had them.
    shed : mapping of str to int
        Rows given up under overload, by rule; windows that are left out, where the rule is to widen hops.
    reconnects : int
        How often a connection was lost.
    attempts : int
        Vain attempts since the last one that held.
    retry_in_s : float
        Seconds until the next attempt.
    lag_rows : int or None
        Messages that the broker holds and that were not received yet.
    eta_s : float or None
        Seconds until the feed has caught up, as fast as it did in the last few; None while it does not get nearer.
    backpressure_s : float
        How long the client was held back, since the query took no more.
    idle_s : float
        Seconds since the last rows came, or since they are waited for.
    error : str
        What broke the last connection.

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
