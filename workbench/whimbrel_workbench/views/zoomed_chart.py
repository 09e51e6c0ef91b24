"""Charts that draw the visible range again when the reader zooms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import panel as pn
from bokeh.plotting import figure

from whimbrel_workbench.frames import ScopeFrame, Style
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.views.chart import name_axes
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.follow_axes import FollowAxes
from whimbrel_workbench.views.selection import Selection
from whimbrel_workbench.views.viewport import Viewport
from whimbrel_workbench.views.visible_samples import dropped

Drawn = TypeVar("Drawn")


@dataclass(frozen=True, slots=True)
class ChartAxes:
    """Ranges and labels of a picture's axes.

    Parameters
    ----------
    x, y : Extent
    labels : tuple of str
        Of both axes.
    height_px : int, optional
        Height of the chart, if it depends on the picture.
    """

    x: Extent
    y: Extent
    labels: tuple[str, str]
    height_px: int | None = None


class ZoomedChart(ABC, Generic[Drawn]):
    """What views share that draw the visible range again: axes that follow the data, a viewport, and clicks.

    Parameters
    ----------
    picture : Drawn
    host : Host
    fig : bokeh figure
        An empty chart, to which the view adds its marks.
    *others : panel.viewable.Viewable
        Further things that lie over the chart.
    zooms : bool
        Whether the page reports the visible range.
    """

    def __init__(self, picture: Drawn, host: Host, fig: figure, *others: pn.viewable.Viewable,
                 zooms: bool = True) -> None:
        self._picture, self._host, self._figure = picture, host, fig
        self._style: Style = host.style
        axes = self._axes(picture)
        self._follow = FollowAxes(fig, axes.x, axes.y)
        self._viewport = Viewport(self._look_closer)
        self._pick = Selection(host)
        self._panel: pn.viewable.Viewable = self._follow.panel(self._viewport.panel, self._pick.panel, *others)
        self._chart: pn.pane.Bokeh = self._panel[0]
        if zooms:
            self._viewport.watch(self._chart)

    @property
    def panel(self) -> pn.viewable.Viewable:
        """The widget for the page."""
        return self._panel

    @property
    def over_time(self) -> figure | None:
        """The chart, for views that share its range of time."""
        return self._figure

    def draw(self, picture: Drawn) -> None:
        """Show another picture of the kind this view was made for, without rebuilding anything."""
        self._picture = picture
        self._draw_window()
        axes = self._axes(picture)
        name_axes(self._figure, self._style, *axes.labels)
        self._follow.move(axes.x, axes.y, height_px=axes.height_px)

    @abstractmethod
    def _axes(self, picture: Drawn) -> ChartAxes:
        """The axes of a picture, while nobody zooms."""

    @abstractmethod
    def _draw_window(self) -> None:
        """Draw what is visible of the picture."""

    def _look_closer(self) -> None:
        with self._host.changing():
            self._draw_window()
        scope, held = self._signal, self._viewport.held
        if scope is not None and held is not None and self._host.read_samples is not None and dropped(scope, held[0]):
            self._host.read_samples(scope, held[0], self._draw_again)

    @property
    def _signal(self) -> ScopeFrame | None:
        """The samples that are drawn, if they may have to be read again."""
        return None

    def _draw_again(self) -> None:
        """Draw what is visible, of which more is known now."""
        with self._host.changing():
            self._draw_window()
