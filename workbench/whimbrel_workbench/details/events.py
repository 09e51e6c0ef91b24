"""The source events of a clicked mark or a chosen row."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import panel as pn
import pyarrow as pa

from whimbrel_workbench.controls.accessible import TipButton, tip
from whimbrel_workbench.controls.toolbar import BUTTON_CSS
from whimbrel_workbench.controls.transport import LABELLED_CSS
from whimbrel_workbench.frames.events import LineageEvents
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.sessions.lineage import row_words
from whimbrel_workbench.views.events import EventsView

MAX_OFFERED: Final = 15


class EventsPanel:
    """Shows what a value is made of. Sources are read on a thread of its own, for one question at a time.

    Parameters
    ----------
    feed : LiveSession
    change : callable
        Does something that changes the page, and lets the page know; from any thread.
    """

    name: Final = "Source events"
    about: Final = "Show the source events of a value"

    def __init__(self, feed: LiveSession, change: Callable[[Callable[[], None]], None]) -> None:
        self._feed, self._change = feed, change
        self._asked = 0
        self._reading = threading.Lock()
        self._offered: list[pa.Table] = []
        self._run = feed.run
        self._view = EventsView()
        self._choice = pn.widgets.Select(label="row", options={}, stylesheets=[LABELLED_CSS], margin=(3, 8),
                                         sizing_mode="stretch_width", max_width=560)
        show = TipButton(label="Show events", stylesheets=[BUTTON_CSS], margin=(3, 3),
                         html_attributes=tip("Show the source events of the chosen row"))
        show.on_click(lambda _event: self._change(self._show_chosen))
        newer = TipButton(label="Refresh list", stylesheets=[BUTTON_CSS], margin=(3, 3),
                          html_attributes=tip("List the newest rows"))
        newer.on_click(lambda _event: self._change(self._offer))
        self.panel = pn.Column(pn.FlexBox(self._choice, show, newer, align_items="center"), self._view.panel,
                               sizing_mode="stretch_width", margin=(4, 0))

    def draw(self) -> None:
        if self._run is not self._feed.run or not self._feed.newest(1):
            self._forget()
        # Rows that are offered stay while somebody reads them.
        if not self._offered:
            self._offer()

    def pick(self, mark: Mark) -> None:
        """Show the source events of a mark."""
        row = self._feed.row_of(mark)
        if row is not None:
            self._offer(row)
            self._show(row)

    def _forget(self) -> None:
        """The rows are gone: those of another run, or of one that was dropped."""
        self._run = self._feed.run
        self._asked += 1
        self._offered = []
        self._view.draw(LineageEvents("nothing"))

    def _offer(self, *first: pa.Table) -> None:
        rows = {", ".join(f"{name} {value}" for name, value in row_words(row)): row
                for row in (*first, *self._feed.newest(MAX_OFFERED))}
        self._offered = list(rows.values())
        self._choice.param.update(options={words: place for place, words in enumerate(rows)}, value=0 if rows else None)

    def _show_chosen(self) -> None:
        if self._choice.value is not None:
            self._show(self._offered[self._choice.value])

    def _show(self, row: pa.Table) -> None:
        self._asked += 1
        self._view.draw(LineageEvents("looking", row_words(row)))
        threading.Thread(target=self._read, args=(self._asked, row), name="whimbrel-lineage", daemon=True).start()

    def _read(self, asked: int, row: pa.Table) -> None:
        with self._reading:
            if asked != self._asked:
                return
            found = self._feed.lineage(row)
        if asked == self._asked:
            self._change(lambda: self._view.draw(found))
