"""Draw lines: settled solid, early lighter, provisional dashed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from bokeh.models import ColumnDataSource, GlyphRenderer, HoverTool, Range1d
from numpy.typing import NDArray

from whimbrel_workbench.frames import Line, Lines, Style
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.finality import OPEN
from whimbrel_workbench.frames.format_numbers import interval_words, moved_words, value_words
from whimbrel_workbench.views.axis_format import number_hover
from whimbrel_workbench.views.chart import chart
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.palette import colour, marker
from whimbrel_workbench.views.zoomed_chart import ChartAxes, ZoomedChart

MAX_MARKED: Final = 60
"""A line with more points than this shows no markers: they would hide it."""

_MAX_WIDE: Final = 1_000
"""With more points in all strokes are one pixel wide: without a graphics card those are painted ten times faster."""

_BEYOND: Final = 0.25
"""Of the visible range: so much of the line is asked for on each side of it."""

_DASHES: Final = ("solid", [5, 4])
"""Of settled and early segments, and of provisional ones."""
BAND: Final = {"fill_alpha": 0.18, "line_alpha": 0.45, "line_width": 1}
HALO: Final = {"line_color": None, "fill_alpha": 0.28}


class LinesView(ZoomedChart[Lines]):
    """Draws :class:`~whimbrel_workbench.frames.Lines`; each redraw replaces the data of its sources.

    When the reader zooms, the host may give more points of the visible range.
    """

    def __init__(self, picture: Lines, host: Host) -> None:
        time, when = ("datetime", "{%F %H:%M}") if picture.calendar else ("numeral", "{0,0}")
        on_marks = HoverTool(tooltips=[("", "@key"), ("", "@words"), ("from", f"@start{when}"), ("", "@state")],
                             formatters={"@start": time})
        # Where there are too many points for markers, the lines themselves answer.
        on_paths = HoverTool(tooltips=[("", "@key"), ("", "$snap_y{custom}"), ("from", f"$snap_x{when}"),
                                       ("", "@state")],
                             formatters={"$snap_x": time, "$snap_y": number_hover()}, line_policy="nearest", limit=1)
        super().__init__(picture, host, chart(
            host.style, on_marks, on_paths, x_axis_type="datetime" if picture.calendar else "linear",
            y_axis_type="log" if host.style.logy else "linear", x_range=Range1d(), y_range=Range1d()),
            zooms=host.zoom_to is not None)
        self._bands = self._add_bands()
        self._halo = self._add_halo()
        self._intervals = self._add_intervals()
        self._whiskers = self._add_whiskers()
        self._paths = [self._add_path(dash) for dash in _DASHES]
        self._marks = self._add_marks()
        on_marks.renderers, on_paths.renderers = [self._marks], self._paths
        self._closer: tuple[Extent, Lines] | None = None
        self._pick.listen(self._chart, self._figure, {
            self._marks: {"key": "key", "instant": "instant"},
            **{path: {"key": "key", "at": "", "value": ""} for path in self._paths}},
                    stretches="Prioritize a time range")
        self.draw(picture)

    def _axes(self, picture: Lines) -> ChartAxes:
        return ChartAxes(picture.x, picture.y, (time_label(picture), picture.value))

    def _look_closer(self) -> None:
        """Ask for the range that the reader zoomed to, if points are left out of it."""
        if self._host.zoom_to is None:
            return
        held, picture = self._viewport.held, self._picture
        if held is not None and picture.thinned:
            x = widened(held[0], picture.x)
            if x.low < x.high and x != picture.x:
                pixels = self._viewport.pixels[0] * (x.high - x.low) / (held[0].high - held[0].low)
                self._host.zoom_to(x, int(pixels), self._show_range)
                return
        self._host.zoom_to(None, 0, self._show_range)
        if self._closer is not None:
            self._closer = None
            super()._look_closer()

    def _show_range(self, x: Extent, closer: Lines) -> None:
        self._closer = x, closer
        super()._look_closer()

    def _draw_window(self) -> None:
        picture = self._picture if self._closer is None else self._picture.with_range(*self._closer)
        wide = sum(len(line.x) for line in picture) <= _MAX_WIDE
        width = self._style.line_width or (2.0 if wide else 1.0)
        for is_open, path in enumerate(self._paths):
            path.data_source.data = _paths(picture, width, self._style, is_open=bool(is_open))
        self._marks.data_source.data = _marks(picture, self._style)
        self._halo.data = _halo(picture, self._style)
        self._whiskers.data = _whiskers(picture, self._style)
        self._bands.data = _bands(picture, self._style)
        self._intervals.data = _intervals(picture, self._style)

    def _add_path(self, dash: str | list[int]) -> GlyphRenderer:
        source = ColumnDataSource({name: [] for name in ("xs", "ys", "colour", "width", "strength", "key", "state")})
        return self._figure.multi_line("xs", "ys", source=source, line_color="colour", line_width="width",
                                       line_dash=dash, line_join="round", line_alpha="strength")

    def _add_marks(self) -> GlyphRenderer:
        names = ("start", "value", "words", "size", "key", "instant", "colour", "marker", "fullness", "state")
        return self._figure.scatter("start", "value", source=ColumnDataSource({name: [] for name in names}),
                                    size="size", marker="marker", line_color="colour", line_width=1.5,
                                    fill_color="colour", fill_alpha="fullness")

    def _add_halo(self) -> ColumnDataSource:
        source = ColumnDataSource({name: [] for name in ("start", "value", "colour")})
        self._figure.scatter("start", "value", source=source, size=17, fill_color="colour", **HALO)
        return source

    def _add_bands(self) -> ColumnDataSource:
        """Between which ends the final values lie."""
        source = ColumnDataSource({name: [] for name in ("xs", "ys", "colour")})
        self._figure.patches("xs", "ys", source=source, fill_color="colour", line_color="colour", **BAND)
        return source

    def _add_intervals(self) -> ColumnDataSource:
        """The same of points that stand alone, or that have markers."""
        source = ColumnDataSource({name: [] for name in ("start", "value", "colour", "minimum", "maximum")})
        self._figure.segment("start", "minimum", "start", "maximum", source=source, line_color="colour", line_width=1.5)
        for end in ("minimum", "maximum"):
            self._figure.scatter("start", end, source=source, marker="dash", size=8, line_color="colour",
                                 line_width=1.5)
        return source

    def _add_whiskers(self) -> ColumnDataSource:
        """From each early value to the current one."""
        source = ColumnDataSource({name: [] for name in ("start", "value", "before", "colour")})
        self._figure.segment("start", "before", "start", "value", source=source, line_color="colour", line_width=1,
                             line_alpha=0.8)
        self._figure.scatter("start", "before", source=source, marker="dash", size=9, line_color="colour",
                             line_width=1.5, line_alpha=0.8)
        return source


def widened(x: Extent, whole: Extent) -> Extent:
    """A visible range and a part of it on each side: strokes to points that are far away begin out of sight."""
    beyond = _BEYOND * (x.high - x.low)
    return Extent(max(x.low - beyond, whole.low), min(x.high + beyond, whole.high))


def time_label(picture: Any) -> str:
    """Name of the time axis, with the zone whose clock it shows."""
    return f"start ({picture.zone})" if picture.zone else "start"


def marked(line: Line) -> NDArray[np.intp]:
    """Points that have a marker; of a crowded line only those that no stroke reaches, or that may change or did."""
    if len(line.x) <= MAX_MARKED:
        return np.arange(len(line.x))
    alone = ~line.joined & ~np.append(line.joined[1:], False)
    open_ones = ~line.settled
    shown = alone | (open_ones if np.count_nonzero(open_ones) <= MAX_MARKED else False)
    shown[line.revised] = True
    return np.flatnonzero(shown)


def words_of(line: Line, at: int) -> str:
    """The value of one point, with what it was at first if it was revised."""
    now, before = float(line.y[at]), float(line.before[at])
    if line.bounded[at]:
        return interval_words(now, float(line.low[at]), float(line.high[at]))
    if np.isnan(before):
        return value_words(now)
    moved = moved_words(before, now)
    return f"{value_words(now)}, " + (f"revised from {value_words(before)} ({moved})" if moved else "unchanged")


def _paths(picture: Lines, width: float, style: Style, *, is_open: bool) -> dict[str, list[Any]]:
    stages = picture.stages
    # What is final lies over what is not.
    paths = [(line, stage, path) for line in picture
             for stage, path in ([(OPEN, line.open_path())] if is_open
                                 else [*line.early_paths(), (stages.final, line.settled_path())])]
    there = [(line, stage, path) for line, stage, path in paths if len(path[0])]
    return {
        "xs": [x for _, _, (x, _) in there],
        "ys": [y for _, _, (_, y) in there],
        "colour": [colour(line.slot, style, line.label) for line, _, _ in there],
        "width": [width] * len(there),
        "strength": [stages.strength(stage) * (style.alpha or 1) for _, stage, _ in there],
        "key": [line.label for line, _, _ in there],
        "state": [stages.label(stage) for _, stage, _ in there],
    }


def _marks(picture: Lines, style: Style) -> dict[str, Any]:
    chosen = [(line, marked(line)) for line in picture]
    stages = [stage for line, at in chosen for stage in line.stage[at].tolist()]
    return {
        **_points(chosen, style),
        "words": [words_of(line, place) for line, at in chosen for place in at.tolist()],
        "size": [style.size or (7.0 if len(line.x) <= MAX_MARKED else 5.0) for line, at in chosen for _ in at],
        "key": [line.label for line, at in chosen for _ in at],
        "instant": [str(tick) for line, at in chosen for tick in line.instant[at].tolist()],
        "marker": [marker(line.slot) for line, at in chosen for _ in at],
        "fullness": [picture.stages.fullness(stage) for stage in stages],
        "state": [picture.stages.label(stage) for stage in stages],
    }


def _halo(picture: Lines, style: Style) -> dict[str, Any]:
    return _points([(line, np.flatnonzero(line.changed)[-MAX_MARKED:]) for line in picture], style)


def _whiskers(picture: Lines, style: Style) -> dict[str, Any]:
    chosen = [(line, line.revised) for line in picture]
    return {**_points(chosen, style), "before": np.concatenate([line.before[at] for line, at in chosen])}


def _bands(picture: Lines, style: Style) -> dict[str, Any]:
    found = [(line, band) for line in picture for band in line.bands()]
    return {
        "xs": [np.concatenate([x, x[::-1]]) for _, (x, _, _) in found],
        "ys": [np.concatenate([low, high[::-1]]) for _, (_, low, high) in found],
        "colour": [colour(line.slot, style, line.label) for line, _ in found],
    }


def _intervals(picture: Lines, style: Style) -> dict[str, Any]:
    chosen = [(line, at[line.bounded[at]]) for line in picture for at in [marked(line)]]
    return {**_points(chosen, style), "minimum": np.concatenate([line.low[at] for line, at in chosen]),
            "maximum": np.concatenate([line.high[at] for line, at in chosen])}


def _points(chosen: list[tuple[Line, NDArray[np.intp]]], style: Style) -> dict[str, Any]:
    return {
        "start": np.concatenate([line.x[at] for line, at in chosen]),
        "value": np.concatenate([line.y[at] for line, at in chosen]),
        "colour": [colour(line.slot, style, line.label) for line, at in chosen for _ in at],
    }
