"""Contract of a reader of a feed."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator

from whimbrel.batch import Batch
from whimbrel.connect.feeds.runtime.client import Offset
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.plan import OverloadSignal

CAUGHT_UP_ROWS = 1000
"""Largest consumer lag of a feed that has caught up; some messages are always in flight."""


class FeedReader(Iterator["Batch | None"]):
    """Rows of a feed after an offset; None while there are none.

    Attributes
    ----------
    offset : JSON value
        The offset after the rows that were returned.
    bell : threading.Event or None
        Set when rows are available. With a bell, the reader does not wait for rows.
    relief : OverloadSignal or None
        Asks hopping windows to widen their hop under overload.
    saves_offset : bool
        Whether the caller acknowledges rows. Otherwise rows are acknowledged when the next rows are read.
    connect_timeout_s : float or None
        How long connections may fail before the first one succeeds; after that, the server is missing. None: forever.
    unworked : int
        Rows that were returned and not yet processed, as reported by the caller.
    """

    offset: Offset = None
    bell: threading.Event | None = None
    relief: OverloadSignal | None = None
    saves_offset: bool = False
    connect_timeout_s: float | None = None
    unworked: int = 0

    @property
    @abstractmethod
    def state(self) -> FeedStatus:
        """Status of the feed now."""

    @property
    @abstractmethod
    def forgets(self) -> bool:
        """Whether acknowledged messages cannot be read again."""

    @property
    @abstractmethod
    def idle_ticks(self) -> int | None:
        """Ticks since the feed became idle; None while it is not idle."""

    @property
    @abstractmethod
    def slowest(self) -> int | None:
        """Newest time of the slowest partition that is not idle; None while the reader waits for all of them."""

    @abstractmethod
    def acknowledge(self, offset: Offset) -> None:
        """Acknowledge rows up to an offset."""

    @abstractmethod
    def rest(self) -> Iterator[Batch]:
        """Stop receiving, and return the buffered rows."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""
