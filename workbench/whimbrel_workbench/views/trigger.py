"""Draw windows around triggers: counts, and the newest as a line."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from bokeh.models import ColorBar, ColumnDataSource, HoverTool, LogColorMapper, Range1d, Span

from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.scope import ScopeChannel
from whimbrel_workbench.frames.trigger import TriggerFrame, TriggerWindow
from whimbrel_workbench.views.axis_format import count_hover, count_ticks
from whimbrel_workbench.views.channel_bands import BAND, ChannelBands, bands, height_px, on_band
from whimbrel_workbench.views.chart import chart
from whimbrel_workbench.views.color_scales import counts_palette
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.palette import FONT, INK, STRONG
from whimbrel_workbench.views.persistence import Counts, passes
from whimbrel_workbench.views.zoomed_chart import ChartAxes, ZoomedChart

NEWEST: Final = "#D55E00"
"""Colour of single windows: it differs from the counts on light and dark pages."""

CELL_PX: Final = 2
_HIGHER: Final = 1.4
_SCALE_PX: Final = 84
_TOOLS: Final = "xpan,xwheel_zoom,xbox_zoom,reset,save"
_CELLS: Final = ("image", "x", "y", "dw", "dh", "name")
_PATHS: Final = ("xs", "ys", "words", "state", "instant", "layer")


class TriggerView(ZoomedChart[TriggerFrame]):
    """Draws :class:`~whimbrel_workbench.frames.trigger.TriggerFrame`. When the reader zooms, windows are counted again.

    A cell has the number of windows that pass it. The newest window lies over them as a line; provisional windows are
    dashed, and not counted.
    """

    def __init__(self, picture: TriggerFrame, host: Host) -> None:
        when = f"$x{{0,0.[000]}} {picture.unit}"
        on_cells = HoverTool(tooltips=[("", "@name"), ("", "@image{custom}"), ("", when)],
                             formatters={"@image": count_hover("window")})
        on_lines = HoverTool(tooltips=[("event", "@words"), ("", "@state"), ("", when)], line_policy="nearest")
        super().__init__(picture, host, chart(
            host.style, on_cells, on_lines, height_px=height_px(picture.channels, _HIGHER), min_border_right=_SCALE_PX,
            tools=_TOOLS, x_range=Range1d(min_interval=4 * picture.per_sample), y_range=Range1d()))
        self._mapper = LogColorMapper(palette=counts_palette(self._style), low=1, high=10, low_color="#0000")
        self._cells = ColumnDataSource({name: [] for name in _CELLS})
        on_cells.renderers = [self._figure.image("image", "x", "y", "dw", "dh", source=self._cells,
                                                 color_mapper=self._mapper)]
        self._figure.add_layout(Span(location=0, dimension="height", line_color=STRONG, line_dash=[2, 3]))
        self._halo, self._newest, self._open = (ColumnDataSource({name: [] for name in _PATHS}) for _ in range(3))
        self._figure.multi_line("xs", "ys", source=self._halo, line_color=NEWEST, line_width=7, line_alpha=0.28)
        lines = [self._figure.multi_line("xs", "ys", source=source, line_color=NEWEST, line_dash=dash,
                                         line_width=self._style.line_width or 1.2, line_join="round")
                 for source, dash in ((self._open, [4, 3]), (self._newest, "solid"))]
        on_lines.renderers = lines
        self._bands = ChannelBands(self._figure)
        self._add_scale()
        self._pick.listen(self._chart, self._figure, {
            each: {"instant": "instant", "layer": "layer"} for each in lines})
        self.draw(picture)

    @property
    def over_time(self) -> None:
        """Nothing: its times are distances from a trigger."""
        return

    def draw(self, picture: TriggerFrame) -> None:
        super().draw(picture)
        self._bands.draw(picture.channels)

    def _axes(self, picture: TriggerFrame) -> ChartAxes:
        return ChartAxes(picture.x, bands(picture.channels), (trigger_label(picture), ""),
                         self._style.height or height_px(picture.channels, _HIGHER))

    def _draw_window(self) -> None:
        picture = self._picture
        x = picture.x if self._viewport.held is None else self._viewport.held[0]
        width, height = self._viewport.pixels
        rows = max(8, int(height * BAND / len(picture.channels)) // CELL_PX)
        drawn = [(channel, counted(picture, channel, x, max(1, width // CELL_PX), rows))
                 for channel in picture.channels]
        most = max(int(counts.max(initial=0)) for _, counts in drawn)
        self._mapper.high = max(2, most)
        low = [float(on_band(channel, channel.y.low, len(drawn))) for channel, _ in drawn]
        self._cells.data = {
            "image": [counts.astype(np.uint8 if most < 256 else np.uint16) for _, counts in drawn],
            "x": [x.low] * len(drawn), "dw": [x.high - x.low] * len(drawn), "y": low, "dh": [BAND] * len(drawn),
            "name": [channel.name for channel, _ in drawn]}
        newest = picture.settled[-1:]
        self._newest.data = _paths(picture, newest)
        self._halo.data = _paths(picture, newest if picture.fresh else ())
        self._open.data = _paths(picture, picture.provisional)

    def _add_scale(self) -> None:
        scale = ColorBar(color_mapper=self._mapper, width=10, bar_line_color=None, background_fill_alpha=0,
                         major_label_text_color=INK, major_label_text_font=FONT, major_tick_line_color=None,
                         title_text_color=INK, title_text_font=FONT, title_text_font_style="normal", padding=6,
                         title=self._style.clabel or "windows", formatter=count_ticks())
        if self._style.show_legend is not False:
            self._figure.add_layout(scale, "right")


def trigger_label(picture: TriggerFrame) -> str:
    """Name of the axis."""
    return f"from the trigger ({picture.unit or 'ticks'})"


def counted(picture: TriggerFrame, channel: ScopeChannel, x: Extent, columns: int, rows: int) -> Counts:
    """How many settled windows of a channel pass each cell of a range."""
    with picture.scope.store.lock:
        values = picture.samples(channel, picture.settled)
    places = Extent(*(end / picture.per_sample + picture.span.before for end in (x.low, x.high)))
    return passes(values, places, channel.y, columns, rows)


def window_lines(picture: TriggerFrame, windows: tuple[TriggerWindow, ...]) -> list[tuple[TriggerWindow, Any, Any]]:
    """Windows as lines: positions, and values on the bands of their channels; NaN where a sample is missing."""
    x = (np.arange(picture.span.samples) - picture.span.before) * picture.per_sample
    found = []
    with picture.scope.store.lock:
        for channel in picture.channels:
            mine = tuple(each for each in windows if not each.key or each.key == channel.key)
            values = on_band(channel, picture.samples(channel, mine), len(picture.channels))
            found += [(window, x, row) for window, row in zip(mine, values, strict=True)]
    return found


def _paths(picture: TriggerFrame, windows: tuple[TriggerWindow, ...]) -> dict[str, list[Any]]:
    lines = window_lines(picture, windows)
    at = np.array([window.event for window, _, _ in lines], np.int64)
    known = picture.marks is not None and len(at) > 0
    return {"xs": [x for _, x, _ in lines], "ys": [y for _, _, y in lines],
            "words": picture.marks.texts(at) if picture.marks is not None and known else [],
            "instant": picture.marks.instants(at) if picture.marks is not None and known else [],
            "state": [picture.stages.label(picture.stages.final if window.settled else 0) for window, _, _ in lines],
            "layer": ["marks"] * len(lines)}
