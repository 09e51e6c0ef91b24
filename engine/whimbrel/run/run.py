"""A query running on a thread of its own."""

from __future__ import annotations

import os
import threading
import time
import weakref
from concurrent.futures import Future
from typing import Literal

from whimbrel.batch import table_from_batches
from whimbrel.errors import CheckpointError, WhimbrelError
from whimbrel.plan import Node
from whimbrel.run.checkpoint import load, save
from whimbrel.run.metrics import Metrics, Snapshot
from whimbrel.run.session import Session

FilePath = str | os.PathLike[str]
State = Literal["running", "paused", "finished", "stopped", "failed"]

_IDLE_S = 0.05


class Run:
    """A handle on a running query. Letting go of it stops the query.

    Parameters
    ----------
    plan : Node
    keep_rows : int
        Settled result rows to keep; older ones are forgotten, and counted.
    restore : path, optional
        A checkpoint to go on from.

    Attributes
    ----------
    state : {"running", "paused", "finished", "stopped", "failed"}
    error : WhimbrelError or None
        What ended it, when it failed.
    """

    def __init__(self, plan: Node, *, keep_rows: int = 1_000_000, restore: FilePath | None = None) -> None:
        session = Session(plan, keep_rows=keep_rows)
        if restore is not None:
            load(session, restore)
        self._loop = _Loop(session)
        thread = threading.Thread(target=self._loop.serve, name="whimbrel-run", daemon=True)
        self._end = weakref.finalize(self, self._loop.stop, keep=False)
        thread.start()

    @property
    def state(self) -> State:
        return self._loop.state

    @property
    def error(self) -> WhimbrelError | None:
        return self._loop.error

    @property
    def version(self) -> int:
        """Grows whenever there is something new to show."""
        return self._loop.session.version

    @property
    def metrics(self) -> Metrics:
        """Counters, at most 50 ms old while it runs; costs nothing to ask."""
        return self._loop.metrics

    def snapshot(self, timeout: float = 1.0) -> Snapshot:
        """The answer now, computed by the run's own thread between two steps; after `timeout` seconds the last one.

        However often it is asked, looking takes no more than a quarter of the run's time.
        """
        return self._loop.snapshot(timeout)

    def checkpoint(self, path: FilePath) -> None:
        """Write down what is needed to go on later, with :func:`whimbrel.restore`.

        Arrow files in a folder, which appears when it is complete. What is settled by now is not part of it: those
        rows and the ones that the restored run gives make the whole answer.

        Parameters
        ----------
        path : str or path
            A folder; a checkpoint that is there is replaced.

        Raises
        ------
        CheckpointError
            When something else is there, or the run has failed.
        """
        self._loop.checkpoint(path)

    def pause(self) -> None:
        """Stop reading; the sources wait."""
        self._loop.pause()

    def resume(self) -> None:
        self._loop.resume()

    def stop(self, *, keep: bool = True) -> None:
        """Stop for good. `keep` what is settled, or drop it."""
        self._loop.stop(keep=keep)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; False if it did not come in time."""
        return self._loop.ended.wait(timeout)

    def __repr__(self) -> str:
        return f"<Run {self.state}>"


class _Loop:
    """What the thread runs. It does not know its handle, so that the handle can be let go."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state: State = "running"
        self.error: WhimbrelError | None = None
        self.ended = threading.Event()
        self._changed = threading.Condition()
        self._asked = 0
        self._answered = 0
        self._latest: Snapshot | None = None
        self._look_after = 0.0
        self._measured = 0.0
        self.metrics = session.metrics()
        self._stopping = False
        self._keep = True
        self._checkpoints: list[tuple[FilePath, Future[None]]] = []

    def serve(self) -> None:
        state: State = "failed"
        try:
            state = self._read()
        except WhimbrelError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - a bug must show in the view, not die with the thread
            self.error = WhimbrelError(f"{type(error).__name__}: {error}", hint="this is a fault of whimbrel itself")
            self.error.__cause__ = error
        finally:
            self.session.close()
            with self._changed:
                if not self._keep:
                    self.session.forget()
                self.session.version += 1
                self._latest = self._final()
                self.metrics = self._latest.metrics
                self.state = state
                self._answered = self._asked
                self._write_checkpoints()
                self._changed.notify_all()
            self.ended.set()

    def _final(self) -> Snapshot:
        """What is left to show: settled rows, and those that a stop or failure left unsettled."""
        session = self.session
        if self.error is None and self._keep:
            return session.snapshot()
        settled = session.settled()
        return Snapshot(settled, settled.num_rows, session.version, session.metrics(), final=False)

    def _read(self) -> State:
        while not self.session.finished:
            with self._changed:
                self._write_checkpoints()
                if self._stopping:
                    return "stopped"
                if self._asked > self._answered and time.perf_counter() >= self._look_after:
                    self._look()
                if self.state == "paused":
                    self._changed.wait(_IDLE_S)
                    continue
            self.session.step()
            if time.perf_counter() - self._measured > _IDLE_S:
                self.metrics = self.session.metrics()
                self._measured = time.perf_counter()
        return "finished"

    def _look(self) -> None:
        began = time.perf_counter()
        self._latest = self.session.snapshot()
        self.metrics = self._latest.metrics
        self._answered = self._asked
        self._changed.notify_all()
        now = time.perf_counter()
        self._look_after = now + 3 * (now - began)

    def checkpoint(self, path: FilePath) -> None:
        written: Future[None] = Future()
        with self._changed:
            self._checkpoints.append((path, written))
            if self.state not in ("running", "paused"):  # nobody else touches the session any more
                self._write_checkpoints()
            self._changed.notify_all()
        written.result()

    def _write_checkpoints(self) -> None:
        """Those that were asked for; whoever asked gets the error."""
        while self._checkpoints:
            path, written = self._checkpoints.pop()
            try:
                self._save(path)
            except Exception as error:  # noqa: BLE001 - a full disk ends the writing, not the run
                written.set_exception(error)
            else:
                written.set_result(None)

    def _save(self, path: FilePath) -> None:
        if self.error is not None:
            raise CheckpointError("The run has failed; there is nothing to go on from.",
                                  where=f"checkpoint({str(path)!r})", hint="run.error says why")
        save(self.session, path)

    def snapshot(self, timeout: float) -> Snapshot:
        with self._changed:
            self._asked += 1
            mine = self._asked
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._answered >= mine or self.ended.is_set(), timeout)
            return self._latest or Snapshot(table_from_batches(self.session.schema, []), 0, 0, Metrics(), final=False)

    def pause(self) -> None:
        with self._changed:
            if self.state == "running":
                self.state = "paused"

    def resume(self) -> None:
        with self._changed:
            if self.state == "paused":
                self.state = "running"
                self._changed.notify_all()

    def stop(self, *, keep: bool) -> None:
        with self._changed:
            self._keep = keep
            self._stopping = True
            self._changed.notify_all()
