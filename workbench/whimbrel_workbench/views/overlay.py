"""Pictures as HoloViews objects, to overlay and to style; the look is the one of the live chart."""

from __future__ import annotations

from typing import Any, Final

import holoviews as hv
import holoviews.plotting.bokeh
import numpy as np

from whimbrel_workbench.frames import Bars, Figures, Lines, Rows
from whimbrel_workbench.views.chart import HEIGHT_PX
from whimbrel_workbench.views.contract import Picture
from whimbrel_workbench.views.lines import sizes, time_label
from whimbrel_workbench.views.palette import COLOURS, colour, marker

hv.Store.set_current_backend("bokeh")
hv.renderer("bokeh").webgl = False

# Every layer says it, so that an overlay with the user's own elements keeps it; framewise lets axes follow the data.
_SHAPE: Final = {"responsive": True, "height": HEIGHT_PX, "framewise": True}


def holoviews_of(data: Picture | None) -> hv.Overlay | hv.Table:
    """A picture as a HoloViews object; an empty overlay while there is nothing to draw."""
    match data:
        case Lines():
            return _lines(data)
        case Bars():
            return _bars(data)
        case Rows():
            return hv.Table(list(data.cells), list(data.names))
        case Figures():
            return hv.Table(list(zip(data.names, data.values, strict=True)), ["name"], ["value"])
        case None:
            return hv.Overlay([hv.Curve([])])


def _lines(picture: Lines) -> hv.Overlay:
    time = hv.Dimension("start", label=time_label(picture))
    value = hv.Dimension(picture.value)
    layers = []
    for line in picture:
        paint, label = colour(line.place), line.label or picture.value
        for settled, (x, y) in ((True, line.settled_path()), (False, line.provisional_path())):
            dash = "solid" if settled else "dashed"
            curve = hv.Curve((_instants(picture, x), y), time, value, label=label)
            layers.append(curve.opts(color=paint, line_dash=dash, line_width=2 if settled else 1.6, **_SHAPE))
            shown = (line.settled if settled else ~line.settled) & (sizes(line) > 0)
            points = hv.Scatter((_instants(picture, line.x[shown]), line.y[shown]), time, value, label=label)
            look = {"color": paint, "marker": marker(line.place), "size": 7, "fill_alpha": float(settled)}
            layers.append(points.opts(**look, **_SHAPE))
    return hv.Overlay(layers).opts(legend_position="top", show_grid=True, **_SHAPE)


def _bars(picture: Bars) -> hv.Overlay:
    layers = []
    for settled in (True, False):
        rows = [(name, length) for name, length, flag in
                zip(picture.names, picture.lengths, picture.settled, strict=True) if flag == settled]
        bars = hv.Bars(rows, ", ".join(picture.keys) or "result", picture.value)
        layers.append(bars.opts(invert_axes=True, line_color=COLOURS[0], fill_color=COLOURS[0],
                                fill_alpha=float(settled), hooks=[] if settled else [_hatch], **_SHAPE))
    return hv.Overlay(layers).opts(**_SHAPE)


def _hatch(plot: Any, _element: hv.Element) -> None:
    plot.handles["glyph"].update(hatch_pattern="/", hatch_color=COLOURS[0], hatch_scale=8)


def _instants(picture: Lines, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.astype("datetime64[ms]") if picture.calendar else x
