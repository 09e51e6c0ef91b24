"""Pictures as HoloViews objects, to overlay and style."""

from __future__ import annotations

from typing import Any, Final

import holoviews as hv
import holoviews.plotting.bokeh
import numpy as np
from numpy.typing import NDArray

from whimbrel_workbench.frames import (
    PLAIN,
    Bars,
    BigNumbers,
    Heat,
    Line,
    Lines,
    Picture,
    Scatter,
    ScopeFrame,
    Spectrogram,
    Style,
    TableFrame,
    TriggerFrame,
)
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.finality import OPEN
from whimbrel_workbench.views.bars import whiskered
from whimbrel_workbench.views.channel_bands import BAND as CHANNEL_BAND
from whimbrel_workbench.views.channel_bands import band_ticks, on_band
from whimbrel_workbench.views.chart import HEIGHT_PX
from whimbrel_workbench.views.color_scales import counts_palette, palette_of
from whimbrel_workbench.views.lines import BAND, marked, time_label
from whimbrel_workbench.views.palette import COLOURS, STRONG, colour, marker
from whimbrel_workbench.views.raster import Raster, Window
from whimbrel_workbench.views.scatter import MAX_POINTS, colours_of
from whimbrel_workbench.views.spectrogram import DEPTH_DB, spectrum_image
from whimbrel_workbench.views.trigger import NEWEST, counted, trigger_label, window_lines
from whimbrel_workbench.views.visible_points import in_sight
from whimbrel_workbench.views.visible_samples import visible_samples

hv.Store.set_current_backend("bokeh")
hv.renderer("bokeh").webgl = False

Range = tuple[Any, Any] | None

_CELLS: Final = (550, 140)


def holoviews_of(data: Picture | None, style: Style = PLAIN, x_range: Range = None,
                 y_range: Range = None) -> hv.Overlay | hv.Table:
    """A picture as a HoloViews object; an empty overlay while there is nothing to draw.

    Parameters
    ----------
    data : Picture or None
    style : Style
    x_range, y_range : tuple, optional
        What is in sight; a picture of many points counts those that are.
    """
    match data:
        case Lines():
            return _lines(data, style)
        case Bars():
            return _bars(data, style)
        case Heat():
            return _heat(data, style)
        case Scatter():
            return _scatter(data, style, x_range, y_range)
        case ScopeFrame():
            return _scope(data, style, x_range)
        case Spectrogram():
            return _spectrogram(data, style)
        case TriggerFrame():
            return _trigger(data, style)
        case TableFrame():
            return hv.Table([row.cells for row in data.table], list(data.names))
        case BigNumbers():
            return hv.Table([(figure.name, figure.text) for figure in data.figures], ["name"], ["value"])
        case None:
            return hv.Overlay([hv.Curve([])])


def _lines(picture: Lines, style: Style) -> hv.Overlay:
    time, value, shape = hv.Dimension("start", label=time_label(picture)), hv.Dimension(picture.value), _shape(style)
    layers = []
    for line in picture:
        paint, label = colour(line.slot, style, line.label), line.label or picture.value
        for stage, (x, y) in ((OPEN, line.open_path()), *line.early_paths(), (line.stages.final, line.settled_path())):
            curve = hv.Curve((_instants(picture, x), y), time, value, label=label)
            look = {"line_dash": "dashed" if stage == OPEN else "solid", "alpha": line.stages.strength(stage)}
            layers.append(curve.opts(color=paint, line_width=style.line_width or 1.6, **look, **shape))
        layers += [_points(picture, line, stage, paint, style).opts(**shape)
                   for stage in range(picture.stages.final, -1, -1)]
        revised = line.revised
        x = _instants(picture, line.x[revised])
        moves = hv.Segments((x, line.before[revised], x, line.y[revised]), [time, value, "until", "now"], label=label)
        layers.append(moves.opts(color=paint, line_width=1, **shape))
        layers += [hv.Area((_instants(picture, x), low, high), time, [value, "until"]).opts(
            color=paint, fill_alpha=BAND["fill_alpha"], line_alpha=BAND["line_alpha"], **shape)
            for x, low, high in line.bands()]
    return hv.Overlay(layers).opts(legend_position="top", show_grid=style.show_grid is not False, **shape)


def _points(picture: Lines, line: Line, stage: int, paint: str, style: Style) -> hv.Scatter:
    at = marked(line)
    at = at[line.stage[at] == stage]
    label = line.label or picture.value
    points = hv.Scatter((_instants(picture, line.x[at]), line.y[at]), "start", picture.value, label=label)
    return points.opts(color=paint, marker=marker(line.slot), size=style.size or 7,
                       fill_alpha=picture.stages.fullness(stage))


def _bars(picture: Bars, style: Style) -> hv.Overlay:
    layers, paint = [], colour(0, style)
    for stage in range(picture.stages.final, -1, -1):
        rows = [(bar.name, bar.length) for bar in picture.bars if bar.stage == stage]
        bars = hv.Bars(rows, ", ".join(picture.keys) or "result", picture.value)
        look = {"line_color": paint, "fill_color": paint, "fill_alpha": picture.stages.fullness(stage)}
        hooks = [_hatch] if stage == OPEN else []
        layers.append(bars.opts(invert_axes=True, hooks=hooks, **look, **_shape(style)))
    ends = [(bar.name, bar.length, bar.length - bar.low, bar.high - bar.length)
            for bar in picture.bars if whiskered(bar)]
    if ends:
        layers.append(hv.ErrorBars(ends, ", ".join(picture.keys) or "result", [picture.value, "below", "above"]).opts(
            invert_axes=True, line_color=STRONG, line_width=2, **_shape(style)))
    return hv.Overlay(layers).opts(**_shape(style))


def _heat(picture: Heat, style: Style) -> hv.Overlay:
    left, right = (_instants(picture, edge) for edge in (picture.left, picture.right))
    cells = (left, picture.row.astype(float), right, picture.row + 1.0, picture.values)
    along = time_label(picture) if not picture.columns else picture.along
    edges = [hv.Dimension("x0", label=along), hv.Dimension("y0", label=" "), "x1", "y1"]
    ticks = {"yticks": [(place + 0.5, name or picture.value) for place, name in enumerate(picture.names)]}
    if picture.columns:
        ticks["xticks"] = [(place + 0.5, name) for place, name in enumerate(picture.columns)]
    shape = _shape(style, max(140, 70 + 22 * len(picture.names)))
    look = {"invert_yaxis": True, "line_color": None, **ticks, **shape}
    layers = [hv.Rectangles(cells, edges, picture.value).opts(
        color=picture.value, cmap=palette_of(style, picture.shade), colorbar=style.show_legend is not False,
        clim=(picture.shade.low, picture.shade.high), **look)]
    unsettled = picture.stage != picture.stages.final
    hatched = hv.Rectangles(tuple(column[unsettled] for column in cells), edges, picture.value)
    layers.append(hatched.opts(color="#0000", hooks=[_hatch_white], **look))
    return hv.Overlay(layers).opts(**shape)


def _scatter(picture: Scatter, style: Style, x_range: Range, y_range: Range) -> hv.Overlay:
    x, y = _sight(x_range, picture.x), _sight(y_range, picture.y)
    window = Window(x, y, *_CELLS, picture.log)
    counts = Raster().counts(picture.points, window)
    dense = picture.dense or int(counts.sum()) > MAX_POINTS
    along = hv.Dimension(picture.along, label=time_label(picture) if picture.along == "start" else picture.along)
    dims, shape = [along, hv.Dimension(picture.value)], _shape(style)
    axes = {"logx": picture.log[0], "logy": picture.log[1]}
    shown = np.where(counts, counts, np.nan) if dense else np.full((2, 2), np.nan)
    if any(picture.log):
        edges = [(np.geomspace if log else np.linspace)(ends.low, ends.high, cells + 1) for ends, log, cells in
                 zip((x, y), picture.log, reversed(shown.shape), strict=True)]
        image = hv.QuadMesh((_instants(picture, edges[0]), edges[1], shown), dims, "points")
    else:
        left, right = _instants(picture, np.array([x.low, x.high]))
        image = hv.Image(shown[::-1], bounds=(left, y.low, right, y.high), kdims=dims, vdims="points")
    seen = in_sight(picture, window, settled=not dense)
    points = hv.Points((_instants(picture, seen.x), seen.y, colours_of(picture, seen.category, style)), dims, "colour")
    shades = {"cmap": counts_palette(style), "cnorm": "log", "clim": (1, max(2, int(counts.max()))),
              "clipping_colors": {"NaN": "#0000"}, "colorbar": dense and style.show_legend is not False}
    layers = [image.opts(**shades, **axes, **shape),
              points.opts(color="colour", size=style.size or 5, alpha=style.alpha or 0.8, **axes, **shape)]
    return hv.Overlay(layers).opts(**shape)


def _scope(picture: ScopeFrame, style: Style, x_range: Range) -> hv.Overlay:
    time, shape, layers = hv.Dimension("start", label=time_label(picture)), _shape(style), []
    x = _sight(x_range, Extent(picture.x.low, picture.x.high))
    for seen in visible_samples(picture, x, _CELLS[0]):
        paint = colour(seen.channel.slot, style, seen.channel.column)
        for stretches, is_open in ((seen.settled, False), (seen.provisional, True)):
            for at, *ends in stretches:
                low, high = (on_band(seen.channel, end, len(picture.channels)) for end in ends)
                area = hv.Area((_instants(picture, at), low, high), time, [hv.Dimension("low", label=" "), "high"],
                               label=seen.channel.name)
                layers.append(area.opts(color=paint, line_color=paint, fill_alpha=0.0 if is_open else 0.85,
                                        line_dash="dashed" if is_open else "solid", **shape))
    ticks = [*band_ticks(picture.channels).items()]
    return hv.Overlay(layers or [hv.Curve([])]).opts(yticks=ticks, show_legend=False, **shape)


def _spectrogram(picture: Spectrogram, style: Style) -> hv.Overlay:
    columns, levels, most = spectrum_image(picture, _CELLS[0])
    ends = picture.channel.axis.positions(np.array(columns.ends))
    across = np.linspace(float(ends[0]), float(ends[1]), levels.shape[1] + 1)
    up = np.linspace(0.0, picture.per_s / 2, len(levels) + 1)
    time = hv.Dimension("start", label=time_label(picture))
    image = hv.QuadMesh((_instants(picture, across), up, levels), [time, picture.frequency], "dB")
    shades = palette_of(style, Extent(0.0, 1.0))
    return hv.Overlay([image.opts(cmap=shades, clim=(most - DEPTH_DB, most), colorbar=True, **_shape(style))])


def _trigger(picture: TriggerFrame, style: Style) -> hv.Overlay:
    time, shape, layers = hv.Dimension("trigger", label=trigger_label(picture)), _shape(style), []
    band = hv.Dimension("band", label=" ")
    for channel in picture.channels:
        counts = counted(picture, channel, picture.x, *_CELLS)
        low = float(on_band(channel, channel.y.low, len(picture.channels)))
        image = hv.Image(np.where(counts, counts, np.nan)[::-1], kdims=[time, band], vdims="windows",
                         bounds=(picture.x.low, low, picture.x.high, low + CHANNEL_BAND))
        layers.append(image.opts(cmap=counts_palette(style), cnorm="log", clim=(1, max(2, int(counts.max(initial=0)))),
                                 clipping_colors={"NaN": "#0000"}, **shape))
    for window, x, y in window_lines(picture, (*picture.provisional, *picture.settled[-1:])):
        layers.append(hv.Curve((x, y), time, band).opts(color=NEWEST, line_width=style.line_width or 1.5,
                                                        line_dash="solid" if window.settled else "dashed", **shape))
    return hv.Overlay(layers).opts(yticks=[*band_ticks(picture.channels).items()], show_legend=False, **shape)


def _shape(style: Style, height_px: int = HEIGHT_PX) -> dict[str, Any]:
    """Every layer says it, so that an overlay with other elements keeps it; framewise lets axes follow the data."""
    chosen = {name: getattr(style, name) for name in ("width", "title", "xlabel", "ylabel", "xlim", "ylim")}
    given = {name: value for name, value in chosen.items() if value is not None}
    wide = {} if style.width else {"responsive": True}
    return {"height": style.height or height_px, "framewise": True, **wide, **given}


def _sight(range_: Range, extent: Extent) -> Extent:
    """What is in sight; all of it while nobody has zoomed."""
    if range_ is None or range_[0] is None or range_[1] is None:
        return extent
    low, high = (np.datetime64(end).astype("datetime64[us]").astype(float) / 1e3
                 if isinstance(end, np.datetime64) or hasattr(end, "year") else float(end) for end in range_)
    return Extent(low, high) if low < high else extent


def _hatch(plot: Any, _element: hv.Element) -> None:
    plot.handles["glyph"].update(hatch_pattern="/", hatch_color=COLOURS[0], hatch_scale=8)


def _hatch_white(plot: Any, _element: hv.Element) -> None:
    plot.handles["glyph"].update(hatch_pattern="/", hatch_color="#ffffff", hatch_alpha=0.6, hatch_scale=7)


def _instants(picture: Any, x: NDArray[np.float64]) -> NDArray[Any]:
    return x.astype("datetime64[ms]") if picture.calendar else x
