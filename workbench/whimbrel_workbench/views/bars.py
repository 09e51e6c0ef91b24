"""Bars by key: settled filled, provisional hollow and hatched."""

from __future__ import annotations

from typing import Any

import panel as pn
from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, FactorRange, HoverTool, Range1d

from whimbrel_workbench.frames import Bars
from whimbrel_workbench.frames.numbers import value_words
from whimbrel_workbench.views.chart import chart
from whimbrel_workbench.views.palette import COLOURS, FONT, INK


class BarsView:
    """Draws :class:`~whimbrel_workbench.frames.Bars`; each redraw replaces the data of two sources."""

    def __init__(self, picture: Bars) -> None:
        hover = HoverTool(tooltips=[("", "@key"), ("", "@words"), ("", "@state")])
        self._figure = chart(hover, x_range=Range1d(), y_range=FactorRange())
        self._figure.ygrid[0].visible = False
        self._figure.yaxis[0].update(major_tick_line_color=None, axis_line_color=None)
        self._bars = {settled: self._add_bars(settled) for settled in (True, False)}
        self._panel = pn.pane.Bokeh(self._figure, sizing_mode="stretch_width", margin=0)
        self.draw(picture)

    @property
    def panel(self) -> pn.viewable.Viewable:
        return self._panel

    def draw(self, picture: Bars) -> None:
        names = list(reversed(picture.names))
        if self._figure.y_range.factors != names:
            self._figure.y_range.factors = names
            self._figure.height = 60 + 25 * max(2, len(names))
        for settled, source in self._bars.items():
            source.data = _columns(picture, settled=settled)
        self._figure.xaxis[0].axis_label = picture.value
        reach = picture.extent.high - picture.extent.low
        self._figure.x_range.update(start=picture.extent.low, end=picture.extent.high + 0.16 * reach)

    def _add_bars(self, settled: bool) -> ColumnDataSource:
        source = ColumnDataSource({name: [] for name in ("key", "value", "words", "state")})
        hatch = {} if settled else {"hatch_pattern": "/", "hatch_color": COLOURS[0], "hatch_scale": 8}
        self._figure.hbar("key", right="value", height=0.68, source=source, line_color=COLOURS[0], line_width=1.5,
                          fill_color=COLOURS[0], fill_alpha=1 if settled else 0, **hatch)
        self._figure.text("value", "key", "words", source=source, x_offset=6, text_baseline="middle",
                          text_color=INK, text_font=value(FONT), text_font_size="12px")
        return source


def _columns(picture: Bars, *, settled: bool) -> dict[str, list[Any]]:
    bars = zip(picture.names, picture.lengths, picture.settled, strict=True)
    chosen = [(name, length) for name, length, flag in bars if flag == settled]
    return {
        "key": [name for name, _ in chosen],
        "value": [length for _, length in chosen],
        "words": [value_words(length) for _, length in chosen],
        "state": ["settled" if settled else "may still change"] * len(chosen),
    }
