"""What every view offers to the page."""

from __future__ import annotations

from typing import Any, Protocol

import panel as pn

from whimbrel_workbench.frames import Bars, Figures, Lines, Rows

Picture = Lines | Bars | Rows | Figures


class View(Protocol):
    """A picture on a page. Made for a first picture, then redrawn in place with further ones of the same kind."""

    @property
    def panel(self) -> pn.viewable.Viewable:
        """What goes on the page."""

    def draw(self, picture: Any) -> None:
        """Show another picture of the kind this view was made for, without rebuilding anything."""
