"""Buttons that fold out what stands below a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import panel as pn

from whimbrel_workbench.controls.focus import keep_focus
from whimbrel_workbench.controls.toolbar import BUTTON_CSS
from whimbrel_workbench.feed import Feed
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.inside.events import EventsFold
from whimbrel_workbench.inside.fold import Fold
from whimbrel_workbench.inside.lateness import LatenessFold
from whimbrel_workbench.inside.plan import PlanFold

_SHUT: Final = "▸"
_OPEN: Final = "▾"


class Inside:
    """The events behind a mark, how late rows are, and the plan of one feed: those that a reader has opened.

    Parameters
    ----------
    feed : Feed
    change : callable
        Does something that changes the page, and lets the page know; from any thread.
    on_ask : callable, optional
        Asks for other latencies; without it those of the feed alone.

    Attributes
    ----------
    events, lateness, plan : Fold
    buttons : list of panel.widgets.Button
        One for each fold.
    panel : panel.Column
        What is open.
    """

    def __init__(self, feed: Feed, change: Callable[[Callable[[], None]], None],
                 on_ask: Callable[[list[int]], object] | None = None) -> None:
        self._change = change
        self._open: list[Fold] = []
        self.events = EventsFold(feed, change)
        self.lateness = LatenessFold(feed, change, on_ask)
        self.plan = PlanFold(feed)
        self._folds: tuple[Fold, ...] = self.events, self.lateness, self.plan
        self.buttons = [self._button(fold) for fold in self._folds]
        self.panel = pn.Column(sizing_mode="stretch_width", margin=0)

    def draw(self) -> None:
        """Show what is so now in what is open."""
        for fold in self._open:
            fold.draw()

    def pick(self, mark: Mark) -> None:
        """Show the events behind a mark of the picture."""
        def show() -> None:
            if self.events not in self._open:
                self.toggle(self.events)
            self.events.pick(mark)

        self._change(show)

    def toggle(self, fold: Fold) -> None:
        """Open what is shut, shut what is open."""
        opened = fold not in self._open
        self._open = [each for each in self._folds if (opened if each is fold else each in self._open)]
        self.buttons[self._folds.index(fold)].label = f"{_OPEN if opened else _SHUT} {fold.name}"
        if opened:
            fold.draw()
        self.panel[:] = [each.panel for each in self._open]

    def _button(self, fold: Fold) -> pn.widgets.Button:
        button = pn.widgets.Button(label=f"{_SHUT} {fold.name}", stylesheets=[BUTTON_CSS], margin=(3, 3))
        button.on_click(lambda _event: self._change(lambda: self.toggle(fold)))
        keep_focus(button)
        return button
