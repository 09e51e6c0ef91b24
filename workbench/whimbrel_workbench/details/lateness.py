"""Lateness of the sources, and the reorder latency of the query."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import panel as pn

from whimbrel_workbench.controls.latency import LatencyControl
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.sessions.lateness import LatenessStudy
from whimbrel_workbench.views.lateness import LatenessView


class LatenessPanel:
    """Measures logs on a thread of its own when it is opened first, and shows what runs of feeds have counted.

    Parameters
    ----------
    feed : LiveSession
    change : callable
        Does something that changes the page, and lets the page know; from any thread.
    on_ask : callable, optional
        Asks for other latencies; without it those of the feed's query.
    """

    name: Final = "Lateness"
    about: Final = "Show how late events are, and choose a reorder latency"

    def __init__(self, feed: LiveSession, change: Callable[[Callable[[], None]], None],
                 on_ask: Callable[[list[int]], object] | None = None) -> None:
        self._feed, self._change = feed, change
        self._study = LatenessStudy(feed.written)
        self._measuring: threading.Thread | None = None
        self._note = ""
        self._view = LatenessView()
        self._control = LatencyControl(on_ask or feed.ask)
        self.panel = pn.Column(self._control.panel, self._view.panel, sizing_mode="stretch_width", margin=(4, 0))

    def draw(self) -> None:
        if self._measuring is None:
            self._note = "Measuring the lateness of the log ..."
            self._measuring = threading.Thread(target=self._measure, name="whimbrel-lateness", daemon=True)
            self._measuring.start()
        run, asked = self._feed.run, self._feed.asked
        sources = self._study.shown(None if run is None else run.metrics, asked)
        note = self._study.last_error or self._note
        if not sources and not note:
            note = "No events yet. The lateness of a feed is measured while it runs."
        self._control.draw([(step.ticks, step.label) for source in sources for step in source.steps], asked)
        self._view.draw(sources, asked, note)

    def _measure(self) -> None:
        self._study.measure()
        self._note = "Running the query at each reorder latency ..."
        self._change(self.draw)
        self._study.compare(self._feed.asked)
        self._note = ""
        self._change(self.draw)
