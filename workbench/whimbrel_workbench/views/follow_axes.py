"""Axes that follow the data until the reader zooms."""

from __future__ import annotations

from typing import Any, Final

import panel as pn
from bokeh.models import Button, CustomJS, InlineStyleSheet
from bokeh.plotting import figure

from whimbrel_workbench.frames.extent import Extent

CHIP_CSS: Final = """
:host { position: absolute; bottom: 1px; right: 8px; z-index: 5; }
.bk-btn.bk-btn-default, :host(.solid) .bk-btn.bk-btn-default {
  font: 600 12px/1 var(--jp-ui-font-family, system-ui, sans-serif); height: 22px; padding: 0 12px;
  border-radius: 11px; border: 0; color: #fff; background: #0072B2; box-shadow: 0 1px 4px #0005; }
.bk-btn.bk-btn-default:hover, :host(.solid) .bk-btn.bk-btn-default:hover { background: #005a8d; color: #fff; }
.bk-btn:focus-visible { outline: 2px solid #56B4E9; outline-offset: 2px; }
"""

# Charts that share a range of time are held together by it. A mouse that was left lying on a chart holds it no longer
# than somebody reads a value; the time of its last move is no property, which would travel to the kernel.
_FOLLOW: Final = """
    const [x, y, names, height, before, after] = chip.tags
    const width = figure.inner_width || wide
    const per_px = (x[1] - x[0]) / Math.max(width - before - after, width / 3)
    const start = x[0] - before * per_px
    const end = x[1] + after * per_px
    const {x_range, y_range} = figure
    const held = x_range.tags.includes("held")
    const moved = x_range.start != start || x_range.end != end || (y.length && y_range.end != y[1])
    const pointed_at = Date.now() - (chip.pointed_at_ms ?? 0) < 10_000
    chip.visible = held || (pointed_at && moved)
    if (held || pointed_at) return
    x_range.followed = [start, end]
    y_range.followed = y
    x_range.setv({start, end})
    if (y.length) y_range.setv({start: y[0], end: y[1]})
    else y_range.factors = names
    if (height) figure.height = height
"""
# Bokeh reports changed ranges when a drag has ended, and half a second after the last turn of a wheel. Meanwhile the
# next frame would take a chart back, and points would not be counted where the reader is.
_HOLD: Final = """
    const {x_range, y_range} = figure
    const moved = ({start, end, followed}) => followed?.length && (start != followed[0] || end != followed[1])
    if (!moved(x_range) && !moved(y_range)) return
    if (!x_range.tags.includes("held")) x_range.tags = ["held"]
    chip.visible = true
"""
_MOVES: Final = ("pan", "wheel", "pinch", "rangesupdate")
_LET_GO: Final = """
    figure.x_range.tags = []
    chip.pointed_at_ms = 0
"""


_WIDE_PX: Final = 600
"""Of a chart that is not laid out yet."""

Margin = tuple[float, float]
NO_MARGIN: Final = (0.0, 0.0)


class FollowAxes:
    """Lets a chart's ranges follow what :meth:`move` says, on the page itself, so that no message is in the way.

    Parameters
    ----------
    fig : bokeh figure
    x, y : Extent
        What is shown first.
    margin_px : tuple of float
        For words before the first mark and after the last, in charts of any width.
    """

    def __init__(self, fig: figure, x: Extent, y: Extent | None, names: list[str] | None = None,
                 height_px: int | None = None, margin_px: Margin = NO_MARGIN) -> None:
        per_px = (x.high - x.low) / (_WIDE_PX - sum(margin_px))
        fig.x_range.update(start=x.low - margin_px[0] * per_px, end=x.high + margin_px[1] * per_px)
        if y is None:
            fig.y_range.factors = names
        else:
            fig.y_range.update(start=y.low, end=y.high)
        if height_px:
            fig.height = height_px
        # What the ranges should be travels in the chip's tags: a source of data would want columns of one length.
        self._chip = Button(label="Follow data", visible=False, html_attributes={"title": "Return to the newest data"},
                            stylesheets=[InlineStyleSheet(css=CHIP_CSS)],
                            tags=_axes(x, y, names, height_px, margin_px))
        models = {"figure": fig, "chip": self._chip, "wide": _WIDE_PX}

        def then(code: str) -> CustomJS:
            return CustomJS(args=models, code=code)

        self._chip.js_on_change("tags", then(_FOLLOW))
        fig.js_on_change("inner_width", then(_FOLLOW))
        for move in _MOVES:
            fig.js_on_event(move, then(_HOLD))
        fig.js_on_event("reset", then(_LET_GO + _FOLLOW))
        fig.js_on_event("mousemove", then("chip.pointed_at_ms = Date.now()"))
        fig.js_on_event("mouseleave", then("chip.pointed_at_ms = 0" + _FOLLOW))
        self._chip.js_on_event("button_click", then(_LET_GO + _FOLLOW))
        self._figure = fig

    def panel(self, *others: pn.viewable.Viewable) -> pn.Column:
        """The chart with the chip over its corner; other things may lie over it too."""
        mode = {} if self._figure.width else {"sizing_mode": "stretch_width"}
        chart = pn.pane.Bokeh(self._figure, margin=0, **mode)
        over = pn.pane.Bokeh(self._chip, margin=0), *others
        return pn.Column(chart, *over, margin=0, styles={"position": "relative"}, **mode)

    def move(self, x: Extent, y: Extent | None, names: list[str] | None = None, height_px: int | None = None,
             margin_px: Margin = NO_MARGIN) -> None:
        """What the ranges are while nobody holds them."""
        axes = _axes(x, y, names, height_px, margin_px)
        if self._chip.tags != axes:
            self._chip.tags = axes


def _axes(x: Extent, y: Extent | None, names: list[str] | None, height_px: int | None, margin_px: Margin) -> list[Any]:
    return [[x.low, x.high], [] if y is None else [y.low, y.high], names or [], height_px or 0, *margin_px]
