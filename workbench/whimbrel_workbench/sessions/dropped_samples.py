"""Read ranges of samples from their sources again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from whimbrel_workbench.frames import Picture, ScopeFrame
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.format_times import tick_at
from whimbrel_workbench.frames.result import Floats
from whimbrel_workbench.frames.signal_store import SignalStore
from whimbrel_workbench.frames.trigger import SignalPicture
from whimbrel_workbench.sessions.newest_request import NewestRequest

_SHOWN_EVERY_S: Final = 0.5
_BEYOND: Final = 0.25
"""Of the visible range: so much is read on each side of it."""


_PORTION: Final = 1 << 16
"""Ranges within so many samples are read at once."""


@dataclass(frozen=True)
class _Request:
    picture: ScopeFrame
    x: Extent
    show: Callable[[], None]


@dataclass(frozen=True)
class _Frames:
    picture: ScopeFrame
    ranges: Sequence[tuple[int, int]]
    take: Callable[[Mapping[int, Floats]], None]


class DroppedSamples:
    """Reads samples whose values are no longer in memory, where a reader of one page looks. The newest range wins.

    Parameters
    ----------
    change : callable
        Calls what shows them, at once or later, where the page may be changed.
    """

    def __init__(self, change: Callable[[Callable[[], None]], object]) -> None:
        self._change = change
        self._requests: NewestRequest[_Request] = NewestRequest(self._answer)
        self._frames: NewestRequest[_Frames] = NewestRequest(self._read_frames)

    def read(self, picture: ScopeFrame, x: Extent, show: Callable[[], None]) -> None:
        """Read a range of the axis, and a part of it on each side. `show` is called once the samples are there."""
        beyond = _BEYOND * (x.high - x.low)
        self._requests.ask(_Request(picture, Extent(x.low - beyond, x.high + beyond), show))

    def read_frames(self, picture: ScopeFrame, ranges: Sequence[tuple[int, int]],
                    take: Callable[[Mapping[int, Floats]], None]) -> None:
        """Read short ranges of the first channel, those far apart first. `take` is called with some at a time."""
        self._frames.ask(_Frames(picture, ranges, take))

    def _read_frames(self, request: _Frames) -> None:
        channel, store = request.picture.channels[0], request.picture.store
        found: dict[int, Floats] = {}
        shown_s = time.monotonic()
        for portion in _far_apart(_portions(request.ranges)):
            first, stop = portion[0][0], portion[-1][1]
            if not self._frames.wanted(request):
                return
            values = store.read_values((channel.key, channel.column), first, stop)
            if values is None:
                return
            found |= {begin: values[begin - first:end - first] for begin, end in portion}
            if time.monotonic() > shown_s + _SHOWN_EVERY_S:
                self._change(partial(request.take, found))
                found, shown_s = {}, time.monotonic()
        self._change(partial(request.take, found))
        self._frames.done(request)

    def _answer(self, request: _Request) -> None:
        store, kind = request.picture.store, request.picture.channels[0].axis.kind
        if store.read is None:
            return
        first, last = tick_at(request.x.low, kind), tick_at(request.x.high, kind, last=True)
        table = store.read(first, last + 1)
        if table is not None and self._requests.wanted(request):
            store.restore(table, first, last)
            self._change(partial(self._show, request))

    def _show(self, request: _Request) -> None:
        if self._requests.wanted(request):
            request.show()


class UnreadSamples:
    """Reads samples that a run evicted before its view took them over.

    Parameters
    ----------
    filled : callable
        Called on another thread when there are more samples.
    """

    def __init__(self, filled: Callable[[], object]) -> None:
        self._filled = filled
        self._stores: NewestRequest[SignalStore] = NewestRequest(self._fill)

    def read(self, picture: Picture | None) -> None:
        """Read what a picture lacks."""
        scope = picture if isinstance(picture, ScopeFrame) else picture.scope if isinstance(
            picture, SignalPicture) else None
        if scope is not None and scope.store.holes and not self._stores.wanted(scope.store):
            self._stores.ask(scope.store)

    def _fill(self, store: SignalStore) -> None:
        shown_s = time.monotonic()
        while self._stores.wanted(store) and store.fill():
            if time.monotonic() > shown_s + _SHOWN_EVERY_S:
                self._filled()
                shown_s = time.monotonic()
        self._stores.done(store)
        self._filled()


def _portions(ranges: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Ranges in order, those close together in one list."""
    portions: list[list[tuple[int, int]]] = []
    for first, stop in ranges:
        if portions and stop - portions[-1][0][0] <= _PORTION:
            portions[-1].append((first, stop))
        else:
            portions.append([(first, stop)])
    return portions


def _far_apart(portions: list[list[tuple[int, int]]]) -> Iterator[list[tuple[int, int]]]:
    """Each sixteenth, then each fourth of the others, then the rest."""
    for step, before in ((16, 0), (4, 16), (1, 4)):
        yield from (portion for number, portion in enumerate(portions[::step])
                    if not before or number * step % before)
