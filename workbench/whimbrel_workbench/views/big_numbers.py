"""Draw big numbers: settled filled, provisional hollow."""

from __future__ import annotations

from html import escape
from typing import Final

import panel as pn

from whimbrel_workbench.frames import BigNumber, BigNumbers
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.palette import CSS
from whimbrel_workbench.views.table import mark_of

_FIGURE_CSS: Final = CSS + """
.figures { display: flex; flex-wrap: wrap; gap: 8px 48px; padding: 12px 0 4px; }
.open .value { color: transparent; -webkit-text-stroke: 1.3px var(--jp-ui-font-color1, #333); }
.early .value { opacity: .62; }
.moved { font-size: 13px; min-height: 19px; font-weight: 600; }
"""
_VALUE: Final = "line-height:1.15;font-weight:600;font-variant-numeric:tabular-nums;overflow-wrap:anywhere"
_SIZES_PX: Final = ((16, 44), (48, 28))
"""Up to so many letters are so large; more would fill the page."""
_SMALLEST_PX: Final = 18


class FiguresView:
    """Draws :class:`~whimbrel_workbench.frames.BigNumbers` as one piece of HTML."""

    def __init__(self, picture: BigNumbers, host: Host) -> None:
        self._panel = page_html(figures_html(picture), _FIGURE_CSS)

    @property
    def panel(self) -> pn.viewable.Viewable:
        return self._panel

    def draw(self, picture: BigNumbers) -> None:
        self._panel.object = figures_html(picture)


def figures_html(picture: BigNumbers) -> str:
    state = "settled" if picture.stage == picture.stages.final else "early" if picture.stage else "open"
    return (f'<div class="figures {state}">{"".join(map(_figure_html, picture.figures))}</div>'
            f'<div class="quiet">{mark_of(picture.stage, picture.stages)}</div>')


def _figure_html(figure: BigNumber) -> str:
    revised = f", revised from {figure.revised}" if figure.revised else ""
    size = next((px for maximum, px in _SIZES_PX if len(figure.text) <= maximum), _SMALLEST_PX)
    return (f'<div><div class="value" style="font-size:{size}px;{_VALUE}">{escape(figure.text)}</div>'
            f'<div class="quiet">{escape(figure.name)}{escape(revised)}</div>'
            f'<div>{escape(figure.bound)}</div>'
            f'<div class="moved">{escape(figure.moved)}</div></div>')
