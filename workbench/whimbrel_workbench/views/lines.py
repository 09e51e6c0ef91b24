"""Lines over time: settled solid with filled markers, provisional dashed with hollow ones."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, HoverTool, Range1d
from bokeh.plotting import figure

from whimbrel_workbench.frames import Line, Lines
from whimbrel_workbench.views.chart import chart, extent_data, follow
from whimbrel_workbench.views.palette import colour, marker

MOST_MARKED: Final = 60
"""A line with more points than this shows no markers: they would hide it."""


class LinesView:
    """Draws :class:`~whimbrel_workbench.frames.Lines`; each redraw replaces the data of four sources."""

    def __init__(self, picture: Lines) -> None:
        when = "@start{%F %H:%M}" if picture.calendar else "@start{0,0}"
        self._hover = HoverTool(tooltips=[("", "@key"), ("", "@value{0,0.[00]}"), ("from", when), ("", "@state")],
                                formatters={"@start": "datetime"} if picture.calendar else {})
        self._figure = chart(self._hover, x_axis_type="datetime" if picture.calendar else "linear",
                             x_range=Range1d(), y_range=Range1d())
        self._extent = follow(self._figure, picture.x, picture.y)
        self._paths = {settled: self._add_paths(settled) for settled in (True, False)}
        self._points = {settled: self._add_points(settled) for settled in (True, False)}
        self._panel = pn.pane.Bokeh(self._figure, sizing_mode="stretch_width", margin=0)
        self.draw(picture)

    @property
    def panel(self) -> pn.viewable.Viewable:
        return self._panel

    @property
    def over_time(self) -> figure:
        """The chart, for views that share its range of time."""
        return self._figure

    def draw(self, picture: Lines) -> None:
        for settled, source in self._paths.items():
            source.data = _paths(picture, settled=settled)
        for settled, source in self._points.items():
            source.data = _points(picture, settled=settled)
        self._figure.yaxis[0].axis_label = picture.value
        self._figure.xaxis[0].axis_label = time_label(picture)
        extent = extent_data(picture.x, picture.y)
        if dict(self._extent.data) != extent:
            self._extent.data = extent

    def _add_paths(self, settled: bool) -> ColumnDataSource:
        source = ColumnDataSource({"xs": [], "ys": [], "colour": [], "width": []})
        self._figure.multi_line("xs", "ys", source=source, line_color="colour", line_width="width",
                                line_dash="solid" if settled else [6, 4], line_join="round")
        return source

    def _add_points(self, settled: bool) -> ColumnDataSource:
        names = ("start", "value", "size", "key", "colour", "marker", "state")
        source = ColumnDataSource({name: [] for name in names})
        drawn = self._figure.scatter("start", "value", source=source, size="size", marker="marker", line_color="colour",
                                     line_width=1.5, fill_color="colour", fill_alpha=1 if settled else 0)
        self._hover.renderers = [*(self._hover.renderers if isinstance(self._hover.renderers, list) else []), drawn]
        return source


def time_label(picture: Lines) -> str:
    """Name of the time axis, with the zone whose clock it shows."""
    return f"start ({picture.zone})" if picture.zone else "start"


def sizes(line: Line) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Marker sizes in pixels; on a crowded line only points that no stroke reaches, or that may change, keep theirs."""
    if len(line.x) <= MOST_MARKED:
        return np.full(len(line.x), 7.0)
    alone = ~line.joined & ~np.append(line.joined[1:], False)
    open_ones = ~line.settled if np.count_nonzero(~line.settled) <= MOST_MARKED else np.zeros_like(alone)
    return np.where(open_ones, 6.0, np.where(alone, 4.0, 0.0))


def _paths(picture: Lines, *, settled: bool) -> dict[str, list[Any]]:
    paths = [line.settled_path() if settled else line.provisional_path() for line in picture]
    return {
        "xs": [x for x, _ in paths],
        "ys": [y for _, y in paths],
        "colour": [colour(line.place) for line in picture],
        "width": [2.0 if len(line.x) <= 4 * MOST_MARKED else 1.3 for line in picture],
    }


def _points(picture: Lines, *, settled: bool) -> dict[str, Any]:
    chosen = [(line, line.settled if settled else ~line.settled) for line in picture]
    counts = [int(np.count_nonzero(mask)) for _, mask in chosen]
    return {
        "start": np.concatenate([line.x[mask] for line, mask in chosen]),
        "value": np.concatenate([line.y[mask] for line, mask in chosen]),
        "size": np.concatenate([sizes(line)[mask] for line, mask in chosen]),
        "key": np.repeat([line.label for line in picture], counts).tolist(),
        "colour": np.repeat([colour(line.place) for line in picture], counts).tolist(),
        "marker": np.repeat([marker(line.place) for line in picture], counts).tolist(),
        "state": ["settled" if settled else "may still change"] * sum(counts),
    }
