"""Buttons that show and hide panels with details."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import panel as pn

from whimbrel_workbench.controls.accessible import TipButton, tip
from whimbrel_workbench.controls.focus import keep_focus
from whimbrel_workbench.controls.toolbar import BUTTON_CSS
from whimbrel_workbench.details.detail_panel import DetailPanel

_SHUT: Final = "▸"
_OPEN: Final = "▾"


class DetailPanels:
    """Those of some folds that a reader has opened.

    Parameters
    ----------
    folds : sequence of DetailPanel
    change : callable
        Does something that changes the page, and lets the page know; from any thread.

    Attributes
    ----------
    buttons : list of panel.widgets.Button
        One for each fold.
    panel : panel.Column
        What is open.
    """

    def __init__(self, folds: Sequence[DetailPanel], change: Callable[[Callable[[], None]], None]) -> None:
        self._change = change
        self._open: list[DetailPanel] = []
        self._togglers = {fold: self._toggler(fold) for fold in folds}
        self.buttons = list(self._togglers.values())
        self.panel = pn.Column(sizing_mode="stretch_width", margin=0)

    def draw(self) -> None:
        """Show what is so now in what is open."""
        for fold in self._open:
            fold.draw()

    def toggle(self, fold: DetailPanel) -> None:
        """Open what is shut, shut what is open."""
        opened = fold not in self._open
        self._open = [each for each in self._togglers if (opened if each is fold else each in self._open)]
        self._togglers[fold].label = f"{_OPEN if opened else _SHUT} {fold.name}"
        if opened:
            fold.draw()
        self.panel[:] = [each.panel for each in self._open]

    def _toggler(self, fold: DetailPanel) -> pn.widgets.Button:
        button = TipButton(label=f"{_SHUT} {fold.name}", stylesheets=[BUTTON_CSS], margin=(3, 3),
                           html_attributes=tip(fold.about))
        button.on_click(lambda _event: self._change(lambda: self.toggle(fold)))
        keep_focus(button)
        return button
