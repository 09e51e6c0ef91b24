"""Draw channels of samples, one above the other: settled filled, provisional hatched."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from bokeh.models import ColumnDataSource, CrosshairTool, GlyphRenderer, HoverTool, Range1d

from whimbrel_workbench.frames import ScopeFrame
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.views.axis_format import number_hover
from whimbrel_workbench.views.channel_bands import ChannelBands, bands, height_px, on_band
from whimbrel_workbench.views.chart import chart
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.lines import time_label
from whimbrel_workbench.views.palette import INK, STRONG, colour
from whimbrel_workbench.views.visible_samples import VisibleSamples, visible_samples
from whimbrel_workbench.views.zoomed_chart import ChartAxes, ZoomedChart

MAX_MARKED: Final = 300
"""With more samples in sight they have no markers."""

MAX_MARKS: Final = 400
_TOOLS: Final = "xpan,xwheel_zoom,xbox_zoom,reset,save"
_EVENT: Final = ("x", "left", "right", "bottom", "top", "fullness", "hatch", "words", "state", "instant", "layer")
_PATHS: Final = ("xs", "ys", "colour")
_POINTS: Final = ("x", "y", "colour", "fullness", "key", "column")


class ScopeView(ZoomedChart[ScopeFrame]):
    """Draws :class:`~whimbrel_workbench.frames.ScopeFrame`. When the reader zooms, visible samples are drawn again."""

    def __init__(self, picture: ScopeFrame, host: Host) -> None:
        time = "datetime" if picture.calendar else "numeral"
        when = "{%F %T.%3N}" if picture.calendar else "{0,0}"
        self._hover = HoverTool(mode="vline", attachment="below", formatters={"@x": time})
        self._when = when
        on_events = HoverTool(tooltips=[("event", "@words"), ("from", f"@left{when}"), ("", "@state")],
                              formatters={"@left": time})
        super().__init__(picture, host, chart(
            host.style, self._hover, on_events, height_px=height_px(picture.channels), tools=_TOOLS,
            x_axis_type="datetime" if picture.calendar else "linear", y_range=Range1d(),
            x_range=Range1d(min_interval=picture.channels[0].axis.min_visible)))
        self._figure.add_tools(CrosshairTool(dimensions="height", line_color=INK, line_alpha=0.6))
        events = self._add_events()
        self._fills = [self._add_fill(hatched=hatched) for hatched in (False, True)]
        self._strokes = [self._add_stroke(dash) for dash in ("solid", [4, 3])]
        self._samples = ColumnDataSource({name: [] for name in _POINTS})
        samples = self._figure.scatter("x", "y", source=self._samples, size=self._style.size or 5, line_color="colour",
                                       fill_color="colour", fill_alpha="fullness")
        self._columns = ColumnDataSource({"x": [], "y": []})
        # Only the tooltip needs them: marks that are drawn would hide the signal.
        self._hover.renderers = [self._figure.scatter("x", "y", source=self._columns, size=3, alpha=0)]
        on_events.renderers = events
        self._bands = ChannelBands(self._figure)
        self._pick.listen(self._chart, self._figure, {
            **{each: {"instant": "instant", "layer": "layer"} for each in events}, samples: {"key": "key", "at": "x"}},
                    stretches="Hear a stretch", pans=True)
        self.draw(picture)

    def draw(self, picture: ScopeFrame) -> None:
        super().draw(picture)
        self._bands.draw(picture.channels)

    @property
    def _signal(self) -> ScopeFrame:
        return self._picture

    def _axes(self, picture: ScopeFrame) -> ChartAxes:
        return ChartAxes(picture.x, bands(picture.channels), (time_label(picture), ""),
                         self._style.height or height_px(picture.channels))

    def _draw_window(self) -> None:
        picture = self._picture
        held = self._viewport.held
        x = picture.x if held is None else held[0]
        seen = visible_samples(picture, x, self._viewport.pixels[0])
        for is_open, (fill, stroke) in enumerate(zip(self._fills, self._strokes, strict=True)):
            fill.data = _filled(seen, self._style, is_open=bool(is_open))
            stroke.data = _stroked(seen, self._style, is_open=bool(is_open))
        self._samples.data = _sample_points(seen, self._style)
        self._columns.data, names = _hover_columns(seen)
        tips = [(picture.channels[place].name, f"@low_{place}{{custom}} to @high_{place}{{custom}}")
                if not seen[place].single else (picture.channels[place].name, f"@high_{place}{{custom}}")
                for place in names]
        tooltips = [*tips, ("", f"@x{self._when}")]
        if self._hover.tooltips != tooltips:
            formats = {f"@{end}_{place}": number_hover() for end in ("low", "high") for place in names}
            self._hover.update(tooltips=tooltips, formatters={**formats, "@x": self._hover.formatters["@x"]})
        self._events.data = _events(picture, x)
        self._fresh.data = {"left": [], "right": []} if picture.fresh is None else {
            "left": [picture.fresh], "right": [picture.last]}

    def _add_fill(self, *, hatched: bool) -> ColumnDataSource:
        source = ColumnDataSource({name: [] for name in _PATHS})
        hatch = {"hatch_pattern": "/", "hatch_color": "colour", "hatch_scale": 7, "hatch_weight": 1} if hatched else {}
        self._figure.patches("xs", "ys", source=source, fill_color="colour", fill_alpha=0.15 if hatched else 0.85,
                             line_color="colour", line_width=1, line_dash=[4, 3] if hatched else "solid",
                             line_join="round", **hatch)
        return source

    def _add_stroke(self, dash: str | list[int]) -> ColumnDataSource:
        source = ColumnDataSource({name: [] for name in _PATHS})
        self._figure.multi_line("xs", "ys", source=source, line_color="colour", line_dash=dash, line_join="round",
                                line_width=self._style.line_width or 1.5)
        return source

    def _add_events(self) -> list[GlyphRenderer]:
        """What is new, and events: ranges as bands, and a triangle at the begin of each."""
        self._fresh = ColumnDataSource({"left": [], "right": []})
        height = {"bottom": 0, "top": len(self._picture.channels)}
        self._figure.quad("left", "right", source=self._fresh, fill_color=INK, fill_alpha=0.12, line_color=None,
                          **height)
        self._events = ColumnDataSource({name: [] for name in _EVENT})
        ranges = self._figure.quad("left", "right", "top", "bottom", source=self._events, fill_color=STRONG,
                                   fill_alpha="fullness", line_color=STRONG, line_alpha=0.5, hatch_pattern="hatch",
                                   hatch_color=STRONG, hatch_alpha=0.5, hatch_scale=8)
        heads = self._figure.scatter("x", "top", source=self._events, marker="inverted_triangle", size=10,
                                     line_color=STRONG, line_width=1.5, fill_color=STRONG, fill_alpha="fullness")
        return [ranges, heads]






def _filled(seen: list[VisibleSamples], style: Any, *, is_open: bool) -> dict[str, Any]:
    """An outline around the extremes of each stretch of columns."""
    xs, ys, colours = [], [], []
    for channel in seen:
        for x, low, high in () if channel.single else channel.provisional if is_open else channel.settled:
            xs.append(np.concatenate([x, x[::-1]]))
            ys.append(on_band(channel.channel, np.concatenate([high, low[::-1]]), len(seen)))
            colours.append(colour(channel.channel.slot, style, channel.channel.column))
    return {"xs": xs, "ys": ys, "colour": colours}


def _stroked(seen: list[VisibleSamples], style: Any, *, is_open: bool) -> dict[str, Any]:
    """A line through single samples."""
    drawn = [(channel, x, low) for channel in seen if channel.single
             for x, low, _ in (channel.provisional if is_open else channel.settled)]
    return {"xs": [x for _, x, _ in drawn],
            "ys": [on_band(channel.channel, low, len(seen)) for channel, _, low in drawn],
            "colour": [colour(channel.channel.slot, style, channel.channel.column) for channel, _, _ in drawn]}


def _sample_points(seen: list[VisibleSamples], style: Any) -> dict[str, Any]:
    """Markers of single samples while they are few: settled filled, provisional hollow."""
    found: dict[str, list[Any]] = {name: [] for name in _POINTS}
    for channel in seen:
        stretches = [(1.0, each) for each in channel.settled] + [(0.0, each) for each in channel.provisional]
        if not channel.single or sum(len(x) for _, (x, _, _) in stretches) > MAX_MARKED:
            continue
        for fullness, (x, low, _) in stretches:
            found["x"] += x.tolist()
            found["y"] += on_band(channel.channel, low, len(seen)).tolist()
            found["colour"] += [colour(channel.channel.slot, style, channel.channel.column)] * len(x)
            found["fullness"] += [fullness] * len(x)
            found["key"] += [channel.channel.key] * len(x)
            found["column"] += [channel.channel.column] * len(x)
    return found


def _hover_columns(seen: list[VisibleSamples]) -> tuple[dict[str, Any], list[int]]:
    """The extremes of all channels at each position of the first one that is drawn, and which channels have any."""
    drawn = {place: tuple(np.concatenate(each) for each in zip(*(*channel.settled, *channel.provisional), strict=True))
             for place, channel in enumerate(seen) if channel.settled or channel.provisional}
    if not drawn:
        return {"x": [], "y": []}, []
    lead = next(iter(drawn))
    x = np.unique(drawn[lead][0])
    data: dict[str, Any] = {"x": x, "y": np.full(len(x), len(seen) / 2)}
    for place, (at, low, high) in drawn.items():
        near = np.clip(np.searchsorted(at, x), 0, len(at) - 1)
        data[f"low_{place}"], data[f"high_{place}"] = low[near].astype(np.float32), high[near].astype(np.float32)
    return data, list(drawn)


def _events(picture: ScopeFrame, x: Extent) -> dict[str, Any]:
    marks = picture.marks
    if marks is None:
        return {name: [] for name in _EVENT}
    at = marks.in_sight(x, MAX_MARKS)
    settled, left = marks.settled[at], marks.left[at]
    right = np.where(np.isnan(marks.right[at]), picture.last, marks.right[at])
    return {"x": left, "left": left, "right": right, "bottom": np.zeros(len(at)),
            "top": np.full(len(at), float(len(picture.channels))), "fullness": np.where(settled, 0.2, 0.0),
            "hatch": ["blank" if each else "/" for each in settled.tolist()], "words": marks.texts(at),
            "state": [picture.stages.label(picture.stages.final if each else 0) for each in settled.tolist()],
            "instant": marks.instants(at), "layer": ["marks"] * len(at)}
