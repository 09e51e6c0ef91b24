"""The live view of a desk in a notebook."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import panel as pn

from whimbrel.stream.desk import Desk
from whimbrel_workbench import page
from whimbrel_workbench.frames.desk import DeskFrame
from whimbrel_workbench.frames.options import check_redraws
from whimbrel_workbench.live_view import cells
from whimbrel_workbench.sessions import Visibility
from whimbrel_workbench.sessions.desk_updates import DeskUpdates
from whimbrel_workbench.views.desk import DeskTable, still_desk_html
from whimbrel_workbench.views.export import save_page

_STILL_EVERY_S: Final = 3.0
_MAX_WIDE_PX: Final = 1200


class DeskView:
    """A live view of all queries of a desk.

    It shows state, cost and links, and never starts or stops the desk. A click on a query shows its newest rows.

    Parameters
    ----------
    desk : Desk
    redraws_per_s : float
        Maximum number of redraws per second.
    rows : int
        Newest rows of the chosen query.
    """

    def __init__(self, desk: Desk, *, redraws_per_s: float = 2.0, rows: int = 8) -> None:
        check_redraws(redraws_per_s)
        self.desk, self.redraws_per_s, self.rows = desk, redraws_per_s, rows
        self._updates = DeskUpdates(desk, self._draw, redraws_per_s=redraws_per_s, rows=rows)
        self._attention = Visibility(page.executing)
        self._lock = threading.RLock()
        self._places: list[_Place] = []

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Export the desk as it stands now, as HTML or PNG.

        Parameters
        ----------
        path : path-like
            Ends with ``.html`` or ``.png``.
        """
        return save_page("desk", still_desk_html(self._updates.present()), path)

    def choose(self, name: str) -> DeskView:
        """Show the newest rows of a query, as a click on it does."""
        self._updates.choose(name)
        return self

    def close(self) -> None:
        """Update the view no more."""
        self._updates.close()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> page.Bundle:
        if page.collect(self) or not page.in_notebook():
            return {"text/plain": repr(self.desk)}, {}
        frame = self._updates.present()
        place = _Place(self._updates, self._receive, self._forget, self._lock)
        with self._lock:
            place.draw(frame)
            bundle = place.open()
            place.keep(frame)
            self._places.append(place)
        self._updates.start()
        cells.give(page.cell(), place, turn=page.execution())
        return bundle

    def _draw(self, frame: DeskFrame) -> None:
        with self._lock:
            looked_at = self._attention.verdict == "look"
            for place in self._places:
                if place.reachable and looked_at:
                    place.draw(frame)
                place.keep(frame)

    def _receive(self, place: str, sign: page.Sign) -> None:
        self._attention.receive(place, sign)
        self._updates.watch(self._attention.verdict == "look")

    def _forget(self, place: _Place) -> None:
        """A place is not there any more; without any, nobody can get the view back."""
        cells.forget(place)
        self._attention.forget(place.name)
        self._places = [each for each in self._places if each is not place]
        if not self._places:
            self.close()


class _Place:
    """One place of a page that shows the view, and the last frame that a saved notebook keeps."""

    def __init__(self, updates: DeskUpdates, on_message: Callable[[str, page.Sign], None],
                 on_closed: Callable[[_Place], None], lock: threading.RLock) -> None:
        self._table = DeskTable(updates.choose)
        self._panel = pn.Column(self._table.panel, sizing_mode="stretch_width", max_width=_MAX_WIDE_PX, margin=0)
        self._output = page.Output(self._panel, updates.refresh, on_message, lambda: on_closed(self), lock)
        self._kept_s, self._kept_state = 0.0, ""

    @property
    def name(self) -> str:
        return self._output.view

    @property
    def reachable(self) -> bool:
        return self._output.reachable

    def open(self) -> page.Bundle:
        return self._output.open()

    def draw(self, frame: DeskFrame) -> None:
        if self._output.ready:
            with page.one_message(self._panel):
                self._table.draw(frame)
                self._output.sending()

    def keep(self, frame: DeskFrame) -> None:
        """Refresh the last frame now and then, and when the desk ends."""
        now = time.monotonic()
        if now - self._kept_s > _STILL_EVERY_S or frame.state != self._kept_state:
            self._kept_s, self._kept_state = now, frame.state
            self._output.keep(still_desk_html(frame))

    def close(self) -> None:
        self._output.close()
