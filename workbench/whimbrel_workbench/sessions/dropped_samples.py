"""Read ranges of samples from their sources again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from whimbrel_workbench.frames import Picture, ScopeFrame
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.format_times import tick_at
from whimbrel_workbench.frames.signal_store import SignalStore
from whimbrel_workbench.frames.trigger import SignalPicture
from whimbrel_workbench.sessions.newest_request import NewestRequest

_SHOWN_EVERY_S: Final = 0.5
_BEYOND: Final = 0.25
"""Of the visible range: so much is read on each side of it."""


@dataclass(frozen=True)
class _Request:
    picture: ScopeFrame
    x: Extent
    show: Callable[[], None]


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

    def read(self, picture: ScopeFrame, x: Extent, show: Callable[[], None]) -> None:
        """Read a range of the axis, and a part of it on each side. `show` is called once the samples are there."""
        beyond = _BEYOND * (x.high - x.low)
        self._requests.ask(_Request(picture, Extent(x.low - beyond, x.high + beyond), show))

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
