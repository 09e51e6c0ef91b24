"""One view as it stands on one page: toolbar, legend, picture and caption, redrawn from frames."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Final

import panel as pn

from whimbrel_workbench.controls import Gesture, Toolbar
from whimbrel_workbench.frames import Bars, Frame, Lines
from whimbrel_workbench.views import View, failure_html, view_of
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.legend import caption, legend_html
from whimbrel_workbench.views.palette import CSS

_MOST_WIDE_PX: Final = 1200


class Screen:
    """Draws frames in place. It knows neither the run behind them nor how changes travel to the page.

    Parameters
    ----------
    on_gesture : callable
        Called with what the reader wants of the run.
    on_value : callable
        Called with the name of the column that the reader wants on the value axis.
    """

    def __init__(self, on_gesture: Callable[[Gesture], None], on_value: Callable[[str], None]) -> None:
        self._view: View | None = None
        self._drawn: type | None = None
        self._toolbar = Toolbar(on_gesture, on_value)
        self._legend, self._caption, self._failure = (page_html("", CSS) for _ in range(3))
        self._stage = pn.Column(_waiting("Waiting for the first rows."), sizing_mode="stretch_width", margin=0)
        self.panel = pn.Column(self._toolbar.panel, self._failure, self._legend, self._stage, self._caption,
                               sizing_mode="stretch_width", max_width=_MOST_WIDE_PX, margin=0)

    def draw(self, frame: Frame) -> None:
        """Show a frame."""
        self._toolbar.draw(frame.status)
        self._toolbar.offer(frame.columns if isinstance(frame.picture, Lines | Bars) else None)
        self._failure.object = failure_html(frame.status.failure) if frame.status.failure else ""
        picture = frame.picture
        if picture is None:
            self._stage[:] = [_waiting(_nothing(frame))]
            self._view = None
        elif self._view is None or self._drawn is not type(picture):
            self._view, self._drawn = view_of(picture), type(picture)
            self._stage[:] = [self._view.panel]
        else:
            self._view.draw(picture)
        charted = picture if isinstance(picture, Lines | Bars) else None
        self._legend.object = legend_html(charted) if charted else ""
        self._caption.object = f'<div class="quiet">{escape(caption(charted))}</div>' if charted else ""


def _nothing(frame: Frame) -> str:
    match frame.status.state:
        case "running" | "paused":
            return "Waiting for the first rows."
        case "stopped":
            return "Stopped; the rows were dropped."
        case "failed":
            return ""
        case _:
            return "The result has no rows."


def _waiting(words: str) -> pn.pane.HTML:
    return page_html(f'<div class="quiet" style="padding:24px 0">{words}</div>', CSS)
