"""A live view: the frames of one run, shown in several places."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from whimbrel.errors import WhimbrelError
from whimbrel.progressive import ProgressiveQuery
from whimbrel.stream import Stream
from whimbrel_workbench import page
from whimbrel_workbench.controls import Gesture
from whimbrel_workbench.details import PlanPanel
from whimbrel_workbench.frames import Frame, Options
from whimbrel_workbench.sessions import CellOwnership, LiveSession, SharedClocks, Visibility
from whimbrel_workbench.view_instance import ViewInstance
from whimbrel_workbench.views import save
from whimbrel_workbench.views.color_scales import check_colours
from whimbrel_workbench.views.plan import PlanTable

if TYPE_CHECKING:
    from holoviews import DynamicMap
    from holoviews.streams import Pipe

    from whimbrel.run import Run
    from whimbrel.stream import LatencyBands
    from whimbrel_workbench.sessions import LatencyRun, ProgressiveRun

cells: Final = CellOwnership()
_clocks: Final = SharedClocks()

_FIRST_PICTURE_S: Final = 0.2
"""So long a cell waits for something to show before it shows an empty view."""


class LiveView:
    """A live view of the current result of a query.

    Showing the view in a notebook starts the query. Closing it ends the run.

    Parameters
    ----------
    query : Stream, LatencyBands or ProgressiveQuery
        The query, possibly at several latencies or progressive.
    redraws_per_s : float
        Maximum number of redraws per second.
    transport : bool
        Whether a view of a replay has the transport bar. One bar controls all views on the same clock.
    **options
        ``kind=``, ``x=``, ``y=``, ``C=``, ``by=``, ``top=``, ``keep_rows=``: see
        :class:`~whimbrel_workbench.frames.Options`; and those of :meth:`opts`.

    Attributes
    ----------
    stream : Stream or LatencyBands
        The query as it was written.
    """

    def __init__(self, query: Stream | LatencyBands | ProgressiveQuery, *, redraws_per_s: float = 3.0,
                 transport: bool = True,
                 **options: Any) -> None:
        self.stream = Stream(query.plan) if isinstance(query, ProgressiveQuery) else query
        asked = Options.of(**options)
        check_colours(asked.style)
        self._feed = LiveSession(self.stream, asked, self._draw, redraws_per_s=redraws_per_s,
                                 ready=self._ready, on_turn=self._turn,
                                 progressive=query if isinstance(query, ProgressiveQuery) else None, clocks=_clocks)
        self._attention = Visibility(page.executing)
        self._waiting = False
        self._pipe: Pipe | None = None
        self._piping = False
        self._started = threading.Lock()
        self._transport = transport
        self._places: list[ViewInstance] = []
        self._last: Frame | None = None
        self._plan = PlanPanel(self._feed)

    @property
    def run(self) -> Run | LatencyRun | ProgressiveRun | None:
        """Run of the view.

        None before the view was shown, or if the query could not start.
        """
        return self._feed.run

    @property
    def progressive(self) -> ProgressiveQuery | None:
        """Progressive query of the view, to control from a cell.

        None for other queries.
        """
        return self._feed.progressive

    @property
    def options(self) -> Options:
        """The options of the view."""
        return self._feed.options

    @property
    def plan(self) -> PlanTable:
        """Optimized plan: operators, their counters, and the generated code."""
        return PlanTable(self._plan.plan)

    @property
    def hv(self) -> DynamicMap:
        """Live picture as a HoloViews object, to overlay and style.

        Examples
        --------
        ``view.hv * hv.HLine(15)`` or ``view.hv.opts(height=500)`` in a notebook cell, after
        ``hv.extension("bokeh", inline=True)``.
        """
        from holoviews import DynamicMap
        from holoviews.streams import Pipe, RangeXY

        from whimbrel_workbench.views.overlay import holoviews_of

        self.start()
        self._pipe = self._pipe or Pipe(data=self._feed.picture)
        style = self.options.style
        # Only many points are drawn otherwise when somebody zooms.
        ranges = [RangeXY()] if self._feed.draws_points else []
        return DynamicMap(lambda data, **sight: holoviews_of(data, style, **sight), streams=[self._pipe, *ranges])

    def opts(self, **options: Any) -> LiveView:
        """Change the style of the picture, also while the query runs.

        Parameters
        ----------
        **options
            ``width``, ``height``, ``title``, ``xlabel``, ``ylabel``, ``clabel``, ``color``, ``cmap``, ``xlim``,
            ``ylim``, ``clim``, ``logx``, ``logy``, ``logz``, ``line_width``, ``size``, ``alpha``, ``show_grid``,
            ``show_legend``: see :class:`~whimbrel_workbench.frames.Style`. None restores the default.

        Returns
        -------
        LiveView
            The view itself.

        Raises
        ------
        PlanError
            The option is unknown, or its value is invalid.
        """
        style = self.options.style.styled(**options)
        check_colours(style)
        self._feed.style(style)
        return self

    def start(self) -> None:
        """Start the query unless it was started.

        It shares the clock of other views of the same replay.
        """
        if self._started.acquire(blocking=False):
            # A cell that runs again starts a new run.
            ending = cells.before(page.cell(), page.execution()) if page.in_notebook() else []
            self._feed.start([view.run for view in ending if isinstance(view, ViewInstance) and view.run is not None])

    def save(self, path: str | os.PathLike[str], *, wait_s: float = 10.0) -> Path:
        """Export the current picture as HTML or PNG.

        The export shows values, coverage, watermark and query.

        Parameters
        ----------
        path : path-like
            Ends with ``.html``, a page that needs no script and no internet, or with ``.png``.
        wait_s : float
            A view that was not shown yet starts its query, and waits so many seconds for it to finish.

        Returns
        -------
        Path

        Raises
        ------
        SaveError
            The name ends otherwise, the file cannot be written, or no browser was found to make the PNG.
        MissingExtraError
            A PNG needs ``pip install 'whimbrel[png]'``.

        Examples
        --------
        ``query.view(kind="bar").save("flights.png")``
        """
        if self.run is None:
            self.start()
            if self.run is not None:
                with suppress(WhimbrelError):  # the picture says so
                    self.run.wait(wait_s)
        return save(self._feed.present(), path)

    def close(self) -> None:
        """End the run and keep the last frame."""
        self._feed.close()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> page.Bundle:
        if page.collect(self) or not page.in_notebook():
            return {"text/plain": repr(self)}, {}
        self.start()
        place = ViewInstance(self._feed, self._gesture, self._receive, self._forget, transport=self._transport)
        # A picture that comes with the page is there sooner than one that follows it.
        self._feed.await_picture(_FIRST_PICTURE_S)
        with self._feed.between_frames:
            frame = self._last or self._feed.present()
            place.draw(frame)
            bundle = place.open()
            place.keep(frame)
            self._places.append(place)
        cells.give(page.cell(), place, turn=page.execution())
        return bundle

    def _receive(self, place: str, sign: page.Sign) -> None:
        """A page says whether somebody sees the view."""
        self._attention.receive(place, sign)
        if sign == "seen" and not self._feed.watched:
            self._wake()
            self._feed.refresh()
        elif sign == "gone":
            self._turn()

    def _forget(self, place: ViewInstance) -> None:
        """A place is not there any more; without any, nobody can get the view back."""
        cells.forget(place)
        self._attention.forget(place.name)
        self._places = [each for each in self._places if each is not place]
        if not self._places:
            self._feed.close()

    def _turn(self) -> None:
        """Draw while a reader sees the view; otherwise let the run continue, wait or end."""
        verdict = self._attention.verdict
        if verdict == "look":
            self._wake()
            return
        self._feed.watch(False)
        run = self._feed.run
        if verdict == "end":
            self._feed.close()
            self._feed.refresh()
        elif verdict == "wait" and run is not None and run.state == "running" and self._can_wait:
            self._waiting = True
            run.pause()
        elif verdict == "rest" and any(place.still_is_old for place in self._places):
            self._feed.refresh()

    def _wake(self) -> None:
        """Somebody looks again."""
        self._feed.watch(True)
        if self._waiting and self._feed.run is not None:
            self._feed.run.resume()
        self._waiting = False

    @property
    def _can_wait(self) -> bool:
        """Whether nothing is lost during a pause: a feed that can be read only once does not wait."""
        query = self.stream if isinstance(self.stream, Stream) else self.stream[-1]
        return all(source.again() is not None for source in query.sources)

    def _gesture(self, gesture: Gesture) -> None:
        match gesture:
            case "pause":
                self._feed.pause()
            case "resume":
                self._feed.resume()
            case "keep" | "drop":
                self._feed.stop(keep=gesture == "keep")
            case "restart":
                self._feed.restart()
            case "fit":
                self._feed.fit()

    def _ready(self) -> bool:
        """Whether some place would paint the next frame at once: places stand on one page, as a rule."""
        drawn = [place for place in self._places if place.reachable]
        return not drawn or any(place.ready for place in drawn)

    def _draw(self, frame: Frame) -> bool:
        """Show a frame wherever the view is, for HoloViews, and now and then in the saved notebook."""
        if self._pipe is not None and not self._piping:
            # HoloViews and Panel put off what a page cannot take yet, but only on the kernel's own loop.
            self._piping = True
            page.soon(self._send_newest)
        self._last = frame
        looked_at = self._attention.verdict == "look"
        drawn = [place for place in self._places if place.reachable and looked_at]
        for place in drawn:
            place.draw(frame)
        for place in self._places:
            place.keep(frame)
        return bool(drawn) or not self._places  # where it is nowhere, nobody waits for another frame

    def _send_newest(self) -> None:
        self._piping = False
        if self._pipe is not None:
            self._pipe.send(self._feed.picture)
