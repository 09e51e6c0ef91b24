"""Draw a spectrogram of the visible range."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import panel as pn
from bokeh.models import ColorBar, ColumnDataSource, HoverTool, LinearColorMapper, Range1d
from numpy.typing import NDArray

from whimbrel_workbench.frames import ScopeFrame
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.result import Floats
from whimbrel_workbench.frames.spectrogram import Spectrogram
from whimbrel_workbench.frames.spectrum_columns import Levels, SpectrumColumns
from whimbrel_workbench.html_pane import Text
from whimbrel_workbench.page_messages import PageMessage
from whimbrel_workbench.views.axis_format import number_hover, number_ticks, shade_hover
from whimbrel_workbench.views.chart import chart, page_html
from whimbrel_workbench.views.color_scales import palette_of
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.lines import time_label
from whimbrel_workbench.views.palette import CSS, FONT, INK
from whimbrel_workbench.views.visible_samples import numbers_in_sight
from whimbrel_workbench.views.zoomed_chart import ChartAxes, ZoomedChart

DEPTH_DB: Final = 80.0
"""Levels so far below the greatest one are the darkest."""

SHADES: Final = 255
_ROWS: Final = 256
_COLUMN_PX: Final = 2
_SCALE_PX: Final = 84
_BUDGET_S: Final = 0.06
_TOOLS: Final = "xpan,xwheel_zoom,xbox_zoom,reset,save"
# The page asks for more frames once it has drawn those that it has.
_MORE: Final = "if (source.name) setTimeout(() => { out.value = source.name }, 20)"


class SpectrogramView(ZoomedChart[Spectrogram]):
    """Draws :class:`~whimbrel_workbench.frames.spectrogram.Spectrogram`. The page asks for frames step by step."""

    def __init__(self, picture: Spectrogram, host: Host) -> None:
        self._columns = SpectrumColumns(picture.channel)
        self._most: float | None = None
        self._step = 0
        self._reading: list[tuple[int, int]] = []
        when = "{%F %T.%3N}" if picture.calendar else "{0,0}"
        shades = palette_of(host.style, Extent(0.0, 1.0))[-SHADES:]
        self._scale = LinearColorMapper(palette=shades, low=-DEPTH_DB, high=0)
        hover = HoverTool(
            tooltips=[("", f"$x{when}"), ("", f"$y{{custom}} {picture.frequency}"), ("", "@image{custom}")],
            formatters={"$x": "datetime" if picture.calendar else "numeral", "$y": number_hover(),
                        "@image": shade_hover(self._scale, SHADES)})
        self._asked = PageMessage()
        self._asked.param.watch(lambda _event: self._refine(), "value")
        super().__init__(picture, host, chart(
            host.style, hover, min_border_right=_SCALE_PX, tools=_TOOLS, y_range=Range1d(),
            x_range=Range1d(min_interval=picture.channel.axis.min_visible),
            x_axis_type="datetime" if picture.calendar else "linear"), self._asked)
        self._cells = ColumnDataSource({name: [] for name in ("image", "x", "y", "dw", "dh")})
        self._figure.image("image", "x", "y", "dw", "dh", source=self._cells, color_mapper=LinearColorMapper(
            palette=shades, low=1, high=SHADES, low_color="#0000"))
        self._open = ColumnDataSource({"left": [], "right": []})
        self._figure.quad("left", "right", top=picture.per_s / 2, bottom=0, source=self._open, fill_color=None,
                          line_color=None, hatch_pattern="/", hatch_color=INK, hatch_scale=8)
        self._figure.add_layout(ColorBar(
            color_mapper=self._scale, width=10, bar_line_color=None, background_fill_alpha=0, title="dB", padding=6,
            major_label_text_color=INK, major_label_text_font=FONT, major_tick_line_color=None, title_text_color=INK,
            title_text_font=FONT, title_text_font_style="normal", formatter=number_ticks()), "right")
        self._chart.jscallback(args={"out": weakref.proxy(self._asked)}, name=_MORE)
        self._pick.listen(self._chart, self._figure, {}, stretches="Hear a stretch", pans=True)
        self._note: Text = page_html("", CSS)
        self._panel = pn.Column(self._panel, self._note, margin=0, sizing_mode="stretch_width")
        self.draw(picture)

    @property
    def _signal(self) -> ScopeFrame:
        return self._picture.scope

    def _draw_again(self) -> None:
        self._columns = SpectrumColumns(self._picture.channel)
        super()._draw_again()

    def _axes(self, picture: Spectrogram) -> ChartAxes:
        return ChartAxes(picture.x, Extent(0.0, picture.per_s / 2), (time_label(picture), picture.frequency))

    def _draw_window(self) -> None:
        x = self._picture.x if self._viewport.held is None else self._viewport.held[0]
        channel = self._picture.channel
        with self._picture.scope.store.lock:
            first, stop = numbers_in_sight(channel, x)
            if first < stop:
                self._columns.show(channel, first, stop, max(1, self._viewport.pixels[0] // _COLUMN_PX))
        if first < stop:
            self._show()
            self._read_lost()

    def _refine(self) -> None:
        with self._host.changing():
            with self._picture.scope.store.lock:
                self._columns.refine(_BUDGET_S)
            self._show()
        self._read_lost()

    def _read_lost(self) -> None:
        """Once all frames in memory are read, read one of each other column again."""
        columns = self._columns
        lost = [] if columns.more else columns.lost
        if lost and lost != self._reading and self._host.read_frames is not None:
            self._reading = lost
            self._host.read_frames(self._picture.scope, lost, self._take)

    def _take(self, frames: Mapping[int, Floats]) -> None:
        with self._host.changing():
            self._columns.put(frames)
            self._show()

    def _show(self) -> None:
        """Show the columns as they are, and let the page ask for more."""
        columns, axis = self._columns, self._picture.channel.axis
        image = columns.image(_ROWS)
        most = float(np.nanmax(image)) if np.isfinite(image).any() else 0.0
        # Colours never get darker by themselves.
        self._most = most = most if self._most is None else max(most, self._most)
        left, right = axis.positions(np.array(columns.ends)).tolist()
        self._cells.data = {"image": [shaded(image, most)], "x": [left], "y": [0.0], "dw": [right - left],
                            "dh": [self._picture.per_s / 2]}
        self._scale.update(low=most - DEPTH_DB, high=most)
        tail = self._picture.channel.tail
        ends = axis.positions(np.array([tail.seen[0][0], tail.seen[-1][1]])).tolist() if tail and tail.seen else None
        self._open.data = {"left": [] if ends is None else [ends[0]], "right": [] if ends is None else [ends[1]]}
        self._note.object = f'<div class="quiet" role="status">{frames_words(columns)}</div>'
        self._step += 1
        self._figure.name = f"more {self._step}" if columns.more else ""


def shaded(image: Levels, loudest: float) -> NDArray[np.uint8]:
    """Levels as numbers of colours from 1 on; 0 where there is no frame.

    >>> shaded(np.array([[0.0, -80.0, np.nan]], np.float32), 0.0).tolist()
    [[255, 1, 0]]
    """
    share = np.clip(1 + (image - loudest) / DEPTH_DB, 0, 1)
    return np.where(np.isnan(image), 0, 1 + np.nan_to_num(share) * (SHADES - 1)).astype(np.uint8)


def frames_words(columns: SpectrumColumns) -> str:
    """How many frames the picture shows."""
    length = f"{columns.frame:,} samples each"
    if columns.frames_read < columns.frames:
        return f"Sample of frames: {columns.frames_read:,} of {columns.frames:,}, {length}."
    return f"All {columns.frames:,} frames, {length}; a column shows their maximum."


def spectrum_image(picture: Spectrogram, columns: int) -> tuple[SpectrumColumns, Any, float]:
    """A sample of frames over all of the axis, for pictures that nobody asks for more."""
    found = SpectrumColumns(picture.channel)
    with picture.scope.store.lock:
        found.show(picture.channel, *picture.channel.reach, columns)
    image = found.image(_ROWS)
    return found, image, float(np.nanmax(image)) if np.isfinite(image).any() else 0.0
