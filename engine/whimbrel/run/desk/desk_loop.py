"""The thread of a desk."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from whimbrel.errors import WhimbrelError
from whimbrel.plan import Node
from whimbrel.run.checkpoint_coordinator import Checkpoints
from whimbrel.run.desk.desk_checkpoints import DeskCheckpoints
from whimbrel.run.desk.desk_session import DeskSession
from whimbrel.run.run_loop import as_whimbrel_error
from whimbrel.run.source_reader import CONNECT_TIMEOUT_S

_PAUSE_S = 0.002


class DeskLoop:
    """Steps a session, on the calling thread or on one of its own.

    Parameters
    ----------
    sources : sequence of Node
    keep_rows : int
        Settled result rows to keep per query.
    checkpoints : Checkpoints, optional

    Attributes
    ----------
    session : DeskSession
        Touched by :meth:`do` only.
    saved : DeskCheckpoints or None
    error : WhimbrelError or None
        The error of a source, which ends all queries.
    """

    def __init__(self, sources: Sequence[Node], keep_rows: int, checkpoints: Checkpoints | None) -> None:
        self.session = DeskSession(sources, keep_rows, self.do)
        self.saved = None if checkpoints is None else DeskCheckpoints(checkpoints)
        if self.saved is not None:
            self.session.records_arrivals = True
            self.saved.open(self.session)
        self.error: WhimbrelError | None = None
        self.stopped = False
        self._thread: threading.Thread | None = None
        self._todo: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._changed = threading.Condition(threading.RLock())
        self._stopping = self._begun = False

    def do(self, work: Callable[[], Any]) -> Any:
        """Do something between two steps, and give its result."""
        if threading.current_thread() is self._thread:
            return work()
        with self._changed:
            if self._thread is None:
                return work()
            done: Future[Any] = Future()
            self._todo.append((work, done))
            self.session.reader.ring()
        return done.result()

    @property
    def running(self) -> bool:
        """Whether a thread of its own reads."""
        return self._thread is not None

    def start(self) -> None:
        """Read on a thread of its own."""
        with self._changed:
            self._begin()
            if self._thread is None and not self.stopped:
                self._stopping = False
                self.session.reader.connect_timeout_s = None
                self._thread = threading.Thread(target=self._serve, name="whimbrel-desk", daemon=True)
                self._thread.start()

    def run(self, rows: int | None) -> None:
        """Read on this thread, to the end or until so many more rows were read. Other threads are answered."""
        with self._changed:
            self._begin()
            self._stopping = False
            self.session.reader.connect_timeout_s = CONNECT_TIMEOUT_S
            self._thread = threading.current_thread()
            until = None if rows is None else self.session.reader.rows + rows
        try:
            self._serve(until)
        except BaseException:
            self._leave()
            raise
        if self.error is not None:
            raise self.error

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            if self.saved is not None:
                self.saved.begin(self.session)
            self.session.begin()

    def _step(self) -> None:
        if not self.session.step():
            time.sleep(_PAUSE_S)
        if self.saved is not None:
            self.saved.write_when_due(self.session)
            self.saved.record_arrivals(self.session)
        else:
            self.session.sinks.commit_when_due()

    def _serve(self, until: int | None = None) -> None:
        try:
            while self._continues(until):
                self._step()
            if self.session.finished:
                self.session.begin()  # queries that were added after the end have ended, too
            self._commit()
        except Exception as error:  # noqa: BLE001 - it must show, not die with the thread
            with self._changed:
                self._fail(error)
        self._leave()

    def _commit(self) -> None:
        """Show readers of sinks all rows that are settled.

        At the end of the sources it waits for servers. Before, checkpoints are written when they are due only.
        """
        sinks, finished = self.session.sinks, self.session.finished
        if self._stopping or not len(sinks):
            return
        if self.saved is None:
            if finished or sinks.ready:
                sinks.commit(sinks.prepare())
        elif finished:
            self.saved.write(self.session)
        if finished:
            sinks.close()

    def _leave(self) -> None:
        """No thread reads any more."""
        with self._changed:
            self._answer()
            self._thread = None
            self._changed.notify_all()

    def _continues(self, until: int | None) -> bool:
        with self._changed:
            self._answer()
            return (not self._stopping and not self.session.finished
                    and (until is None or self.session.reader.rows < until))

    def _answer(self) -> None:
        while self._todo:
            work, done = self._todo.popleft()
            try:
                done.set_result(work())
            except Exception as error:  # noqa: BLE001 - the caller gets it
                done.set_exception(error)

    def _fail(self, error: Exception) -> None:
        self.error = as_whimbrel_error(error)
        self.session.fail(self.error)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the thread has ended; False if it has not in time."""
        with self._changed:
            ended = self._changed.wait_for(lambda: self._thread is None, timeout)
        if ended and self.error is not None:
            raise self.error
        return ended

    def stop(self) -> None:
        """Read no more, write the last checkpoint, and let go of the sources."""
        with self._changed:
            self._stopping = True
            self.session.sinks.stop()
            if self._thread is not None:
                self.session.reader.ring()
                self._changed.wait_for(lambda: self._thread is None)
            if self.stopped:
                return
            self.stopped = True
            try:
                if self.error is None and self.session.began:
                    self.session.complete()
                    if self.saved is not None:
                        self.saved.write(self.session, last=True)
                    else:
                        self.session.sinks.commit(self.session.sinks.prepare())
            finally:
                self.session.close()
                if self.saved is not None:
                    self.saved.close()

    def abandon(self) -> None:
        """Let go of everything, and write nothing: as a process that is killed."""
        with self._changed:
            self._stopping = self.stopped = True
            self._changed.wait_for(lambda: self._thread is None)
            self.session.close()
            if self.saved is not None:
                self.saved.close()
