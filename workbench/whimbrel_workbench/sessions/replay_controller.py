"""Control the clock of the replays of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from whimbrel.clock import Instant
from whimbrel_workbench.frames import Playback
from whimbrel_workbench.frames.status import State

if TYPE_CHECKING:
    from whimbrel import ReplayClock
    from whimbrel.clock import Duration
    from whimbrel.run import Run
    from whimbrel_workbench.sessions.latency_run import LatencyRun
    from whimbrel_workbench.sessions.progressive_run import ProgressiveRun


def _at_once(gesture: Callable[[], None]) -> None:
    gesture()


class ReplayController:
    """Plays, holds, steps, hurries and sets the clock of whatever run is shown; without a replay it does nothing.

    Moving the clock also resumes a paused run: a reader who presses play wants to see something.

    Parameters
    ----------
    run : callable
        The run that is shown now, if there is one.
    refresh : callable
        Called when something was done.
    do : callable
        Does what the reader wants: at once, unless somebody else has to.
    """

    def __init__(self, run: Callable[[], Run | LatencyRun | ProgressiveRun | None], refresh: Callable[[], None],
                 do: Callable[[Callable[[], None]], object] = _at_once) -> None:
        self._run = run
        self._refresh = refresh
        self._do = do

    def play(self) -> None:
        """Let time pass; from the start again, if it has come to its end."""
        run = self._run()
        if run is not None and run.clock is not None and run.clock.state == "ended":
            self.begin()
        else:
            self._control(lambda clock: clock.resume())

    def begin(self) -> None:
        """Go to the first row and play."""
        def begin(clock: ReplayClock) -> None:
            if (first := clock.range[0]) is not None:
                clock.seek(first)
            clock.resume()

        self._control(begin)

    def hold(self) -> None:
        """Let time stand still, in all views on the clock."""
        self._control(lambda clock: clock.pause())

    def step(self, by: Duration) -> None:
        """Advance by one step and pause."""
        self._control(lambda clock: clock.step(by))

    def hurry(self, speed: float) -> None:
        """Let time pass at another speed."""
        def hurry(clock: ReplayClock) -> None:
            clock.speed = speed

        self._control(hurry)

    def seek(self, to: Instant) -> None:
        """Go to an instant."""
        self._control(lambda clock: clock.seek(to))

    def _control(self, gesture: Callable[[ReplayClock], None]) -> None:
        self._do(lambda: self._control_now(gesture))

    def _control_now(self, gesture: Callable[[ReplayClock], None]) -> None:
        run = self._run()
        if run is None or run.clock is None:
            return
        if run.state == "paused":
            run.clock.pause()
            run.resume()
        gesture(run.clock)
        self._refresh()


def playback_of(clock: ReplayClock | None, state: State) -> Playback | None:
    """What a clock says now to a run in this state: one that was stopped does not follow it, others still may."""
    if clock is None:
        return None
    # A run that is only slow reads on by itself: nobody has to press play for it.
    going = "playing" if clock.state == "waiting" and state == "running" else clock.state
    followed = state not in ("stopped", "failed") or len(clock.followers) > 0
    return Playback(going, clock.now, *clock.range, clock.fraction, clock.speed, followed)
