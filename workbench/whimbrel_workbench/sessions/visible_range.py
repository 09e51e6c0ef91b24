"""Evaluate the visible range of a function of time, coarse first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from whimbrel.errors import WhimbrelError
from whimbrel.operators import TemporalSamples
from whimbrel.stream import LatencyBands, Stream
from whimbrel_workbench.frames import ColumnRoles, Style
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.format_times import tick_at
from whimbrel_workbench.frames.lines import Lines, ShowRange, lines_of_range
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.sessions.live_session import ENDED, LiveSession
from whimbrel_workbench.sessions.newest_request import NewestRequest

Change = Callable[[Callable[[], None]], object]

COARSER: Final = (16, 4, 1)
"""So many pixels for a value, one precision after the other."""


def can_be_asked(query: Stream | LatencyBands | None) -> bool:
    """Whether any range of a query can be evaluated on its own: a function of time over logs.

    Its values last, one at a time for each key.
    """
    if not isinstance(query, Stream) or any(source.live for source in query.sources):
        return False
    known = query.node.properties
    lasts = known.apart is not None and not known.points and known.duration != 1
    return lasts or any(isinstance(node.op, TemporalSamples) for node in query.node.walk())


class ZoomedLines:
    """Evaluates what a reader of one page zoomed to, once the run of a session has ended.

    Parameters
    ----------
    feed : LiveSession
        Of a query that :func:`can_be_asked`.
    change : callable
        See :class:`VisibleRange`.
    """

    def __init__(self, feed: LiveSession, change: Change) -> None:
        self._feed, self._change = feed, change
        self._range: VisibleRange | None = None

    def zoom_to(self, x: Extent | None, width_px: int, show: ShowRange) -> None:
        """Evaluate a range of the axis, or none."""
        run = self._feed.run
        if x is None or run is None or run.clock is not None or run.state not in ENDED:
            if self._range is not None:
                self._range.forget()
            return
        query = self._feed.written
        assert isinstance(query, Stream), "other queries cannot be asked for a range"
        if self._range is None or self._range.columns != self._feed.columns:
            self._range = VisibleRange(query, self._feed.columns, self._feed.options.style, self._change)
        self._range.ask(x, width_px, show)


@dataclass(frozen=True)
class _Request:
    x: Extent
    width_px: int
    show: ShowRange


class VisibleRange:
    """Asks ``between(start, end, every=...)`` for what a reader sees. The newest request wins.

    Parameters
    ----------
    query : Stream
        A function of time over logs.
    columns : ColumnRoles
        Those of its result.
    style : Style
    change : callable
        Calls what shows a range, at once or later, where the page may be changed.
    """

    def __init__(self, query: Stream, columns: ColumnRoles, style: Style, change: Change) -> None:
        self._query, self.columns, self._style, self._change = query, columns, style, change
        self._requests: NewestRequest[_Request] = NewestRequest(self._answer)

    def ask(self, x: Extent, width_px: int, show: ShowRange) -> None:
        """Evaluate a range of the axis that is so many pixels wide. `show` is called once for each precision."""
        self._requests.ask(_Request(x, width_px, show))

    def forget(self) -> None:
        """Nothing that was asked is shown any more."""
        self._requests.forget()

    def _answer(self, request: _Request) -> None:
        for query in self.queries(request.x, request.width_px):
            try:
                table = query.collect()
            except WhimbrelError:
                return  # the lines of the whole run stay
            if not self._requests.wanted(request):
                return
            drawn = lines_of_range(Result(table, (len(table),)), self.columns, self._style)
            if drawn is not None:
                self._change(partial(self._show, request, drawn))

    def _show(self, request: _Request, drawn: Lines) -> None:
        if self._requests.wanted(request):
            request.show(request.x, drawn)

    def queries(self, x: Extent, width_px: int) -> Iterator[Stream]:
        """The range at each precision: multiples of a power of two of ticks, and at last the events themselves.

        Each coarser answer has some of the values of the next one.
        """
        kind = self._query.schema.time_type
        first, last = tick_at(x.low, kind), tick_at(x.high, kind, last=True) + 1
        asked: list[int] = []
        for pixels in COARSER:
            every = 1 << max(0, ((last - first) * pixels // max(1, width_px)).bit_length() - 1)
            if every in asked:
                continue
            asked.append(every)
            if every == 1:
                yield self._query.between(first, last)
                return
            yield self._query.between(first, last, every=every)

