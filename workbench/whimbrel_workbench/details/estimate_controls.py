"""Controls of a progressive query: finish, pin, prioritize and claim."""

from __future__ import annotations

from collections.abc import Callable

import panel as pn

from whimbrel_workbench.controls.accessible import TipButton, tip
from whimbrel_workbench.controls.focus import keep_focus
from whimbrel_workbench.controls.toolbar import BUTTON_CSS, touch
from whimbrel_workbench.details.detail_panels import DetailPanels
from whimbrel_workbench.details.prioritize import PrioritizePanel
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.sessions import LiveSession, ProgressiveRun


class EstimateControls(DetailPanels):
    """Further buttons of the toolbar, and the panel of priorities.

    Parameters
    ----------
    feed : LiveSession
        Of a progressive query.
    change : callable
        Does something that changes the page, and lets the page know; from any thread.

    Attributes
    ----------
    priorities : PrioritizePanel
    """

    def __init__(self, feed: LiveSession, change: Callable[[Callable[[], None]], None]) -> None:
        self._feed = feed
        self.priorities = PrioritizePanel(feed)
        super().__init__((self.priorities,), change)
        self._finish = self._does("Finish query", "Read all remaining blocks, for the exact result",
                                  ProgressiveRun.finish)
        self._remember = self._does("Pin estimate", "Keep these values and intervals to compare with the exact ones",
                                    ProgressiveRun.pin)
        self.buttons = [self._finish, self._remember, *self.buttons]

    def draw(self) -> None:
        """Offer what can be done now, whatever is open."""
        run = self._feed.run
        touch(self._finish, "disabled", not (isinstance(run, ProgressiveRun) and run.can_finish))
        touch(self._remember, "disabled", not isinstance(run, ProgressiveRun) or run.query.latest is None)
        super().draw()

    def pick(self, mark: Mark) -> None:
        """Prioritize the rows of a mark, or a time range."""
        self._feed.prioritize(mark)

    def _does(self, name: str, what: str, gesture: Callable[[ProgressiveRun], object]) -> pn.widgets.Button:
        button = TipButton(label=name, stylesheets=[BUTTON_CSS], margin=(3, 3), html_attributes=tip(what))
        button.on_click(lambda _event: self._feed.refine(gesture))
        keep_focus(button)
        return button
