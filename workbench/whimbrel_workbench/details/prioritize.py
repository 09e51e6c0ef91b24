"""Prioritize rows and add claims by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Final

import panel as pn

from whimbrel.errors import PlanError
from whimbrel_workbench.controls.accessible import TipButton, tip
from whimbrel_workbench.controls.toolbar import BUTTON_CSS, touch
from whimbrel_workbench.controls.transport import LABELLED_CSS
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.html_pane import Text
from whimbrel_workbench.sessions import LiveSession, ProgressiveRun


class PrioritizePanel:
    """Two rows of a picture to choose: one to read first, both to claim which is larger.

    Parameters
    ----------
    feed : LiveSession
        Of a progressive query.
    """

    name: Final = "Priorities"
    about: Final = "Prioritize rows and add claims"

    def __init__(self, feed: LiveSession) -> None:
        self._feed = feed
        self._refused = ""
        self._row, self._other = self._choice("row"), self._choice("compared with")
        self._first = self._button("Prioritize row", "Read the blocks of this row first",
                                   lambda: feed.prioritize(Mark(key=self._row.value)))
        self._all = self._button("Reset priority", "Read all remaining blocks alike",
                                 lambda: feed.refine(ProgressiveRun.prioritize_all))
        self._claim = self._button("Add claim", "Claim which row is larger, and compare with the exact result",
                                   self._remember)
        self._note = Text("", margin=(0, 8), styles={"font-size": "12px", "opacity": ".75"})
        self.panel = pn.Column(
            pn.FlexBox(self._row, self._first, self._all, self._other, self._claim, align_items="center", gap="4px"),
            self._note, sizing_mode="stretch_width", margin=(4, 0))

    def draw(self) -> None:
        run = self._feed.run
        quality = self._feed.quality
        names = list(quality.names) if quality is not None else []
        known = [name for name in self._row.options if name in names]
        options = [*known, *(name for name in names if name not in known)]
        for choice, place in ((self._row, 0), (self._other, 1)):
            if choice.options != options:
                kept = choice.value if choice.value in options else next(iter(options[place:]), None)
                choice.param.update(options=options, value=kept)
        steers = isinstance(run, ProgressiveRun) and not run.query.fallback_reason and run.can_finish
        touch(self._first, "disabled", not (steers and options))
        touch(self._all, "disabled", not (steers and quality is not None and bool(quality.first)))
        touch(self._claim, "disabled", len(options) < 2)
        touch(self._note, "object", self._refused if options else
              "Only the keys of a single window can be chosen. Click a mark, or drag over a time range.")

    def _remember(self) -> None:
        columns, left, right = self._feed.columns, self._row.value, self._other.value
        if columns.value is not None and left != right:
            self._refused = ""
            try:
                self._feed.refine(lambda run: run.add_claim(left, right, columns.value or ""))
            except PlanError as error:
                self._refused = escape(f"{error.what} {error.hint}")
            self.draw()

    def _choice(self, name: str) -> pn.widgets.Select:
        return pn.widgets.Select(label=name, options=[], stylesheets=[LABELLED_CSS], margin=(3, 4), width=190)

    def _button(self, name: str, what: str, act: Callable[[], object]) -> pn.widgets.Button:
        button = TipButton(label=name, stylesheets=[BUTTON_CSS], margin=(3, 3), html_attributes=tip(what))
        button.on_click(lambda _event: act())
        return button
