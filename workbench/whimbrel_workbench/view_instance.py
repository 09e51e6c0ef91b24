"""One place of a page that shows a live view."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from whimbrel_workbench import page
from whimbrel_workbench.controls import Gesture, Toolbar, Transport
from whimbrel_workbench.details import EstimateControls, RunDetails
from whimbrel_workbench.frames import Frame
from whimbrel_workbench.sessions import ENDED, AnyRun, LiveSession
from whimbrel_workbench.sessions.dropped_samples import DroppedSamples
from whimbrel_workbench.sessions.visible_range import ZoomedLines, can_be_asked
from whimbrel_workbench.view_panel import ViewPanel
from whimbrel_workbench.views import Host, still_html

_STILL_EVERY_S: Final = 3.0
_STILL_UNSEEN_EVERY_S: Final = 2.0
_STILL_SELDOM_S: Final = 10.0
_STILL_TAKES: Final = 0.005
"""A page is not asked when its notebook is saved: last frames are made ahead, in so small a part of the time."""


class ViewInstance:
    """Picture, bars and folds of a view where it stands, and the last frame that a saved notebook keeps of it.

    A chart belongs to one place only, and so does what its reader does there: zooming, or opening a fold.

    Parameters
    ----------
    feed : LiveSession
        Of the view.
    on_gesture : callable
        Called with the gesture of a reader.
    on_message : callable
        Called with the name of the view and the message of its page.
    on_closed : callable
        Called when it is removed from the page.
    transport : bool
        Whether it has the transport bar of a replay.
    """

    def __init__(self, feed: LiveSession, on_gesture: Callable[[Gesture], None],
                 on_message: Callable[[str, page.Sign], None], on_closed: Callable[[ViewInstance], None],
                 *, transport: bool) -> None:
        self._feed, self._lock = feed, feed.between_frames
        early = feed.progressive is not None
        self._details: RunDetails | EstimateControls = (EstimateControls if early else RunDetails)(feed, self._change)
        toolbar = Toolbar(on_gesture, feed.choose_value, self._details.buttons,
                          keep="Stop here" if early else "Stop run")
        host = Host(changing=lambda: page.one_message(self._panel), resort=feed.resort, pick=self._details.pick)
        host = replace(host, picking="to prioritize its rows", stretches=True) if early else replace(
            host, stretches=feed.of_samples)
        if feed.of_samples:
            again = DroppedSamples(self._change)
            host = replace(host, read_samples=again.read, read_frames=again.read_frames)
        if can_be_asked(feed.written):
            host = replace(host, zoom_to=ZoomedLines(feed, self._change).zoom_to)
        self._screen = ViewPanel(toolbar, Transport(feed.player) if transport else None, host=host)
        self._panel = self._screen.panel
        self._panel.append(self._details.panel)
        self._output = page.Output(self._panel, feed.refresh, on_message, lambda: on_closed(self), self._lock)
        self._kept = (("", True), time.monotonic())
        self._still_every_s = _STILL_EVERY_S

    @property
    def name(self) -> str:
        """By which its page speaks of it; empty while it is not there."""
        return self._output.view

    @property
    def reachable(self) -> bool:
        """Whether it may be drawn: no page shows it yet, or its page has drawn it."""
        return self._output.reachable

    @property
    def ready(self) -> bool:
        """Whether the next frame would be painted at once."""
        return self._output.ready

    @property
    def run(self) -> AnyRun | None:
        """The run that it shows."""
        return self._feed.run

    @property
    def still_is_old(self) -> bool:
        """Whether its last frame was not refreshed for a while."""
        return time.monotonic() - self._kept[1] > _STILL_SELDOM_S

    def open(self) -> page.Bundle:
        """Put it on the page, as what the present cell shows."""
        return self._output.open()

    def draw(self, frame: Frame) -> None:
        """Show a frame."""
        with page.one_message(self._panel):
            self._screen.draw(frame)
            self._details.draw()
            self._output.sending()

    def keep(self, frame: Frame) -> None:
        """Refresh the last frame: less often while the page draws the view itself."""
        kept, at = self._kept
        now = time.monotonic()
        here = (frame.status.state, self.reachable)
        wait_s = self._still_every_s if self.reachable else _STILL_UNSEEN_EVERY_S
        # A page that has drawn the view has no more need of the last frame, which hides with its next refresh.
        if now - at > wait_s or (here != kept and (self.reachable or frame.status.state in ENDED)):
            self._kept = (here, now)
            began_s = time.thread_time()
            self._output.keep(still_html(frame))
            took_s = time.thread_time() - began_s
            self._still_every_s = min(max(took_s / _STILL_TAKES, _STILL_EVERY_S), _STILL_SELDOM_S)

    def close(self) -> None:
        """It is not there any more: its cell ran again, or its output was removed."""
        self._output.close()

    def _change(self, change: Callable[[], None]) -> None:
        """Change the view between two frames, on any thread."""
        with self._lock, page.one_message(self._panel):
            change()
