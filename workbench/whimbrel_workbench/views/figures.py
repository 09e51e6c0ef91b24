"""Big numbers: a settled one filled, a provisional one hollow, both said in words."""

from __future__ import annotations

from html import escape
from typing import Final

import panel as pn

from whimbrel_workbench.frames import Figures
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.palette import CSS

_FIGURE_CSS: Final = CSS + """
.figures { display: flex; flex-wrap: wrap; gap: 8px 48px; padding: 12px 0 4px; }
.open .value { color: transparent; -webkit-text-stroke: 1.3px var(--jp-ui-font-color1, #333); }
"""
_VALUE: Final = "font-size:44px;line-height:1.15;font-weight:600;font-variant-numeric:tabular-nums"


class FiguresView:
    """Draws :class:`~whimbrel_workbench.frames.Figures` as one piece of HTML."""

    def __init__(self, picture: Figures) -> None:
        self._panel = page_html(figures_html(picture), _FIGURE_CSS)

    @property
    def panel(self) -> pn.viewable.Viewable:
        return self._panel

    def draw(self, picture: Figures) -> None:
        self._panel.object = figures_html(picture)


def figures_html(picture: Figures) -> str:
    state = "● settled" if picture.settled else "○ may still change"
    each = "".join(f'<div><div class="value" style="{_VALUE}">{escape(value)}</div>'
                   f'<div class="quiet">{escape(name)}</div></div>'
                   for name, value in zip(picture.names, picture.values, strict=True))
    return (f'<div class="figures {"settled" if picture.settled else "open"}">{each}</div>'
            f'<div class="quiet">{state}</div>')
