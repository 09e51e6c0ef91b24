"""Controls of a page: replay, reorder latencies and details of each view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import panel as pn
from bokeh.document import Document

from whimbrel_workbench.controls import LatencyControl, Transport
from whimbrel_workbench.details import EstimateControls, RunDetails
from whimbrel_workbench.frames import Frame
from whimbrel_workbench.sessions import LiveSession, choices_near
from whimbrel_workbench.views import Host
from whimbrel_workbench.workspace import SharedRun


class RunControls:
    """Controls of one page. A page without control has none of them in its document.

    Source events belong here because they are rows of the sources, which the author may not want to show to everybody.

    Parameters
    ----------
    shared : SharedRun
    document : bokeh.document.Document
        The page's own.
    names : iterable of str
        Views on the page.

    Attributes
    ----------
    panel : panel.viewable.Viewable
        Transport bar and latencies, for the side of the page.
    """

    def __init__(self, shared: SharedRun, document: Document, names: Iterable[str]) -> None:
        self._shared = shared
        self._transport, self._latency = Transport(shared.player), LatencyControl(shared.ask)
        self._inside = {name: self._details(shared.feeds[name], document) for name in names}
        self.panel = pn.Column(self._transport.panel, self._latency.panel, sizing_mode="stretch_width", margin=0)

    def host(self, name: str) -> Host:
        """The host that receives clicks of a view, and sorts it again."""
        host = Host(pick=self._inside[name].pick, resort=lambda: self._shared.resort(name))
        feed = self._shared.feeds[name]
        early = feed.progressive is not None
        return replace(host, picking="to prioritize its rows", stretches=True) if early else replace(
            host, stretches=feed.of_samples)

    def below(self, name: str) -> list[pn.viewable.Viewable]:
        """What stands below the picture of a view."""
        inside = self._inside[name]
        return [pn.FlexBox(*inside.buttons, flex_wrap="wrap", margin=(4, 5)), inside.panel]

    def draw(self, frames: Mapping[str, Frame], names: Iterable[str]) -> None:
        """Show how the replay, the latencies, and what is open in these views stand now."""
        self._transport.draw(next((frame.status.playback for frame in frames.values()), None))
        feeds = self._shared.feeds
        running = [feeds[name] for name in self._inside if feeds[name].progressive is None]
        if running:
            widest = max(running, key=lambda feed: len(feed.asked))
            self._latency.draw(choices_near(widest.written), widest.asked)
        self._latency.panel.visible = bool(running)
        for name in names:
            self._inside[name].draw()

    def _details(self, feed: LiveSession, document: Document) -> RunDetails | EstimateControls:
        """Details of a run, or the controls of a progressive query."""
        if feed.progressive is not None:
            return EstimateControls(feed, document.add_next_tick_callback)
        return RunDetails(feed, document.add_next_tick_callback, self._shared.ask)
