"""The thread of a run: read, take snapshots, write checkpoints."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from typing import Literal

from whimbrel.batch import table_from_batches
from whimbrel.errors import CheckpointError, SourceError, WhimbrelError
from whimbrel.run.checkpoint import save
from whimbrel.run.checkpoint_coordinator import CheckpointCoordinator
from whimbrel.run.execution import Execution
from whimbrel.run.metrics import Metrics, Snapshot
from whimbrel.run.query_result import Answer

FilePath = str | os.PathLike[str]
State = Literal["running", "paused", "finished", "stopped", "failed"]

_IDLE_S, _PAUSE_S = 0.05, 0.002


class QueryHandle:
    """The state of one query for other threads."""

    def __init__(self, number: int, answer: Answer) -> None:
        self.number = number
        self.answer = answer
        self.state: State = "running"
        self.error: WhimbrelError | None = None
        self.ended = threading.Event()
        self.metrics: Metrics = answer.metrics()
        self.latest: Snapshot | None = None
        self.asked = self.answered = 0
        self.awaited: int | None = None
        self.stopping = False
        self.keep = True

    @property
    def going(self) -> bool:
        return self.state in ("running", "paused")

    @property
    def seen(self) -> int:
        """The version of the last snapshot; -1 before there is one."""
        return -1 if self.latest is None else self.latest.version

    @property
    def is_asked(self) -> bool:
        """Whether a caller waits for a snapshot that can be taken now."""
        return self.asked > self.answered or (self.awaited is not None and self.answer.version > self.awaited)


class Loop:
    """What the thread runs. It does not know its handles, so that they can be let go."""

    def __init__(self, session: Execution, coordinator: CheckpointCoordinator | None = None) -> None:
        self.session = session
        self.coordinator = coordinator
        self.shown = [QueryHandle(number, answer) for number, answer in enumerate(session.answers)]
        self._error: WhimbrelError | None = None
        for number in session.left:
            self._end(self.shown[number], "stopped")
        self._over = self._drains = False
        self._changed = threading.Condition()
        self._look_after = 0.0
        self._measured, self._unmeasured = 0.0, True
        self._seeks = 0
        self._checkpoints: list[tuple[FilePath, Future[None]]] = []
        if session.clock is not None:
            session.clock.rewindable.add(self)

    def begin(self) -> None:
        """Serve on a thread of its own."""
        threading.Thread(target=self.serve, name="whimbrel-run", daemon=True).start()

    def sought(self) -> None:
        """The clock of the replays was set: a finished run resumes if the time is in its past."""
        with self._changed:
            if self._over and self.session.must_rewind and not all(shown.stopping for shown in self._ended()):
                self._over = False
                self._revive()
                self.session.reader.rejoin()
                self.begin()
            self._call()

    def _call(self) -> None:
        """Wake the thread, which may be waiting for a feed."""
        self._changed.notify_all()
        self.session.reader.ring()

    def _ended(self) -> list[QueryHandle]:
        return [shown for shown in self.shown if shown.state == "finished"]

    def _revive(self) -> None:
        """Resume finished queries."""
        for shown in self._ended():
            if not shown.stopping:
                shown.state = "running"
                shown.ended.clear()

    def serve(self) -> None:
        state: State = "failed"
        try:
            state = self._read()
            self._keep_last()
        except Exception as error:  # noqa: BLE001 - a bug must show in the view, not die with the thread
            self._error = as_whimbrel_error(error)
        finally:
            state = state if self._error is None else "failed"
            self.session.close()
            if self.coordinator is not None:
                self.coordinator.close()
            with self._changed:
                for shown in self._going():
                    self._end(shown, state)
                self._over = True
                if not self._ended():
                    self.session.marks = None
                self._write_checkpoints()
                self._changed.notify_all()

    def _going(self) -> list[QueryHandle]:
        return [shown for shown in self.shown if shown.going]

    def _end(self, shown: QueryHandle, state: State, error: WhimbrelError | None = None) -> None:
        """End a query: its last snapshot has settled rows, and unsettled ones of a stop or a broken source."""
        answer = shown.answer
        answer.end()
        if not shown.keep:
            answer.forget()
        answer.version += 1
        unread = error is None and isinstance(self._error, SourceError)  # its query is as good as that of a stop
        if (state != "failed" or unread) and shown.keep and shown.number not in self.session.left:
            shown.latest, = self.session.snapshots([shown.number])
        else:
            settled = answer.settled()
            shown.latest = Snapshot(settled, settled.num_rows, answer.version, answer.metrics(), final=False)
        shown.metrics = shown.latest.metrics
        shown.error = (error or self._error) if state == "failed" else None
        shown.state = state
        shown.answered = shown.asked
        shown.ended.set()

    def _read(self) -> State:
        while True:
            if all(shown.state != "paused" for shown in self._going()):
                self._follow_clock()
            if self.session.finished:
                return "finished"
            with self._changed:
                if self._checkpoints:
                    self._complete()
                self._write_checkpoints()
                self._end_some()
                going = self._going()
                if all(shown.stopping for shown in going):
                    return "stopped"
                if time.perf_counter() >= self._look_after:
                    self._look([shown for shown in going if shown.is_asked])
                paused = any(shown.state == "paused" for shown in going)
                if self._unmeasured and (paused or self._clock_stands):
                    self._measure(going)
                if paused:
                    self._changed.wait(_IDLE_S)
                    continue
            outs = self.session.step()
            if self.coordinator is not None:
                self.coordinator.take(self.session, outs)
            self._end_failed()
            self._unmeasured = self._unmeasured or outs is not None
            since_s = time.perf_counter() - self._measured
            if since_s > _IDLE_S or (outs is None and self._unmeasured and since_s > _PAUSE_S):
                self._measure(going)

    def _follow_clock(self) -> None:
        """Go where the clock of the replays was set to, if it was."""
        clock = self.session.clock
        if clock is None or clock.seeks == self._seeks:
            return
        self._seeks, self._unmeasured = clock.seeks, True
        if self.session.follow_clock():
            self._revive()

    @property
    def _clock_stands(self) -> bool:
        """Whether nothing changes once all that has come is read: who waits for that finds it in the metrics."""
        return self.session.clock is not None and self.session.clock.paused

    def _measure(self, going: list[QueryHandle]) -> None:
        for shown in going:
            shown.metrics = shown.answer.metrics()
        self._measured, self._unmeasured = time.perf_counter(), False

    def _keep_last(self) -> None:
        """Process what feeds have received, and write the last checkpoint."""
        self._complete()
        if self.coordinator is None and not self._drains:
            return
        for outs in self.session.drain():
            if self.coordinator is not None:
                self.coordinator.take(self.session, outs)
        if self.coordinator is not None:
            self.coordinator.write(self.session, last=True)
            self._end_failed()
            if self.coordinator.failed is not None:
                raise self.coordinator.failed

    def _complete(self) -> None:
        """Rows that a feed gave at once are worked on to the last: its offset comes after them."""
        for outs in self.session.complete():
            if self.coordinator is not None:
                self.coordinator.take(self.session, outs)

    def _end_failed(self) -> None:
        """End failed queries, and queries with failed sinks, while others continue."""
        failures = {number: error for number, error in self.session.failures.items() if self.shown[number].going}
        if self.coordinator is not None:
            failures.update(self.coordinator.failures)
        with self._changed:
            for number, error in failures.items():
                if self.shown[number].state != "failed":
                    self._end(self.shown[number], "failed", as_whimbrel_error(error))
                    self.session.leave(number)
                    self._changed.notify_all()

    def _end_some(self) -> None:
        """End queries whose sources have ended, and stopped queries, while others continue."""
        going = self._going()
        if all(shown.stopping for shown in going):
            return
        for shown in going:
            if shown.state != "paused" and self.coordinator is not None and self.coordinator.waits(shown.number):
                continue  # its sink continues or fails
            if shown.answer.finished:
                self._end(shown, "finished")
            elif shown.stopping:
                self._end(shown, "stopped")
                self.session.leave(shown.number)
        self._changed.notify_all()

    def _look(self, asked: list[QueryHandle]) -> None:
        if not asked:
            return
        began = time.perf_counter()
        for shown, snapshot in zip(asked, self.session.snapshots([shown.number for shown in asked]), strict=True):
            shown.latest = snapshot
            shown.metrics = snapshot.metrics
            shown.answered = shown.asked
            shown.awaited = None
        self._changed.notify_all()
        now = time.perf_counter()
        self._look_after = now + 3 * (now - began)

    def checkpoint(self, path: FilePath) -> None:
        written: Future[None] = Future()
        with self._changed:
            self._checkpoints.append((path, written))
            if self._over:  # nobody else touches the session any more
                self._write_checkpoints()
            self._call()
        written.result()

    def _write_checkpoints(self) -> None:
        """Write the requested checkpoints; the caller gets the error."""
        while self._checkpoints:
            path, written = self._checkpoints.pop()
            try:
                self._save(path)
            except Exception as error:  # noqa: BLE001 - a full disk ends the writing, not the run
                written.set_exception(error)
            else:
                written.set_result(None)

    def _save(self, path: FilePath) -> None:
        if self._error is not None:
            raise CheckpointError("Cannot write a checkpoint because the run has failed.",
                                  where=f"checkpoint({str(path)!r})", hint="Read the cause in run.error.")
        save(self.session, path)

    def snapshot(self, shown: QueryHandle, timeout: float, after: int | None) -> Snapshot:
        with self._changed:
            if after is not None:
                shown.awaited = after if shown.awaited is None else min(after, shown.awaited)
                if shown.is_asked:
                    self._call()
                self._changed.wait_for(lambda: shown.ended.is_set() or shown.seen > after, timeout)
            elif shown.seen != shown.answer.version:
                shown.asked += 1
                mine = shown.asked
                self._call()
                self._changed.wait_for(lambda: shown.answered >= mine or shown.ended.is_set(), timeout)
            none = table_from_batches(shown.answer.schema, [])
            return shown.latest or Snapshot(none, 0, 0, Metrics(), final=False)

    def metrics(self, shown: QueryHandle) -> Metrics:
        """The last metrics, with the current error of the sink.

        The thread may be waiting for the sink.
        """
        last_error = "" if self.coordinator is None else self.coordinator.last_error(shown.number)
        return replace(shown.metrics, sink_error=last_error) if last_error else shown.metrics

    def pause(self, by: QueryHandle) -> None:
        self._switch(by, "running", "paused")

    def resume(self, by: QueryHandle) -> None:
        self._switch(by, "paused", "running")

    def _switch(self, by: QueryHandle, before: State, after: State) -> None:
        with self._changed:
            if by.state == before:
                for shown in self._going():
                    shown.state = after
                self._call()

    def stop(self, shown: QueryHandle, *, keep: bool) -> None:
        with self._changed:
            shown.keep = keep
            shown.stopping = True
            if self.coordinator is not None:
                self.coordinator.stop({each.number for each in self.shown if each.stopping or not each.going})
            if self._over:
                self.session.marks = None
            self._call()

    def drain(self) -> None:
        """Stop all, gracefully, and wait for the end."""
        with self._changed:
            self._drains = True
            for shown in self.shown:
                shown.stopping = True
            if self._over:
                self.session.marks = None
            self._call()
        for shown in self.shown:
            shown.ended.wait()


def as_whimbrel_error(error: Exception) -> WhimbrelError:
    """An error as one of this project: any other is a bug of it."""
    if isinstance(error, WhimbrelError):
        return error
    wrapped = WhimbrelError(f"{type(error).__name__}: {error}", hint="Report this error: it is a bug in whimbrel.")
    wrapped.__cause__ = error
    return wrapped
