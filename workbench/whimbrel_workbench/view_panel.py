"""Layout of a view: toolbar, legend, picture and caption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Final

import panel as pn

from whimbrel_workbench.controls import Toolbar, Transport
from whimbrel_workbench.frames import BigNumbers, Frame, Lines, Picture, ScopeFrame, Spectrogram, Style, TableFrame
from whimbrel_workbench.frames.trigger import SignalPicture
from whimbrel_workbench.html_pane import Text
from whimbrel_workbench.views import NOBODY, Host, View, failure_html, view_of
from whimbrel_workbench.views.caption import caption, undrawn_words
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.estimate_quality import PINNED_CSS, QUALITY_CSS, pinned_html, quality_html
from whimbrel_workbench.views.legend import legend_html
from whimbrel_workbench.views.palette import CSS

_MAX_WIDE_PX: Final = 1200


class ViewPanel:
    """Draws frames in place. It knows neither their run nor how changes travel to the page.

    Parameters
    ----------
    toolbar : Toolbar, optional
        Controls the run and shows its status; without one there is only the picture with legend and caption.
    transport : Transport, optional
        Controls a replay.
    on_view : callable, optional
        Called with each new view before it is on the page.
    host : Host
        What a picture may request of its page.
    """

    def __init__(self, toolbar: Toolbar | None = None, transport: Transport | None = None,
                 on_view: Callable[[View], None] | None = None, host: Host = NOBODY) -> None:
        self._view: View | None = None
        self._drawn: tuple[type[Picture], Style] | None = None
        self._toolbar, self._transport = toolbar, transport
        self._picture: Picture | None = None
        self._on_view, self._host = on_view, host
        self._legend, self._caption, self._failure = (page_html("", CSS) for _ in range(3))
        self._quality, self._pinned = page_html("", QUALITY_CSS), page_html("", PINNED_CSS)
        self._stage = pn.Column(_waiting("Waiting for the first rows."), sizing_mode="stretch_width", margin=0)
        parts = [self._failure, self._quality, self._legend, self._stage, self._caption, self._pinned]
        self.panel = pn.Column(*(bar.panel for bar in (toolbar, transport) if bar), *parts,
                               sizing_mode="stretch_width", max_width=_MAX_WIDE_PX, margin=0)

    def renew(self) -> None:
        """Build the view again with the next frame."""
        self._view = None

    def draw(self, frame: Frame, instead: str = "") -> None:
        """Show a frame; ``instead`` says why there is no picture where the frame itself does not know."""
        if self._toolbar is not None:
            uncharted = TableFrame | BigNumbers | SignalPicture
            charted = frame.picture is not None and not isinstance(frame.picture, uncharted)
            self._toolbar.draw(frame.status)
            self._toolbar.offer(frame.columns if charted else None)
        if self._transport is not None:
            self._transport.draw(frame.status.playback)
        self._quality.object = quality_html(frame.quality) if frame.quality else ""
        self._pinned.object = pinned_html(frame.quality.pinned) if frame.quality else ""
        self._failure.object = failure_html(frame.status.failure) if frame.status.failure else ""
        picture = frame.picture
        if picture is None:
            self._stage[:] = [_waiting(instead or _nothing(frame))]
            self._view = None
        elif self._view is None or self._drawn != (type(picture), frame.style):
            self._view = view_of(picture, replace(self._host, style=frame.style))
            self._drawn = type(picture), frame.style
            if self._on_view is not None:
                self._on_view(self._view)
            self._stage[:] = [self._view.panel]
        elif picture is not self._picture:
            self._view.draw(picture)
        self._picture = picture
        self._legend.object = legend_html(picture, frame.style) if picture else ""
        what = "row" if isinstance(picture, TableFrame) else "mark"
        over = frame.quality is not None and frame.quality.final  # then nothing is left to be read first
        picked = self._host.pick is not None and not over and not isinstance(picture, BigNumbers)
        click = f" Click a {what} {self._host.picking}." if picked and not isinstance(picture, Spectrogram) else ""
        click += " Drag over a time range to prioritize it." if picked and self._host.stretches and (
            isinstance(picture, Lines)) else ""
        click += " Drag with the selection tool over a stretch to hear it." if picked and self._host.stretches and (
            isinstance(picture, ScopeFrame | Spectrogram)) else ""
        self._caption.object = f'<div class="quiet">{escape(caption(picture) + click)}</div>' if picture else ""


def _nothing(frame: Frame) -> str:
    if frame.undrawn and not frame.status.failure:
        return escape(undrawn_words(frame.undrawn, frame.columns.value))
    match frame.status.state:
        case "running" | "paused":
            return "Waiting for the first rows."
        case "stopped":
            return "Stopped. The result was discarded."
        case "failed":
            return ""
        case _:
            return "The result has no rows."


def _waiting(words: str) -> Text:
    return page_html(f'<div class="quiet" style="padding:24px 0">{words}</div>', CSS)
