"""The contract of a feed that is being read."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator

from whimbrel.batch import Batch
from whimbrel.connect.feeds.runtime.client import Offset
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.plan import OverloadSignal

CAUGHT_UP_ROWS = 1000
"""Messages that may be behind one that has caught up: some are always on their way."""


class FeedReader(Iterator["Batch | None"]):
    """Rows of a feed from a place on; None where nothing has come.

    Attributes
    ----------
    offset : JSON value
        Behind the rows that were handed on.
    bell : threading.Event or None
        Rung when there is something. Whoever sets it waits by itself, and is not kept waiting for rows.
    relief : Relief or None
        What windows that hop wider are asked by. Whoever reads sets one of its own.
    saves_offset : bool
        Whoever reads says what is safe; otherwise the broker is told that rows are, when further ones are asked for.
    unworked : int
        Rows that were handed on, and that whoever reads has not worked on yet, as far as it says so.
    """

    offset: Offset = None
    bell: threading.Event | None = None
    relief: OverloadSignal | None = None
    saves_offset: bool = False
    unworked: int = 0

    @property
    @abstractmethod
    def state(self) -> FeedStatus:
        """What there is to say about it now."""

    @property
    @abstractmethod
    def forgets(self) -> bool:
        """Whether what was said to be safe cannot be read again."""

    @property
    @abstractmethod
    def idle_ticks(self) -> int | None:
        """For how long it is idle, beyond what it may be quiet for; None while it is not."""

    @property
    @abstractmethod
    def slowest(self) -> int | None:
        """The newest time of the slowest partition, of those that are not quiet; None while all are waited for."""

    @abstractmethod
    def acknowledge(self, offset: Offset) -> None:
        """Everything up to a place is safe."""

    @abstractmethod
    def rest(self) -> Iterator[Batch]:
        """Receive no more; the rows that are here."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection."""
