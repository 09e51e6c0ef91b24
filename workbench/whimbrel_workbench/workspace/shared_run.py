"""One run for many pages: each frame is made once."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Protocol

from whimbrel.errors import WhimbrelError
from whimbrel.progressive import ProgressiveQuery
from whimbrel.stream import LatencyBands, Stream
from whimbrel_workbench.controls import Gesture
from whimbrel_workbench.frames import Frame, Options
from whimbrel_workbench.frames.key_colors import KeyColors
from whimbrel_workbench.sessions import LiveSession, ReplayController, start_together


class Viewer(Protocol):
    """A page that shows frames."""

    def offer(self, name: str, frame: Frame) -> None:
        """Take the newest frame of a view. Called on any thread; must return at once."""


class SharedRun:
    """The feeds of several queries that were started together, and the pages that look at them.

    The run starts with the first page. Without any page it continues, so that a feed loses no rows, but makes no
    frames. Optionally it pauses instead.

    Parameters
    ----------
    views : mapping of str to (Stream or LatencyBands, Options, ProgressiveQuery or None)
        The queries by the names of their views; progressive queries run separately.
    redraws_per_s : float
        Most frames of a view in a second.
    pause_unwatched : bool
        Let the run wait while nobody looks.

    Attributes
    ----------
    feeds : dict of str to LiveSession
    player : ReplayController
        Controls the clock of the replay.
    colouring : KeyColors
        Of the keys, for all pages.
    """

    def __init__(self, views: Mapping[str, tuple[Stream | LatencyBands, Options, ProgressiveQuery | None]], *,
                 redraws_per_s: float = 4.0, pause_unwatched: bool = False) -> None:
        self._pause_unwatched = pause_unwatched
        self._started = False
        self._waiting: list[LiveSession] = []
        self._viewers: list[Viewer] = []
        self._newest: dict[str, Frame] = {}
        self._changing = threading.Lock()
        # Pages must not wait for the run: its controls act here, one after the other.
        self._control_thread = ThreadPoolExecutor(1, "whimbrel-steering")
        self.feeds = {name: LiveSession(query, options, partial(self._hand_on, name), redraws_per_s=redraws_per_s,
                                 progressive=progressive) for name, (query, options, progressive) in views.items()}
        self._early = [feed for feed in self.feeds.values() if feed.progressive is not None]
        self._together = {feed: query for feed, (query, _, progressive) in zip(self.feeds.values(), views.values(),
                                                                            strict=True) if progressive is None}
        self.colouring = KeyColors()
        self._watch(False)
        self.player = ReplayController(lambda: self._leaders[0].run, self._refresh, self._control_thread.submit)

    @property
    def viewers(self) -> int:
        """How many pages look."""
        return len(self._viewers)

    @property
    def newest(self) -> dict[str, Frame]:
        """The newest frame of each view that has one."""
        with self._changing:
            return dict(self._newest)

    def join(self, viewer: Viewer) -> None:
        """Hand frames to a page from now on, first the ones that are there."""
        with self._changing:
            self._viewers.append(viewer)
            for name, frame in self._newest.items():
                viewer.offer(name, frame)
        self._control_thread.submit(self._attend)

    def leave(self, viewer: Viewer) -> None:
        """Hand no more frames to a page, if it was handed any."""
        with self._changing:
            self._viewers = [other for other in self._viewers if other is not viewer]
        self._control_thread.submit(self._attend)

    def control(self, gesture: Gesture) -> Future[None]:
        """Do with the run, or with the axes of all views, what a reader wants."""
        return self._control_thread.submit(self._control, gesture)

    def ask(self, latencies: Sequence[int]) -> Future[None]:
        """Start all queries again at other reorder latencies, in ascending ticks. A replay stays where it is."""
        return self._control_thread.submit(self._ask, latencies)

    def resort(self, name: str) -> Future[None]:
        """Put the bars or rows of a view into the order that is right now, on all pages."""
        return self._control_thread.submit(self.feeds[name].resort)

    def close(self) -> None:
        """End the run and keep what was drawn."""
        self._control_thread.submit(self._end).result()
        self._control_thread.shutdown()

    def _attend(self) -> None:
        """Start, continue or pause, by whether any page shows the views."""
        watched = bool(self._viewers)
        self._watch(watched)
        if watched and not self._started:
            self._start()
        elif watched:
            waiting, self._waiting = self._waiting, []
            for feed in waiting:
                feed.resume()
        elif self._pause_unwatched:
            running = [feed for feed in self._leaders if feed.run is not None and feed.run.state == "running"]
            self._waiting += running
            for feed in running:
                feed.pause()

    def _control(self, gesture: Gesture) -> None:
        match gesture:
            case "pause":
                for feed in self._leaders:
                    feed.pause()
            case "resume":
                for feed in self._leaders:
                    feed.resume()
            case "keep" | "drop":
                for feed in self.feeds.values():
                    feed.stop(keep=gesture == "keep")
            case "restart":
                self._end()
                self._start()
            case "fit":
                for feed in self.feeds.values():
                    feed.fit()

    def _ask(self, latencies: Sequence[int]) -> None:
        self._end()
        self._together = {feed: feed.at_latencies(latencies) for feed in self._together}
        self._start()

    def _refresh(self) -> None:
        for feed in self.feeds.values():
            feed.refresh()

    @property
    def _leaders(self) -> list[LiveSession]:
        """One session of each run: queries that were started together are paused together."""
        return [*list(self._together)[:1], *self._early]

    def _start(self) -> None:
        self._started = True
        for feed in self._early:
            feed.start()
        if not self._together:
            return
        try:
            keep = max(feed.keep_rows for feed in self._together)
            asked = [(feed, [query, *feed.mark_queries]) for feed, query in self._together.items()]
            runs = iter(start_together([query for _, queries in asked for query in queries], keep))
            for feed, queries in asked:
                feed.follow(*(next(runs) for _ in queries))
        except WhimbrelError as error:
            for feed in self._together:
                feed.follow(error)

    def _end(self) -> None:
        for feed in self.feeds.values():
            feed.close()

    def _watch(self, watched: bool) -> None:
        for feed in self.feeds.values():
            feed.watch(watched)

    def _hand_on(self, name: str, frame: Frame) -> bool:
        with self._changing:
            self._newest[name] = frame
            viewers = list(self._viewers)
        for viewer in viewers:
            viewer.offer(name, frame)
        return True
