"""The page of one browser: shared frames, filtered by its reader."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any, Final

import panel as pn
from bokeh.document import Document
from bokeh.models import CustomJS, Range1d
from panel.io.resources import LOCAL_DIST
from panel.io.state import set_curdoc

from whimbrel_workbench.app.desk_screen import DeskScreen
from whimbrel_workbench.app.run_controls import RunControls
from whimbrel_workbench.controls import KeySelector, RunPanel, facts_html
from whimbrel_workbench.controls.run_panel import CSS
from whimbrel_workbench.frames import Frame, Picture
from whimbrel_workbench.frames.key_filter import Chosen, narrowed, on_one_axis, sharing, values_of
from whimbrel_workbench.html_pane import Text
from whimbrel_workbench.sessions import source_facts
from whimbrel_workbench.sessions.dropped_samples import DroppedSamples
from whimbrel_workbench.sessions.visible_range import ZoomedLines, can_be_asked
from whimbrel_workbench.view_panel import ViewPanel
from whimbrel_workbench.views import NOBODY, Host, View
from whimbrel_workbench.workspace import Dashboard, SharedRun

_DRAWN: Final = "requestAnimationFrame(() => { drawn.tags = sent.tags })"
_LOST: Final = 'document.documentElement.dataset.lost = ""; whimbrel.freeze(document.querySelector(".page"), true)'


class BrowserSession:
    """Draws frames on one page: always the newest ones, and the next ones once the page has drawn the last.

    A tab that nobody sees draws nothing, so it is sent nothing either.

    Parameters
    ----------
    dashboard : Dashboard
    shared : SharedRun
        Where the frames come from.
    document : bokeh.document.Document
        The page's own document.
    control : bool
        Whether the page may control the run. Otherwise its document has no controls.
    """

    def __init__(self, dashboard: Dashboard, shared: SharedRun, document: Document, *, control: bool) -> None:
        self._shared = shared
        self._document = document
        # Style sheets of later models are requested from this server too, not from Panel's on the internet.
        document.template_variables["dist_url"] = LOCAL_DIST
        self._newest: dict[str, Frame] = {}
        self._news: set[str] = set()
        self._busy = False
        self._changing = threading.Lock()
        self._sharing: dict[str, str] = {}
        self._axes: dict[tuple[str, str], Range1d] = {}
        controls = control and bool(dashboard.views)
        self._run = RunPanel(shared.control if controls else None)
        self._keys = KeySelector(self._choose)
        names = [name for row in dashboard.layout.rows for name in row]
        queries = [name for name in names if name in dashboard.views]
        self._controls = RunControls(shared, document, queries) if controls else None
        self._screens = {name: ViewPanel(on_view=partial(self._link, name), host=self._host(name)) for name in queries}
        self._desks = {name: DeskScreen(dashboard.desks[name], document) for name in names if name in dashboard.desks}
        # Of a kind that is not drawn: each frame changes them, and a drawn model would be laid out again each time.
        self._sent, self._drawn = (Range1d(tags=[0]) for _ in range(2))
        self._sent.js_on_change("tags", CustomJS(args={"sent": self._sent, "drawn": self._drawn}, code=_DRAWN))
        self._drawn.on_change("tags", self._page_drew)
        # What is there is part of the page as it comes; to be sent it after that takes about as long as all the rest.
        self._newest = shared.newest
        if self._newest:
            self._draw(set(self._newest))
        self._lay_out(dashboard)
        with set_curdoc(document):
            pn.state.onload(lambda: shared.join(self))
        document.on_session_destroyed(lambda _context: shared.leave(self))
        document.js_on_event("connection_lost", CustomJS(code=_LOST))
        document.js_on_event("client_reconnected", CustomJS(code="location.reload()"))
        document.config.notify_connection_status = False  # the page says it itself

    def _host(self, name: str) -> Host:
        """The host of a view. Every reader may zoom: then the newest range of this page is evaluated."""
        host, feed = self._controls.host(name) if self._controls else NOBODY, self._shared.feeds[name]
        if feed.of_samples:
            again = DroppedSamples(self._document.add_next_tick_callback)
            host = replace(host, read_samples=again.read, read_frames=again.read_frames)
        if not can_be_asked(feed.written):
            return host
        return replace(host, zoom_to=ZoomedLines(feed, self._document.add_next_tick_callback).zoom_to)

    def offer(self, name: str, frame: Frame) -> None:
        with self._changing:
            self._newest[name] = frame
            self._news.add(name)
            waits, self._busy = self._busy, True
        if not waits:
            self._document.add_next_tick_callback(self._draw_news)

    def _page_drew(self, _attr: str, _old: Any, _new: Any) -> None:
        """The page has drawn what it was sent."""
        with self._changing:
            self._busy = bool(self._news)
        if self._busy:
            self._draw_news()

    def _draw_news(self) -> None:
        with self._changing:
            news, self._news = self._news, set()
        self._draw(news)

    def _choose(self) -> None:
        self._draw(set(self._newest))

    def _draw(self, names: set[str]) -> None:
        frames = dict(self._newest)
        pictures = self._shared.colouring.alike({name: frame.picture for name, frame in frames.items()})
        names = names | self._share(pictures)
        pictures = on_one_axis(pictures, self._sharing)
        with pn.io.hold(self._document):
            self._run.draw([frame.status for frame in frames.values()])
            for picture in pictures.values():
                self._keys.offer(values_of(picture))
            chosen = self._keys.chosen
            for name in names:
                left = narrowed(pictures[name], chosen)
                self._screens[name].draw(replace(frames[name], picture=left),
                                         _none_of(chosen) if left is None and pictures[name] is not None else "")
            if self._controls is not None:
                self._controls.draw(frames, names)
            self._sent.tags = [self._sent.tags[0] + 1]

    def _lay_out(self, dashboard: Dashboard) -> None:
        steering = self._controls.panel if self._controls else pn.Column(visible=False)
        sources = Text(_sources_html(dashboard), stylesheets=[CSS], margin=0, sizing_mode="stretch_width")
        parts = [self._run.head, self._run.buttons, steering, self._run.facts, self._keys.panel, sources]
        for name in (name for row in dashboard.layout.rows for name in row):
            below = self._controls.below(name) if self._controls and name in self._screens else []
            screen = self._desks[name] if name in self._desks else self._screens[name]
            parts.append(pn.Column(screen.panel, *below, sizing_mode="stretch_width", margin=0))
        with self._document.models.freeze():  # else all models are walked through once more with every part
            for part in parts:
                part.server_doc(self._document, title=dashboard.title, location=False)
            for counter in (self._sent, self._drawn):
                self._document.add_root(counter)

    def _share(self, pictures: Mapping[str, Picture | None]) -> set[str]:
        """Find which charts share a range, and which must be rebuilt for it: none while a reader holds one."""
        if any("held" in axis.tags for axis in self._axes.values()):
            return set()
        before, self._sharing = self._sharing, sharing(pictures)
        moved = {name for name, first in self._sharing.items() if before.get(name, first) != first}
        for name in moved:
            self._screens[name].renew()
        return moved

    def _link(self, name: str, view: View) -> None:
        """Charts that share a range of time pan together."""
        chart = getattr(view, "over_time", None)
        if chart is not None:
            kind = type(chart.xaxis[0]).__name__
            chart.x_range = self._axes.setdefault((self._sharing.get(name, name), kind), chart.x_range)


def _sources_html(dashboard: Dashboard) -> str:
    """What the views read, each source once."""
    found: dict[str, dict[str, str]] = {}
    for asked in dashboard.views.values():
        for name, facts in source_facts(asked.query).items():
            found.setdefault(name, {}).update(facts)
    for view in dashboard.desks.values():
        for name in view.desk.sources:
            found.setdefault(name, {})
    return "".join(f"<h3>{escape(name)}</h3>{facts_html(tuple(facts.items()))}" for name, facts in found.items())


def _none_of(chosen: Chosen) -> str:
    return f"No rows for {' and '.join(', '.join(sorted(values)) for values in chosen.values())}."
