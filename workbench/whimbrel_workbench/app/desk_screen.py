"""A desk on the page of one browser."""

from __future__ import annotations

from bokeh.document import Document

from whimbrel_workbench.desk_view import DeskView
from whimbrel_workbench.frames.desk import DeskFrame
from whimbrel_workbench.sessions.desk_updates import DeskUpdates
from whimbrel_workbench.views.desk import DeskTable


class DeskScreen:
    """Draws a desk as it runs. Each reader chooses the query whose newest rows the page shows.

    Parameters
    ----------
    view : DeskView
    document : bokeh.document.Document
        The page's own.
    """

    def __init__(self, view: DeskView, document: Document) -> None:
        self._document = document
        self._newest: DeskFrame | None = None
        self._updates = DeskUpdates(view.desk, self._take, redraws_per_s=view.redraws_per_s, rows=view.rows)
        self._table = DeskTable(self._updates.choose)
        self.panel = self._table.panel
        self._table.draw(self._updates.present())
        document.on_session_destroyed(lambda _context: self._updates.close())
        self._updates.start()

    def _take(self, frame: DeskFrame) -> None:
        """A newer frame, on the thread that makes them: the page is sent the newest one when it can be."""
        waits, self._newest = self._newest is not None, frame
        if not waits:
            self._document.add_next_tick_callback(self._draw)

    def _draw(self) -> None:
        frame, self._newest = self._newest, None
        if frame is not None:
            self._table.draw(frame)
