"""The registry of views by the kind of picture they draw."""

from __future__ import annotations

from whimbrel_workbench.frames import (
    Bars,
    BigNumbers,
    Heat,
    Lines,
    Picture,
    Scatter,
    ScopeFrame,
    Spectrogram,
    TableFrame,
    TriggerFrame,
)
from whimbrel_workbench.views.bars import BarsView
from whimbrel_workbench.views.big_numbers import FiguresView
from whimbrel_workbench.views.contract import NOBODY, Host, View
from whimbrel_workbench.views.heat import HeatView
from whimbrel_workbench.views.lines import LinesView
from whimbrel_workbench.views.scatter import ScatterView
from whimbrel_workbench.views.scope import ScopeView
from whimbrel_workbench.views.spectrogram import SpectrogramView
from whimbrel_workbench.views.table import RowsView
from whimbrel_workbench.views.trigger import TriggerView


def view_of(picture: Picture, host: Host = NOBODY) -> View:
    """A view that draws this picture and later ones of its kind, on the page of a host."""
    match picture:
        case Lines():
            return LinesView(picture, host)
        case Bars():
            return BarsView(picture, host)
        case Heat():
            return HeatView(picture, host)
        case Scatter():
            return ScatterView(picture, host)
        case ScopeFrame():
            return ScopeView(picture, host)
        case Spectrogram():
            return SpectrogramView(picture, host)
        case TriggerFrame():
            return TriggerView(picture, host)
        case TableFrame():
            return RowsView(picture, host)
        case BigNumbers():
            return FiguresView(picture, host)
