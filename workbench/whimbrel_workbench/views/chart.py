"""The look that all charts share, and axes that follow the data until the reader zooms.

Charts are drawn by Bokeh on a canvas and redrawn by replacing the data of their sources. WebGL stays off: without a
graphics card it lags by seconds.
"""

from __future__ import annotations

from typing import Any, Final

import panel as pn
from bokeh.models import ColumnDataSource, CustomJS, DatetimeAxis, HoverTool, LinearAxis, NumeralTickFormatter
from bokeh.plotting import figure

from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.views.palette import FONT, GRID, INK

HEIGHT_PX: Final = 320
_TOOLS: Final = "xpan,xwheel_zoom,box_zoom,reset,save"

# Charts that share a range of time are held together by it.
_FOLLOW: Final = """
    if (figure.x_range.tags.includes("held")) return
    const {x, y} = extent.data
    figure.x_range.setv({start: x[0], end: x[1]})
    figure.y_range.setv({start: y[0], end: y[1]})
"""


# Labels of a narrow chart would run into one another.
_FEWER_TICKS: Final = """
    axis.ticker.desired_num_ticks = Math.min(6, Math.max(2, Math.floor(cb_obj.inner_width / 75)))
"""


def chart(hover: HoverTool, *, height_px: int = HEIGHT_PX, **ranges: Any) -> figure:
    """An empty chart: light grid, no frame, quiet axes, transparent ground for light and dark pages."""
    fig = figure(sizing_mode="stretch_width", height=height_px, tools=_TOOLS, output_backend="canvas",
                 background_fill_alpha=0, border_fill_alpha=0, outline_line_color=None, min_border_right=20,
                 active_scroll=None, **ranges)
    fig.add_tools(hover)
    fig.toolbar.update(logo=None, autohide=True)
    for axis in fig.axis:
        axis.update(axis_line_color=INK, axis_line_alpha=0.5, major_tick_line_color=INK, major_tick_line_alpha=0.5,
                    minor_tick_line_color=None, major_label_text_color=INK, major_label_text_font=FONT,
                    major_label_text_font_size="12px", axis_label_text_color=INK, axis_label_text_font=FONT,
                    axis_label_text_font_size="12px", axis_label_text_font_style="normal")
        if isinstance(axis, LinearAxis) and not isinstance(axis, DatetimeAxis):
            axis.formatter = NumeralTickFormatter(format="0,0.[000]")
    fig.js_on_change("inner_width", CustomJS(args={"axis": fig.xaxis[0]}, code=_FEWER_TICKS))
    for grid in fig.grid:
        grid.update(grid_line_color=GRID, grid_line_alpha=0.22)
    return fig


def follow(fig: figure, x: Extent, y: Extent) -> ColumnDataSource:
    """Give a figure axes that follow this source, unless the reader has zoomed or panned; a reset follows again."""
    fig.x_range.update(start=x.low, end=x.high)
    fig.y_range.update(start=y.low, end=y.high)
    extent = ColumnDataSource(extent_data(x, y))
    models = {"figure": fig, "extent": extent}
    extent.js_on_change("data", CustomJS(args=models, code=_FOLLOW))
    fig.js_on_event("rangesupdate", CustomJS(args=models, code='figure.x_range.tags = ["held"]'))
    fig.js_on_event("reset", CustomJS(args=models, code="figure.x_range.tags = []" + _FOLLOW))
    return extent


def extent_data(x: Extent, y: Extent) -> dict[str, list[float]]:
    return {"x": [x.low, x.high], "y": [y.low, y.high]}


def page_html(html: str, css: str, **settings: Any) -> pn.pane.HTML:
    """A piece of text that spans the cell."""
    return pn.pane.HTML(html, stylesheets=[css], sizing_mode="stretch_width", margin=(0, 8), **settings)
