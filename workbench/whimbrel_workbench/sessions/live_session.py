"""Turn one run of a query into frames, newest first."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from whimbrel.errors import WhimbrelError
from whimbrel.progressive import ProgressiveQuery
from whimbrel.run import Run
from whimbrel.stream import LatencyBands, Stream, asked_at
from whimbrel_workbench.frames import (
    ColumnRoles,
    Failure,
    Frame,
    Options,
    Picture,
    Playback,
    Quality,
    Result,
    Status,
    Style,
)
from whimbrel_workbench.frames.change_tracking import LINGER_S
from whimbrel_workbench.frames.events import LineageEvents
from whimbrel_workbench.frames.mark import Mark, row_of
from whimbrel_workbench.frames.options import check_redraws
from whimbrel_workbench.frames.trigger import SignalPicture
from whimbrel_workbench.sessions.dropped_samples import UnreadSamples
from whimbrel_workbench.sessions.latency_run import LatencyRun
from whimbrel_workbench.sessions.lateness import latencies_of
from whimbrel_workbench.sessions.lineage import source_events
from whimbrel_workbench.sessions.mark_query import LAYER, MarkQuery
from whimbrel_workbench.sessions.progressive_run import ProgressiveRun
from whimbrel_workbench.sessions.replay_controller import ReplayController, playback_of
from whimbrel_workbench.sessions.result_shape import columns_and_keys, frame_builder
from whimbrel_workbench.sessions.run_status import failure_of, progressive_status_of, status_of
from whimbrel_workbench.sessions.shared_clocks import SharedClocks
from whimbrel_workbench.sessions.start_queries import start_together
from whimbrel_workbench.sessions.time_span_check import several_times

if TYPE_CHECKING:
    from whimbrel.run import Metrics, Snapshot
    from whimbrel_workbench.frames.status import State

AnyRun = Run | LatencyRun | ProgressiveRun

_FIRST_PICTURE_WAIT_S: Final = 0.05
_DECIDED_WITHIN_S: Final = 0.3
"""So long the first rows of a run are waited on to show of how many times they speak, before the plan decides."""
_LOG: Final = logging.getLogger("whimbrel.view")
_UNDRAWABLE_HINT: Final = 'The run continues. Choose another kind of view, such as view(kind="table").'
_KEPT_ROWS: Final = 1_000_000
_KEPT_POINTS: Final = 10_000_000
_READY_WAIT_S: Final = 0.005
_FEEDBACK_S: Final = 0.1
_LONGEST_AWAIT_S: Final = 0.1
ENDED: Final = ("finished", "stopped", "failed")


class LiveSession:
    """Starts a query, polls its run a few times per second, and hands on a frame whenever something changed.

    Polling has a thread of its own, so that a busy kernel neither stops the view nor waits for it.

    Parameters
    ----------
    stream : Stream or LatencyBands
        The query, maybe at several latencies.
    options : Options
        What the user asked of the view.
    on_frame : callable
        Called with every new :class:`~whimbrel_workbench.frames.Frame`, one call at a time. Says whether the frame
        was shown; a frame that was not is offered again.
    redraws_per_s : float
        Maximum number of frames per second.
    ready : callable
        Whether the next frame would be shown at once. While it would not, nothing is drawn: the newest wins.
    on_turn : callable
        Called before each update, and instead of it while the session is not watched.
    progressive : ProgressiveQuery, optional
        The progressive query to read instead of running the query.
    clocks : SharedClocks, optional
        The clocks of the other runs.

    Attributes
    ----------
    progressive : ProgressiveQuery, optional
        The one that is read, after a restart another one.
    written : Stream or LatencyBands
        The query at its own latencies.
    """

    def __init__(self, stream: Stream | LatencyBands, options: Options, on_frame: Callable[[Frame], bool], *,
                 redraws_per_s: float = 3.0, ready: Callable[[], bool] = lambda: True,
                 on_turn: Callable[[], None] = lambda: None, progressive: ProgressiveQuery | None = None,
                 clocks: SharedClocks | None = None) -> None:
        check_redraws(redraws_per_s)
        self.progressive = progressive
        self._clocks = clocks or SharedClocks()
        self.written = self._stream = stream
        self._schema, self._keys = columns_and_keys(stream)
        self._framer = frame_builder(stream, options)
        self._framer.columns(self._schema)
        self._on_frame, self._ready, self._on_turn = on_frame, ready, on_turn
        self._pause_s = 1.0 / redraws_per_s
        self._closed = threading.Event()
        self._updater: threading.Thread | None = None
        self._watched = threading.Event()
        self._watched.set()
        self._run: AnyRun | None = None
        self._marks, self._unread = MarkQuery(options.events), UnreadSamples(self.refresh)
        self._refused: Failure | None = None
        self._picture: Picture | None = None
        self._result: Result | None = None
        self._rows_since_s: float | None = None
        self._seen: tuple[int, str] | None = None
        self._fades_s = math.inf
        self._status: Status | None = None
        self._quality: Quality | None = None
        self._unsaid = ""
        self.between_frames = threading.RLock()
        self.player = ReplayController(lambda: self._run, self.refresh)

    @property
    def run(self) -> AnyRun | None:
        """The run that is shown, if the query could be started."""
        return self._run

    @property
    def picture(self) -> Picture | None:
        """What was drawn last."""
        return self._picture

    @property
    def quality(self) -> Quality | None:
        """The quality of the estimate that was drawn last; None for other queries."""
        return self._quality

    @property
    def columns(self) -> ColumnRoles:
        """The roles of the answer's columns."""
        return self._framer.columns(self._schema)

    @property
    def keep_rows(self) -> int:
        """How many settled rows a run keeps for this view."""
        return self.options.keep_rows or (_KEPT_POINTS if self.draws_points or self._framer.sampling else _KEPT_ROWS)

    def row_of(self, mark: Mark) -> pa.Table | None:
        """The row of the answer that a mark of the picture stands for, if it is still there."""
        with self.between_frames:
            if mark.layer == LAYER:
                return self._marks.row_of(mark)
            if self._result is None:
                return None
            place = row_of(self._result, self._framer.columns(self._schema), mark)
            return None if place is None else self._result.table.slice(place, 1)

    def newest(self, rows: int) -> list[pa.Table]:
        """The newest rows of the answer as it was drawn last, the newest first."""
        table = None if self._result is None else self._result.table
        return [] if table is None else [table.slice(place, 1) for place in range(len(table))[:-rows - 1:-1]]

    def lineage(self, row: pa.Table) -> LineageEvents:
        """The source events of a row. Reads the sources again, on the calling thread."""
        run, stream = self._run, self._stream
        assert isinstance(run, LatencyRun | Run), "there is no row without a run"
        found = self._marks.lineage(row)
        if found is not None:
            return found
        query = stream if isinstance(stream, Stream) else stream.query
        return source_events(query, run.last if isinstance(run, LatencyRun) else run, row)

    def start(self, instead_of: Collection[AnyRun] = ()) -> None:
        """Start the query and the updates, possibly instead of other runs. An error of the query becomes a frame.

        The run shares the clock of other runs of the same replay.
        """
        if self.progressive is not None:
            self.progressive = self.progressive if self._run is None else self.progressive.restart()
            self.follow(ProgressiveRun(self.progressive, self._schema, self._keys))
            return
        try:
            stream = self._stream = self._clocks.joined(self._stream, instead_of)
            keep = self.keep_rows
            others = [self._clocks.joined(query, instead_of) for query in self.mark_queries]
            run, *mark_runs = start_together([stream, *others], keep)
            for query, started in zip((self.written, *self.mark_queries), (run, *mark_runs), strict=True):
                self._clocks.going(query, started)
            self.follow(run, *mark_runs)
        except WhimbrelError as error:
            self.follow(error)

    @property
    def mark_queries(self) -> tuple[Stream, ...]:
        """Queries whose events are drawn over the result, which start together with it."""
        return self._marks.queries

    def follow(self, run: AnyRun | WhimbrelError, *mark_runs: AnyRun) -> None:
        """Look at a run of the query that was started elsewhere, or say why it could not be.

        Parameters
        ----------
        run : Run, LatencyRun, ProgressiveRun or WhimbrelError
        *mark_runs : Run
            The runs of :attr:`mark_queries`.
        """
        self._closed = threading.Event()
        with self.between_frames:
            self._framer.forget()
            self._run, self._refused, self._picture, self._result, self._seen = None, None, None, None, None
            self._quality, self._rows_since_s = None, None
            self._marks.follow(mark_runs)
            if isinstance(run, WhimbrelError):
                self._refused = failure_of(run)
            else:
                self._run = run
            if self._run is None or self._watched.is_set():
                self.refresh()
        if self._run is not None:
            self._start_updates()

    @property
    def watched(self) -> bool:
        """Whether it looks."""
        return self._watched.is_set()

    def watch(self, watched: bool) -> None:
        """Start or stop the updates; without them the run continues, and nobody sees frames."""
        if watched:
            self._watched.set()
        else:
            self._watched.clear()

    def restart(self) -> None:
        """End the run and start the query again; a clock that both runs share goes back to its start."""
        before = self._run
        self.close()
        self.start()
        if before is not None and self._run is not None and before.clock is self._run.clock:
            self.player.begin()

    def ask(self, latencies: Sequence[int]) -> None:
        """Start the query again at other reorder latencies, in ascending ticks. A replay stays where it is."""
        self.close()
        self.at_latencies(latencies)
        self.start()

    def at_latencies(self, latencies: Sequence[int]) -> Stream | LatencyBands:
        """The query at other latencies, of which the next run will be; one that has a single answer takes the last."""
        clock = None if self._run is None else self._run.clock
        several = latencies if isinstance(self.written, LatencyBands) else latencies[-1:]
        self._stream = asked_at(self.written, several, clock)
        return self._stream

    @property
    def asked(self) -> tuple[int, ...]:
        """The reorder latencies at which the query is asked, in ticks; none where rows are all waited for."""
        return latencies_of(self._stream)

    def close(self) -> None:
        """End the run and the looking; what was drawn stays drawn."""
        self._closed.set()
        self._clocks.left(self._run, self._marks.run)
        self._marks.stop(keep=True)
        if self._run is not None and self._run.state not in ENDED:
            self._run.stop(keep=True)

    def pause(self) -> None:
        self._control(lambda run: run.pause())

    def resume(self) -> None:
        self._control(lambda run: run.resume())
        self.player.play()

    def stop(self, *, keep: bool) -> None:
        def stop(run: AnyRun) -> None:
            run.stop(keep=keep)
            with suppress(WhimbrelError):  # the view says so
                run.wait(_FEEDBACK_S)

        self._marks.stop(keep=keep)
        self._control(stop)

    def refine(self, gesture: Callable[[ProgressiveRun], object]) -> None:
        """Control the progressive query, or pin its estimate; updates start again if they had ended."""
        run = self._run
        if not isinstance(run, ProgressiveRun):
            return
        gesture(run)
        self.refresh()
        if run.state not in ENDED and (self._updater is None or not self._updater.is_alive()):
            self._start_updates()

    def prioritize(self, mark: Mark) -> None:
        """Let what a mark stands for be read first, or a stretch of time."""
        first, last = mark.at, mark.to
        if first is not None and last is not None:
            self.refine(lambda run: run.prioritize_range(first, last))
        elif (row := self.row_of(mark)) is not None:
            self.refine(lambda run: run.prioritize_row(row))

    def choose_value(self, name: str) -> None:
        """Put another column on the value axis, at once."""
        with self.between_frames:
            self._framer.choose_value(name)
            self.refresh()

    def fit(self) -> None:
        """Let the axes fit what is there now."""
        with self.between_frames:
            self._framer.fit()
            self.refresh()

    def resort(self) -> None:
        """Put bars and rows into the order that is right now."""
        with self.between_frames:
            self._framer.resort()
            self.refresh()

    @property
    def options(self) -> Options:
        """What is asked of the view."""
        return self._framer.options

    @property
    def draws_points(self) -> bool:
        """Whether every row is a point of its own."""
        return self._framer.drawn_as_points(self._schema)

    @property
    def of_samples(self) -> bool:
        """Whether the result is drawn as a signal."""
        return self._framer.of_samples

    def style(self, style: Style) -> None:
        """Let it look otherwise."""
        with self.between_frames:
            self._framer.style(style)
            if self._run is not None:
                self.refresh()

    def await_picture(self, max_s: float) -> None:
        """Wait a moment for the first picture, unless there will be none.

        A replay is not awaited. A chart of a saved page counts as visible, so its run would continue after its tab was
        closed.
        """
        if self._run is not None and self._run.clock is not None:
            return
        until_s = time.monotonic() + max_s
        while self._picture is None and not self._closed.wait(_READY_WAIT_S) and time.monotonic() < until_s:
            if self._run is None or self._run.state in ENDED:
                self.refresh()
                return

    def refresh(self) -> None:
        """Hand on the present frame, new or not."""
        self.update(anyway=True)

    def present(self) -> Frame:
        """The present frame, whether anybody looks or not."""
        with self.between_frames:
            self.refresh()
            return self._present

    def update(self, *, anyway: bool = False) -> bool:
        """Hand on a frame if there is something new; False once there will be nothing new any more."""
        with self.between_frames:
            if self._run is None:
                return not self._on_frame(self._frame(0, Status("failed", None, (), self._refused)))
            try:
                return self._update_from(self._run, anyway=anyway)
            except Exception as error:  # noqa: BLE001 - a bug must show in the view, not freeze it
                failure = Failure(type(error).__name__, f"Cannot draw this result: {error}", hint=_UNDRAWABLE_HINT)
                self._picture = None
                return self._say(failure)

    def _say(self, failure: Failure) -> bool:
        """Hand on what is wrong, and look on where that cannot be drawn either: the next frame may be."""
        try:
            return not self._on_frame(self._frame(0, Status("failed", None, (), failure)))
        except Exception as error:  # noqa: BLE001 - a view that nobody can draw ends no looking
            if (reason := str(error)) != self._unsaid:
                self._unsaid = reason
                _LOG.exception("Cannot draw a view: %s", failure.what)
            return True

    def _update_from(self, run: AnyRun, *, anyway: bool) -> bool:
        now = run.version, run.state
        playback = playback_of(run.clock, run.state)
        if anyway or self._seen != now or self._marks.changed or time.monotonic() > self._fades_s:
            value = self._framer.columns(self._schema).value
            if isinstance(run, ProgressiveRun):
                (snapshot, result), self._quality = run.current_result(value), run.quality(value)
            else:
                snapshot, result = run.current_result() if isinstance(run, LatencyRun) else _current_result(run)
            # A failed run keeps what was drawn last, unless it has as much; its error belongs to no earlier state.
            failed = now[1] == "failed"
            marks = self._marks.read(lambda run: _current_result(run)[1])
            drawn = 0 if self._result is None or self._picture is None else len(self._result.table)
            if not failed or len(result.table) >= max(drawn, 1):
                self._picture = self._framer.picture(result, more=lambda: self._more(run, now[1]), marks=marks,
                                                     keep_rows=self.keep_rows)
                self._result = result
                self._unread.read(self._picture)
                if self._framer.undecided and not anyway:
                    return True
            self._status = self._marks.with_failure(_status(run, now[1], snapshot.metrics, playback))
            if self._on_frame(self._frame(snapshot.version, self._status)) and not self._framer.undecided:
                # Without new rows, also after the end, one more frame is drawn without change marks.
                if self._seen != now:
                    self._fades_s = time.monotonic() + LINGER_S
                elif time.monotonic() > self._fades_s:
                    self._fades_s = math.inf
                self._seen = now
                self._framer.seen(self._picture)
        elif self._status is not None:
            status = self._marks.with_failure(_status(run, now[1], run.metrics, playback))
            # Time advances, or a feed becomes idle or disconnects: the view must show it, though no row arrives.
            if status != self._status and self._on_frame(self._frame(now[0], status)):
                self._status = status
        lasting = now[1] not in ENDED or (now[1] == "finished" and playback is not None)
        return self._seen != now or lasting or self._fades_s < math.inf

    def _more(self, run: AnyRun, state: str) -> bool | None:
        """Whether rows at other times are to be expected where there is one time so far; None for a moment."""
        if state in ENDED:
            return False
        now_s = time.monotonic()
        self._rows_since_s = self._rows_since_s or now_s
        return None if now_s - self._rows_since_s < _DECIDED_WITHIN_S else several_times(self._stream, run.clock)

    def _frame(self, version: int, status: Status) -> Frame:
        undrawn = self._result is not None and self._picture is None and not self._framer.undecided
        self._present = Frame(version, self._picture, self._framer.columns(self._schema), status, repr(self._stream),
                              self._framer.options.style, self._quality,
                              len(self._result.table) if self._result and undrawn else 0)
        return self._present

    def _control(self, gesture: Callable[[AnyRun], None]) -> None:
        if self._run is not None:
            gesture(self._run)
            self.refresh()

    def _start_updates(self) -> None:
        self._updater = threading.Thread(target=self._update_until_closed, args=(self._closed,), name="whimbrel-view",
                                         daemon=True)
        self._updater.start()

    def _update_until_closed(self, closed: threading.Event) -> None:
        began_s = time.monotonic()
        while not closed.wait(self._wait_s(began_s)):
            self._on_turn()
            if not self._watched.is_set():
                self._keep_up()
                began_s = time.monotonic()
                continue
            if not self._ready():
                continue
            run, seen = self._run, self._seen
            if run is not None and seen is not None and run.state == seen[1] == "running":
                # Rows are drawn when they come, not when it is time to look again.
                run.snapshot(_LONGEST_AWAIT_S, after=seen[0])
            began_s = time.monotonic()
            if not self.update():
                return

    def _keep_up(self) -> None:
        """Take over samples while nobody looks, before the run evicts them."""
        if isinstance(self._picture, SignalPicture) and isinstance(self._run, Run):
            with self.between_frames, suppress(WhimbrelError):
                self._framer.picture(_current_result(self._run)[1], marks=self._marks.result, keep_rows=self.keep_rows)

    def _wait_s(self, began_s: float) -> float:
        """Time until the next update: a fixed rate, however long an update takes; often while a page is not ready."""
        pause_s = self._pause_s if self._picture is not None else _FIRST_PICTURE_WAIT_S
        return max(began_s + pause_s - time.monotonic(), _READY_WAIT_S)


def _status(run: AnyRun, state: State, metrics: Metrics, playback: Playback | None) -> Status:
    error = run.error if state == "failed" else None
    if isinstance(run, ProgressiveRun):
        return progressive_status_of(state, metrics, error, run.facts)
    return status_of(state, metrics, error, run.facts if isinstance(run, LatencyRun) else (), playback)


def _current_result(run: Run) -> tuple[Snapshot, Result]:
    shot = run.snapshot()
    return shot, Result(shot.table, (shot.settled,), forgotten=shot.metrics.evicted_rows, rearranged=shot.rearranged)
