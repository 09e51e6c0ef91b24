"""Tell the kernel which part of a chart is visible."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable
from typing import Any, Final

import panel as pn

from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.page_messages import PageMessage

# A drag changes the ranges with every move of the mouse. The page sends the newest ranges once the kernel has answered.
_SEND_RANGES: Final = """
    if (out.sending) return
    out.sending = true
    const send = () => {
        if (out.placeholder != out.value && Date.now() - out.sent_ms < 1_000) return setTimeout(send, 5)
        out.sending = false
        out.sent_ms = Date.now()
        const {x_range: x, y_range: y} = figure
        const held = x.tags.includes("held")
        out.value = JSON.stringify([held, x.start, x.end, y.start, y.end, figure.inner_width, figure.inner_height])
    }
    setTimeout(send, 10)
"""
_WATCHED: Final = ("x_range.start", "x_range.end", "y_range.start", "y_range.end", "x_range.tags", "inner_width")


class Viewport:
    """What part of a chart is in sight, and how many pixels there are for it.

    Parameters
    ----------
    on_change : callable
        Called when the reader has moved.

    Attributes
    ----------
    held : tuple of Extent or None
        The ranges that the reader zoomed to; None while the chart follows its data.
    pixels : tuple of int
        Width and height inside of the axes.
    panel : panel.viewable.Viewable
        Has to lie on the page, where nobody sees it.
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.held: tuple[Extent, Extent] | None = None
        self.pixels = (1100, 260)
        self._on_change = on_change
        self.panel = PageMessage()
        self.panel.param.watch(self._reported, "value")

    def watch(self, chart: pn.pane.Bokeh) -> None:
        """Listen to the ranges of a chart."""
        # Panel keeps a callback, and what it knows, as long as the chart: the chart must not be kept by it.
        for each in _WATCHED:
            models = {"out": weakref.proxy(self.panel), "figure": chart.object}
            chart.jscallback(args=models, **{each: _SEND_RANGES})

    def _reported(self, event: Any) -> None:
        self._look(event.new)
        self.panel.placeholder = event.new

    def _look(self, said: str) -> None:
        try:
            held, *ends, width, height = json.loads(said)
            low_x, high_x, low_y, high_y = map(float, ends)
            pixels = (min(max(int(width), 50), 4000), min(max(int(height), 50), 4000))
        except (TypeError, ValueError):
            return  # a page may say what it likes
        known = self.held, self.pixels
        there = held and low_x < high_x and low_y < high_y
        self.held = (Extent(low_x, high_x), Extent(low_y, high_y)) if there else None
        self.pixels = pixels
        if known != (self.held, self.pixels):
            self._on_change()
