"""The panels with details of a run."""

from __future__ import annotations

from collections.abc import Callable

from whimbrel_workbench.details.detail_panels import DetailPanels
from whimbrel_workbench.details.events import EventsPanel
from whimbrel_workbench.details.lateness import LatenessPanel
from whimbrel_workbench.details.listen import ListenPanel
from whimbrel_workbench.details.plan import PlanPanel
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.sessions import LiveSession


class RunDetails(DetailPanels):
    """Panels with source events, lateness and plan of one session.

    Parameters
    ----------
    feed : LiveSession
    change : callable
        Does something that changes the page, and lets the page know; from any thread.
    on_ask : callable, optional
        Asks for other latencies; without it those of the feed alone.

    Attributes
    ----------
    events, lateness, plan : DetailPanel
    listen : ListenPanel or None
        Of a signal.
    """

    def __init__(self, feed: LiveSession, change: Callable[[Callable[[], None]], None],
                 on_ask: Callable[[list[int]], object] | None = None) -> None:
        self.events = EventsPanel(feed, change)
        self.lateness = LatenessPanel(feed, change, on_ask)
        self.plan = PlanPanel(feed)
        self.listen = ListenPanel(feed) if feed.options.trigger is None and feed.of_samples else None
        heard = () if self.listen is None else (self.listen,)
        super().__init__((*heard, self.events, self.lateness, self.plan), change)

    def pick(self, mark: Mark) -> None:
        """Show the source events of a mark, or play a stretch of a signal."""
        def show() -> None:
            if self.listen is not None and mark.to is not None:
                if self.listen not in self._open:
                    self.toggle(self.listen)
                self.listen.pick(mark)
                return
            if self.events not in self._open:
                self.toggle(self.events)
            self.events.pick(mark)

        self._change(show)
