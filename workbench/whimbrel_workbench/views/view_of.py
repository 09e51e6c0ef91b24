"""The one place that knows which view draws which picture."""

from __future__ import annotations

from whimbrel_workbench.frames import Bars, Figures, Lines, Rows
from whimbrel_workbench.views.bars import BarsView
from whimbrel_workbench.views.contract import Picture, View
from whimbrel_workbench.views.figures import FiguresView
from whimbrel_workbench.views.lines import LinesView
from whimbrel_workbench.views.rows import RowsView


def view_of(picture: Picture) -> View:
    """A view that draws this picture and later ones of its kind."""
    match picture:
        case Lines():
            return LinesView(picture)
        case Bars():
            return BarsView(picture)
        case Rows():
            return RowsView(picture)
        case Figures():
            return FiguresView(picture)
