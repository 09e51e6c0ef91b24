"""Draw points: few one by one, many as counts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from bokeh.models import ColorBar, ColumnDataSource, HoverTool, LogColorMapper, Range1d
from bokeh.plotting import figure

from whimbrel.batch import Column
from whimbrel_workbench.frames import Scatter, Style
from whimbrel_workbench.frames.format_times import instants
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.frames.points import OTHERS, Categories
from whimbrel_workbench.views.axis_format import count_ticks, number_hover
from whimbrel_workbench.views.chart import chart
from whimbrel_workbench.views.color_scales import counts_palette
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.lines import HALO, time_label
from whimbrel_workbench.views.palette import FONT, GRID, INK, colour, marker
from whimbrel_workbench.views.raster import Counts, Raster, Window, warm
from whimbrel_workbench.views.visible_points import Sight, in_sight
from whimbrel_workbench.views.zoomed_chart import ChartAxes, ZoomedChart

MAX_POINTS: Final = 4_000
"""So many points a browser still paints one by one in a moment."""

_CELL_PX: Final = 2
_SCALE_PX: Final = 84
"""Margin for the colours' scale, whether it is shown or not: points must not jump when they become too many."""

_MARKS: Final = ("x", "y", "colour", "marker", "fullness", "key", "state", "of", "instant", "moment")
_TOOLS: Final = "pan,wheel_zoom,box_zoom,reset,save"


class ScatterView(ZoomedChart[Scatter]):
    """Draws :class:`~whimbrel_workbench.frames.Scatter`. When the reader zooms, visible points are counted again."""

    def __init__(self, picture: Scatter, host: Host) -> None:
        warm()
        self._raster = Raster()
        time, when = ("datetime", "{%F %T}") if picture.calendar else (number_hover(), "{custom}")
        on_points = HoverTool(tooltips=[("", "@key"), (picture.along, f"@x{when}"), (picture.value, "@y{custom}"),
                                        ("", "@state")], formatters={"@x": time, "@y": number_hover()}, limit=3)
        on_cells = HoverTool(tooltips=[("", "@image{0,0} points"), (picture.along, f"$x{when}"),
                                       (picture.value, "$y{custom}")], formatters={"$x": time, "$y": number_hover()})
        x_axis = "datetime" if picture.calendar else "log" if picture.log[0] else "linear"
        super().__init__(picture, host, chart(
            host.style, on_points, on_cells, min_border_right=_SCALE_PX, tools=_TOOLS, x_range=Range1d(),
            y_range=Range1d(), x_axis_type=x_axis, y_axis_type="log" if picture.log[1] else "linear"))
        shades = counts_palette(self._style)
        self._mapper = LogColorMapper(palette=shades, low=1, high=10, low_color="#0000")
        self._cells = ColumnDataSource({name: [] for name in ("image", "x", "y", "dw", "dh")})
        on_cells.renderers = [self._figure.image("image", "x", "y", "dw", "dh", source=self._cells,
                                                 color_mapper=self._mapper)]
        self._halo = ColumnDataSource({name: [] for name in ("x", "y", "colour")})
        self._figure.scatter("x", "y", source=self._halo, size=15, fill_color="colour", **HALO)
        self._marks = ColumnDataSource({name: [] for name in _MARKS})
        points = self._figure.scatter(
            "x", "y", source=self._marks, size=self._style.size or 6, marker="marker", line_color="colour",
            fill_color="colour", fill_alpha="fullness", line_alpha=self._style.alpha or 0.9)
        on_points.renderers = [points]
        self._add_scale()
        self._pick.listen(self._chart, self._figure, {points: {
            "key": "of", "at": "x", "instant": "instant", "moment": "moment", "value": "y"}})
        self.draw(picture)

    @property
    def over_time(self) -> figure | None:
        return self._figure if self._picture.along == "start" else None

    def _axes(self, picture: Scatter) -> ChartAxes:
        along = time_label(picture) if picture.along == "start" else picture.along
        return ChartAxes(picture.x, picture.y, (along, picture.value))

    def _draw_window(self) -> None:
        picture = self._picture
        x, y = self._viewport.held or (picture.x, picture.y)
        width, height = self._viewport.pixels
        window = self._raster.over(x, y, max(1, width // _CELL_PX), max(1, height // _CELL_PX), picture.log)
        counts = self._raster.counts(picture.points, window)
        dense = picture.dense or int(counts.sum()) > MAX_POINTS
        self._cells.data = _image(counts, window) if dense else {name: [] for name in self._cells.data}
        self._mapper.high = max(2, int(counts.max()))
        self._scale.visible = dense
        seen = in_sight(picture, window, settled=not dense)
        marks = _marks(picture, seen, self._style)
        self._marks.data = marks
        self._halo.data = {name: [value for value, fresh in zip(marks[name], seen.fresh, strict=True) if fresh]
                           for name in self._halo.data}

    def _add_scale(self) -> None:
        self._scale = ColorBar(color_mapper=self._mapper, width=10, bar_line_color=None, background_fill_alpha=0,
                               major_label_text_color=INK, major_label_text_font=FONT, major_tick_line_color=None,
                               title_text_color=INK, title_text_font=FONT, title_text_font_style="normal", padding=6,
                               title=self._style.clabel or "points", formatter=count_ticks())
        if self._style.show_legend is not False:
            self._figure.add_layout(self._scale, "right")


def _image(counts: Counts, window: Window) -> dict[str, Any]:
    """The cells as they travel: in as few bytes as the largest of them needs."""
    kind = next(kind for kind in (np.uint8, np.uint16, np.uint32) if counts.max() <= np.iinfo(kind).max)
    x, y = window.x, window.y
    return {"image": [counts.astype(kind)], "x": [x.low], "y": [y.low], "dw": [x.high - x.low], "dh": [y.high - y.low]}


def colours_of(picture: Scatter, category: Categories, style: Style) -> list[str]:
    """The colour of each point: that of its key, grey where the key has none."""
    names, places = picture.names or ("",), picture.slots or (0,)
    colours = [colour(place, style, name) for place, name in zip(places, names, strict=True)] + [GRID]
    return [colours[each] for each in np.where(category == OTHERS, len(names), category).tolist()]


def _marks(picture: Scatter, seen: Sight, style: Style) -> dict[str, Any]:
    names, places = picture.names or ("",), picture.slots or (0,)
    markers, keys = [*map(marker, places), "circle"], [*names, "others"]
    place = np.where(seen.category == OTHERS, len(names), seen.category).tolist()
    words = (picture.stages.label(0), picture.stages.label(picture.stages.final))
    rows = picture.table.take(Column(pa.int64(), seen.row).to_arrow())
    of = labels(rows, picture.keys)
    moments = instants(rows, picture.along) if picture.calendar else [None] * len(rows)
    return {
        "x": seen.x, "y": seen.y, "colour": colours_of(picture, seen.category, style),
        "marker": [markers[each] for each in place], "key": [keys[each] for each in place],
        "fullness": np.where(seen.settled, 0.75, 0.0), "state": [words[each] for each in seen.settled.tolist()],
        "of": [of.names[code] for code in of.codes.tolist()], "instant": instants(rows),
        "moment": moments,
    }
