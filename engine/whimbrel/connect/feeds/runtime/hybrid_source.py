"""Hybrid source: a history, then a feed, without gaps or duplicates."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import cast

from whimbrel.batch import Batch
from whimbrel.connect.feeds.runtime.client import Offset
from whimbrel.connect.feeds.runtime.cutover import Cutover
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.feed_reader import CAUGHT_UP_ROWS, FeedReader
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.plan import Source, SourceOffset

_LAG_SAMPLE_S, _RATE_S = 0.25, 2.0
"""How often the lag is sampled, and the time over which its rate is measured."""


class HybridSource(Source):
    """Hybrid source: a history at full speed, then a feed.

    Parameters
    ----------
    history : Source
        Its rows come first, in their order.
    feed : Feed
    cutover : Cutover
        Rule that finds the rows of the feed that are in the history.

    Notes
    -----
    Both are read with the ordering of the feed and the longer of both reorder latencies.
    """

    live = True

    def __init__(self, history: Source, feed: Feed, cutover: Cutover) -> None:
        self.history, self.feed, self.cutover = history, feed, cutover
        self.name, self.schema, self.time = feed.name, history.schema, history.time
        self.arrival, self.relief = history.arrival, feed.relief
        self.hidden = (*history.hidden, *feed.hidden)
        self.after = f"a history, {cutover.show()}"
        latencies = [source.disorder.reorder_latency for source in (history, feed)]
        known = [latency for latency in latencies if latency is not None]
        self.disorder = replace(feed.disorder, reorder_latency=max(known, default=0))
        self.longest = None if history.longest is None or feed.longest is None else max(history.longest, feed.longest)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        self.schema.select(columns)
        self.feed.check_parts()
        return _HybridReader(self, tuple(columns), offset.offset if isinstance(offset, SourceOffset) else None)


class _HybridReader(FeedReader):
    """Reader of a hybrid source.

    Its offset has the number of history rows, the state of the cutover and the offset of the feed.
    """

    def __init__(self, both: HybridSource, columns: tuple[str, ...], offset: Offset) -> None:
        self._both, self._columns, self.relief = both, columns, both.relief
        self._needed = tuple(dict.fromkeys((*columns, *both.cutover.columns)))
        self._cutover = both.cutover.begin()
        saved = offset or {"history": 0, "feed": None, "over": False}
        self._history_rows, self._feed_offset, self._over = saved["history"], saved["feed"], saved["over"]
        if offset is not None:
            self._cutover.restore(offset["cutover"])
        self._rows: Iterator[Batch | None] | None = None
        self._feed: FeedReader | None = None
        self._caught_up = self._closed = False
        self._duplicates = 0
        self._read_rows = 0
        self._bell: threading.Event | None = None
        self._lags: deque[tuple[float, int]] = deque()

    @property
    def offset(self) -> Offset:
        return {"history": self._history_rows, "cutover": self._cutover.state(), "feed": self._feed_offset,
                "over": self._over}

    @property
    def bell(self) -> threading.Event | None:
        return self._bell

    @bell.setter
    def bell(self, bell: threading.Event | None) -> None:
        self._bell = bell
        if self._feed is not None:
            self._feed.bell = bell

    def __next__(self) -> Batch | None:
        return self._from_feed() if self._over else self._from_history()

    def _from_history(self) -> Batch | None:
        if self._rows is None:
            self._rows = self._both.history.read(self._needed, self._history_rows)
        batch = next(self._rows, None)
        if batch is None:
            self._over = True
            self._close_history()
            self._ring()
            return None
        kept = self._cutover.of_history(batch)
        self._read_rows += len(kept)
        self._history_rows += len(batch)
        self._ring()
        return kept.select(self._columns) if len(kept) else None

    def _from_feed(self) -> Batch | None:
        if self._feed is None:
            if self._feed_offset is None:
                self._feed_offset = self._cutover.offset_in(self._both.feed)
            self._feed = cast(FeedReader, self._both.feed.read(self._needed, SourceOffset(0, self._feed_offset)))
            self._feed.bell, self._feed.saves_offset, self._feed.relief = self._bell, self.saves_offset, self.relief
        self._feed.connect_timeout_s = self.connect_timeout_s
        before, batch = self._feed_offset, next(self._feed)
        self._feed_offset = self._feed.offset
        if self._both.feed.is_another(before, self._feed_offset):
            self._cutover.forget_offsets()
        return None if batch is None else self._deduplicated(batch)

    def _deduplicated(self, batch: Batch) -> Batch | None:
        """Rows of the feed that are not in the history."""
        kept = self._cutover.of_feed(batch)
        self._duplicates += len(batch) - len(kept)
        self._read_rows += len(kept)
        return kept.select(self._columns).having(schema=self._both.schema.select(self._columns)) if len(kept) else None

    @property
    def state(self) -> FeedStatus:
        if self._feed is None:
            return FeedStatus("live", phase="history", rows=self._read_rows)
        state = self._feed.state
        lag = (state.lag_rows or 0) + state.queued_rows + self.unworked
        self._caught_up = self._caught_up or (
            state.connection in ("live", "idle", "ended") and lag <= CAUGHT_UP_ROWS)
        catching_up = not self._caught_up and not self._closed
        return replace(state, phase="live" if self._caught_up else "catching up" if catching_up else "",
                       duplicates=self._duplicates, eta_s=self._eta_s(lag) if catching_up else None)

    def _eta_s(self, lag: int) -> float | None:
        """Seconds until the lag is 0, at the rate of the last seconds; None while the lag does not fall."""
        now, samples = monotonic(), self._lags
        if not samples or now > samples[-1][0] + _LAG_SAMPLE_S:
            if samples and lag > samples[-1][1] + CAUGHT_UP_ROWS:  # the broker reported more messages only now
                samples.clear()
            samples.append((now, lag))
        while len(samples) > 2 and samples[1][0] < now - _RATE_S:
            samples.popleft()
        since, before = samples[0]
        return lag * (now - since) / (before - lag) if before > lag else None

    @property
    def forgets(self) -> bool:
        return self._both.feed.forgets

    @property
    def idle_ticks(self) -> int | None:
        return None if self._feed is None else self._feed.idle_ticks

    @property
    def slowest(self) -> int | None:
        return None if self._feed is None else self._feed.slowest

    def acknowledge(self, offset: Offset) -> None:
        if self._feed is not None:
            self._feed.saves_offset = True
            if offset["feed"] is not None:
                self._feed.acknowledge(offset["feed"])

    def rest(self) -> Iterator[Batch]:
        if self._feed is not None:
            for batch in self._feed.rest():
                self._feed_offset = self._feed.offset
                kept = self._deduplicated(batch)
                if kept is not None:
                    yield kept

    def close(self) -> None:
        self._closed = True
        self._close_history()
        if self._feed is not None:
            self._feed.close()

    def _close_history(self) -> None:
        if isinstance(self._rows, Generator):
            self._rows.close()
        self._rows = None

    def _ring(self) -> None:
        """Wake the caller: rows of the history are available at once."""
        if self._bell is not None:
            self._bell.set()
