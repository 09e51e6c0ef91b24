"""The style that all charts share.

Charts are drawn by Bokeh on a canvas and redrawn by replacing the data of their sources. WebGL stays off: without a
graphics card it lags by seconds.
"""

from __future__ import annotations

from typing import Any, Final

from bokeh.models import Axis, CustomJS, DatetimeAxis, HoverTool, LinearAxis
from bokeh.plotting import figure

import whimbrel_workbench.bokeh_defaults  # noqa: F401 - which is what makes charts fast
from whimbrel_workbench.frames import Style
from whimbrel_workbench.html_pane import Text
from whimbrel_workbench.views.axis_format import number_ticks
from whimbrel_workbench.views.palette import FONT, GRID, INK

HEIGHT_PX: Final = 320
# Labels of a narrow chart would run into one another.
_FEWER_TICKS: Final = """
    axis.ticker.desired_num_ticks = Math.min(6, Math.max(2, Math.floor(cb_obj.inner_width / 75)))
"""
# Bokeh treats a button that is down for 0.3 s as a press, and then ignores a drag. With each redraw it reads the page's
# style for every colour, which takes a fifth of the time. It also rewrites the unchanged positions of its parts, after
# which the browser computes the style of the page again: another fifth.
_BE_QUICK: Final = """
    for (const {canvas, views} of cb_context.index.find(cb_obj)) {
        canvas.ui_event_bus.ui_gestures._start_timeout = () => {}
        for (const {visuals, position} of views.all_views()) {
            for (const each of visuals ?? []) each._get_css_value &&= () => ""
            if (!position?._update) continue
            let written = null
            position._update = css => { if (css !== written) position.el.textContent = written = css }
        }
    }
"""
_CHIP_PX: Final = 10
"""Between ticks and axis label, which leaves space for a button next to the label."""

_LAST_LABEL_PX: Final = 44
"""Half a date stands beyond the end of its axis, and must not be cut off."""

_MAX_LETTERS: Final = 40
"""Longer axis labels would be cut off at charts of the usual height, and on telephones."""

_TOOLS: Final = "xpan,xwheel_zoom,box_zoom,reset,save"


def chart(style: Style, *hovers: HoverTool, height_px: int = HEIGHT_PX, tools: str = _TOOLS, **settings: Any) -> figure:
    """An empty chart: light grid, no frame, quiet axes, transparent ground for light and dark pages."""
    fig = figure(sizing_mode="fixed" if style.width else "stretch_width", height=style.height or height_px, tools=tools,
                 output_backend="canvas", background_fill_alpha=0, border_fill_alpha=0, outline_line_color=None,
                 active_scroll=None, **{"min_border_right": _LAST_LABEL_PX, **settings})
    if style.width:
        fig.width = style.width
    if style.title:
        fig.title.update(text=style.title, text_color=INK, text_font=FONT, text_font_size="14px")
    fig.add_tools(*hovers)
    fig.toolbar.update(logo=None, autohide=True)
    for axis in fig.axis:
        _quieten(axis)
    fig.xaxis[0].axis_label_standoff = _CHIP_PX
    fig.js_on_change("inner_width", CustomJS(args={"axis": fig.xaxis[0]}, code=_FEWER_TICKS),
                     CustomJS(code=_BE_QUICK))
    for grid in fig.grid:
        grid.update(grid_line_color=None if style.show_grid is False else GRID, grid_line_alpha=0.22)
    return fig


def name_axes(fig: figure, style: Style, x: str, y: str) -> None:
    """Set the axis labels: those of the user, else those of the picture."""
    for axis, words in ((fig.xaxis[0], style.xlabel), (fig.yaxis[0], style.ylabel)):
        axis.axis_label = without_middle((x if axis is fig.xaxis[0] else y) if words is None else words)


def without_middle(text: str, maximum: int = _MAX_LETTERS) -> str:
    """Words of at most so many letters.

    >>> without_middle("seconds between departures", 12)
    'seconds…ures'
    """
    end = maximum // 3
    return text if len(text) <= maximum else f"{text[:maximum - end - 1]}…{text[-end:]}"


def page_html(html: str, css: str, **settings: Any) -> Text:
    """A piece of text that spans the cell."""
    return Text(html, stylesheets=[css], sizing_mode="stretch_width", margin=(0, 8), **settings)


def _quieten(axis: Axis) -> None:
    axis.update(axis_line_color=INK, axis_line_alpha=0.5, major_tick_line_color=INK, major_tick_line_alpha=0.5,
                minor_tick_line_color=None, major_label_text_color=INK, major_label_text_font=FONT,
                major_label_text_font_size="12px", axis_label_text_color=INK, axis_label_text_font=FONT,
                axis_label_text_font_size="12px", axis_label_text_font_style="normal")
    if isinstance(axis, LinearAxis) and not isinstance(axis, DatetimeAxis):
        axis.formatter = number_ticks()
