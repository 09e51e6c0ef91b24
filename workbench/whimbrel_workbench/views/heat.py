"""Draw a heat map: provisional cells are hatched."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import panel as pn
from bokeh.models import ColorBar, ColumnDataSource, FixedTicker, HoverTool, LinearColorMapper, LogColorMapper, Range1d
from bokeh.plotting import figure
from numpy.typing import NDArray

from whimbrel_workbench.frames import Heat, Style
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.finality import OPEN
from whimbrel_workbench.views.axis_format import name_ticks, number_hover, scale_ticks
from whimbrel_workbench.views.chart import chart, name_axes
from whimbrel_workbench.views.color_scales import palette_of
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.follow_axes import FollowAxes
from whimbrel_workbench.views.lines import time_label
from whimbrel_workbench.views.palette import FONT, INK
from whimbrel_workbench.views.resort_button import ResortButton
from whimbrel_workbench.views.selection import Selection

_ROW_PX: Final = 22
_CELLS: Final = ("left", "right", "top", "bottom", "value", "key", "instant", "state")
_INKS: Final = ("#000000", "#ffffff")
"""On light cells, and on dark ones."""
_SCALES_PX: Final = (7, 5, 4)
"""From dot to dot, the earlier an answer is the closer."""
_MARKED: Final = ("x", "y", "left", "right", "top", "bottom", "ink")


class HeatView:
    """Draws :class:`~whimbrel_workbench.frames.Heat`; each redraw replaces the data of its sources."""

    def __init__(self, picture: Heat, host: Host) -> None:
        self._style, self._columns = host.style, picture.columns
        self._along = {"instant": "instant", **({"along": "along"} if picture.columns else {})}
        when = ("@left{%F %H:%M}" if picture.calendar else "@left{0,0}") if not picture.columns else "@along"
        at = {"@left": "datetime"} if picture.calendar else {}
        self._hover = HoverTool(tooltips=[("", "@key"), ("", "@value{custom}"), (picture.along, when), ("", "@state"),
                                          ("", "@revised")], formatters={"@value": number_hover(), **at})
        self._figure = chart(self._style, self._hover, x_range=Range1d(), y_range=Range1d(),
                             x_axis_type="datetime" if picture.calendar else "linear")
        for grid in self._figure.grid:
            grid.visible = False
        rows = self._figure.yaxis[0]
        rows.update(major_tick_line_color=None, axis_line_color=None, formatter=name_ticks(self._figure, rows))
        shades = LogColorMapper if self._style.logz else LinearColorMapper
        self._mapper = shades(palette=palette_of(self._style, picture.shade))
        self._follow = FollowAxes(self._figure, picture.x, *_rows(picture, self._style))
        self._cells, self._hatched = self._add_cells(), self._add_hatches(picture)
        self._changed, self._revised = self._add_outlines(), self._add_corners()
        self._add_scale()
        self._resort, pick = ResortButton(host), Selection(host)
        self._panel = self._follow.panel(self._resort.panel, pick.panel)
        [cells] = self._hover.renderers
        pick.listen(self._panel[0], self._figure, {cells: {"key": "key", **self._along}})
        self.draw(picture)

    @property
    def panel(self) -> pn.viewable.Viewable:
        return self._panel

    @property
    def over_time(self) -> figure | None:
        """The chart, for views that share its range of time."""
        return None if self._columns else self._figure

    def draw(self, picture: Heat) -> None:
        palette = palette_of(self._style, picture.shade)
        ink = _ink(picture, palette)
        self._cells.data = _cells(picture)
        for (stage, tint), source in self._hatched.items():
            at = np.flatnonzero((picture.stage == stage) & (ink == tint))
            if len(at) or len(source.data["left"]):
                source.data = _edges(picture, at)
        self._changed.data = _framed(picture, np.flatnonzero(picture.changed), ink)
        self._revised.data = _marked(picture, np.flatnonzero(~np.isnan(picture.before)), ink)
        self._mapper.update(low=picture.shade.low, high=picture.shade.high, palette=palette)
        self._name(picture)
        self._follow.move(picture.x, *_rows(picture, self._style))
        self._resort.offer(picture.stale)

    def _name(self, picture: Heat) -> None:
        along = picture.along if picture.columns else time_label(picture)
        name_axes(self._figure, self._style, along, "")
        self._scale.title = picture.value if self._style.clabel is None else self._style.clabel
        rows, along = self._figure.yaxis[0], self._figure.xaxis[0]
        for axis, names in ((rows, picture.names), (along, picture.columns)):
            ticks = [place + 0.5 for place in range(len(names))]
            if names and getattr(axis.ticker, "ticks", None) != ticks:
                axis.ticker = FixedTicker(ticks=ticks)
        shown = [name or picture.value for name in picture.names]
        if rows.formatter.args["names"] != shown:
            rows.formatter.args = {**rows.formatter.args, "names": shown}
        labels = {place + 0.5: name for place, name in enumerate(picture.columns)}
        if along.major_label_overrides != labels:
            along.major_label_overrides = labels

    def _add_cells(self) -> ColumnDataSource:
        source = ColumnDataSource({name: [] for name in (*_CELLS, "along", "revised")})
        shade = {"field": "value", "transform": self._mapper}
        self._hover.renderers = [self._figure.quad(
            "left", "right", "top", "bottom", source=source, fill_color=shade, line_color=shade, line_width=0.5)]
        return source

    def _add_hatches(self, picture: Heat) -> dict[tuple[int, str], ColumnDataSource]:
        """What lies over cells that are not settled, by stage and ink: were it each cell's own, each had a canvas."""
        made = {}
        for stage in range(picture.stages.final):
            scale = _SCALES_PX[0 if stage == OPEN else picture.stages.steps_to_final(stage)]
            for ink in _INKS:
                made[stage, ink] = source = ColumnDataSource({name: [] for name in ("left", "right", "top", "bottom")})
                self._figure.quad("left", "right", "top", "bottom", source=source, fill_color=None, line_color=None,
                                  hatch_pattern="/" if stage == OPEN else ".", hatch_color=ink, hatch_alpha=0.55,
                                  hatch_scale=scale, hatch_weight=1)
        return made

    def _add_outlines(self) -> ColumnDataSource:
        source = ColumnDataSource({name: [] for name in _MARKED})
        self._figure.quad("left", "right", "top", "bottom", source=source, fill_color=None, line_color="ink",
                          line_width=1.6, line_alpha=0.85)
        return source

    def _add_corners(self) -> ColumnDataSource:
        source = ColumnDataSource({name: [] for name in _MARKED})
        self._figure.scatter("x", "y", source=source, marker="diamond", size=6, fill_color="ink", line_color=None)
        return source

    def _add_scale(self) -> None:
        self._scale = ColorBar(color_mapper=self._mapper, width=10, bar_line_color=None, background_fill_alpha=0,
                               major_label_text_color=INK, major_label_text_font=FONT, major_tick_line_color=None,
                               title_text_color=INK, title_text_font=FONT, title_text_font_style="normal", padding=6,
                               formatter=scale_ticks())
        if self._style.show_legend is not False:
            self._figure.add_layout(self._scale, "right")


def _rows(picture: Heat, style: Style) -> tuple[Extent, None, int]:
    """From top to bottom, each row as high as its name."""
    height_px = style.height or max(140, 70 + _ROW_PX * len(picture.names))
    return Extent(float(len(picture.names)), 0.0), None, height_px


def _ink(picture: Heat, palette: list[str]) -> NDArray[np.str_]:
    """Dark on light cells, light on dark ones."""
    span = picture.shade.high - picture.shade.low
    place = np.clip((picture.values - picture.shade.low) / span * (len(palette) - 1), 0, len(palette) - 1).astype(int)
    light = np.array([sum(int(each[at:at + 2], 16) * weight for at, weight in ((1, 0.3), (3, 0.59), (5, 0.11))) > 128
                      for each in palette])
    return np.where(light[place], *_INKS)


def _edges(picture: Heat, at: NDArray[np.intp] | slice) -> dict[str, Any]:
    """Of cells; a thin gap between the rows lets each be read on its own."""
    return {"left": picture.left[at], "right": picture.right[at],
            "top": picture.row[at] + 0.04, "bottom": picture.row[at] + 0.96}


def _cells(picture: Heat) -> dict[str, Any]:
    words = [picture.stages.label(stage) for stage in range(picture.stages.final + 1)]
    stages, places = picture.stage.tolist(), picture.row.tolist()
    revised = np.flatnonzero(~np.isnan(picture.before)).tolist()
    notes = [""] * len(places)
    for at in revised:
        notes[at] = f"revised from {picture.before[at]:,.4g}"
    return {
        **_edges(picture, slice(None)), "value": picture.values, "key": [picture.names[place] for place in places],
        "instant": picture.instant.tolist(), "state": [words[stage] for stage in stages],
        "along": [picture.columns[int(at)] for at in picture.left] if picture.columns else [""] * len(places),
        "revised": notes,
    }


def _framed(picture: Heat, at: NDArray[np.intp], ink: NDArray[np.str_]) -> dict[str, Any]:
    """One frame around neighbours: around each of many narrow cells there would be nothing but frames."""
    at = at[np.lexsort((picture.left[at], picture.row[at]))]
    apart = (picture.row[at][1:] != picture.row[at][:-1]) | (picture.left[at][1:] > picture.right[at][:-1])
    first = np.append(True, apart)[:len(at)]
    last = np.append(apart, True)[:len(at)]
    return {**_marked(picture, at[first], ink), "right": picture.right[at[last]]}


def _marked(picture: Heat, at: NDArray[np.intp], ink: NDArray[np.str_]) -> dict[str, Any]:
    return {"x": (picture.left[at] + picture.right[at]) / 2, "y": picture.row[at] + 0.5, "left": picture.left[at],
            "right": picture.right[at], "top": picture.row[at] + 0.06, "bottom": picture.row[at] + 0.94,
            "ink": ink[at].tolist()}
