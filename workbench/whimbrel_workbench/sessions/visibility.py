"""Track whether a reader can see a view."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

Verdict = Literal["look", "rest", "wait", "end"]
"""What follows: draw; draw nothing while the run continues; pause the run; end it."""

_TIMEOUT_S: Final = 20.0
"""A page in sight speaks every three seconds, unless the machine is very busy."""

_BACKGROUND_TIMEOUT_S: Final = 150.0
"""Browsers let a page in the background speak once a minute."""

_WAITS_AFTER_S: Final = 10.0
_ENDS_AFTER_S: Final = 600.0


class Visibility:
    """What pages say of a view, at each place where it is shown, and what follows from their silence.

    Nobody has to say anything: a page that never does may show still pictures only, and gets them.

    Parameters
    ----------
    busy : callable
        Whether the kernel may be unable to hear the page.
    clock : callable
        Seconds that only grow.

    Examples
    --------
    >>> now = 0.0
    >>> attention = Visibility(lambda: False, lambda: now)
    >>> attention.verdict
    'look'
    >>> attention.receive("cell 1", "away")
    >>> attention.verdict
    'rest'
    >>> attention.receive("cell 2", "seen")
    >>> attention.verdict
    'look'
    >>> now = 1000.0
    >>> attention.verdict
    'end'
    """

    def __init__(self, busy: Callable[[], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self._busy, self._clock = busy, clock
        self._said: dict[str, _Said] = {}
        self._hears_while_busy = False
        self._asked_s = clock()

    def receive(self, view: str, sign: str) -> None:
        """A page has said "seen", "away", "hidden" or "gone" of a place."""
        now, before = self._clock(), self._said.get(view)
        since = before.since_s if before is not None and before.sign == sign else now
        self._said[view] = _Said(sign, since, now)
        self._hears_while_busy |= self._busy()

    def forget(self, view: str) -> None:
        """A place is not there any more."""
        self._said.pop(view, None)

    @property
    def verdict(self) -> Verdict:
        """What follows now: what the place asks for at which most is seen."""
        now = self._clock()
        if self._busy() and not self._hears_while_busy:  # such time does not count
            deaf_s = now - self._asked_s
            self._said = {view: replace(said, last_s=min(said.last_s + deaf_s, now))
                          for view, said in self._said.items()}
        self._asked_s = now
        found = {said.verdict(now) for said in self._said.values()} or {"look"}
        return next(each for each in get_args(Verdict) if each in found)


@dataclass(frozen=True, slots=True)
class _Said:
    """What was said last of a place, since when, and when for the last time."""

    sign: str
    since_s: float
    last_s: float

    def verdict(self, now_s: float) -> Verdict:
        silent_s = now_s - self.last_s
        if self.sign == "gone" or silent_s > _ENDS_AFTER_S:
            return "end"
        if silent_s > (_TIMEOUT_S if self.sign == "seen" else _BACKGROUND_TIMEOUT_S):
            return "wait"
        if self.sign == "hidden":
            return "wait" if now_s - self.since_s > _WAITS_AFTER_S else "rest"
        return "look" if self.sign == "seen" else "rest"
