"""Base class of sinks that buffer rows and reconnect to their server."""

from __future__ import annotations

import math
import threading
import time
from abc import abstractmethod
from collections import deque
from contextlib import suppress
from itertools import islice

import pyarrow as pa

from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.fatal_errors import fatal_reason
from whimbrel.connect.feeds.runtime.backoff import Backoff
from whimbrel.errors import SinkError
from whimbrel.plan.sink import Sink, Token

_FIRST_S, _MAX_S, _LOOK_S = 0.1, 5.0, 0.01
_MAX_ROWS, _TOGETHER = 100_000, 1_000
_ANSWER_S = 10.0
_HOLD_S, _GRACE_S, _CLOSE_S = 0.5, 5.0, 1.0


class BusyServerError(OSError):
    """A server that asks to be left alone for some seconds."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerSink(Sink):
    """A sink that reconnects to its server and sends rows again that were not acknowledged.

    A thread talks to the server, since most clients cannot be interrupted. It buffers rows until they are acknowledged,
    so an unavailable or hung server delays the query only after a hundred thousand rows.

    Rows may be sent twice after a reconnect or a crash, within the delivery guarantee of the sink. The sink also waits
    for a server that is unavailable at the start, unless its host name is unknown.

    Attributes
    ----------
    retry_timeout_s : float
        Time in seconds without acknowledged rows after which the query fails.
    kind : str
        Name of the function in ``wb.sinks``.
    lost : tuple of exception types
        Exceptions that mean a lost connection; the sink reconnects.
    permanent_errors : tuple of exception types
        Other exceptions of the client, for which a retry is useless.
    """

    retry_timeout_s: float = 30.0
    kind: str
    lost: tuple[type[Exception], ...] = (OSError,)
    permanent_errors: tuple[type[Exception], ...] = ()
    _talk: _Talk | None = None

    @property
    def last_error(self) -> str:  # type: ignore[override]
        """Error of the last attempt to write; empty if writing works.

        It also says that the server does not respond.
        """
        talk = self._talk
        if talk is None:
            return ""
        return talk.last_error or ("resending rows after a reconnect" if talk.catching_up else "")

    @abstractmethod
    def _connect(self, schema: pa.Schema, rows: int) -> None:
        """Connect, and prepare to send rows after the first `rows`."""

    @abstractmethod
    def _send(self, rows: pa.RecordBatch) -> None:
        """Send rows to the server."""

    @abstractmethod
    def _settle(self) -> None:
        """Wait until the server has acknowledged all rows."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close the connection, if there is one. May fail."""

    def _responded(self) -> None:
        """Note that the server has responded."""
        if self._talk is not None:
            self._talk.answered()

    def _acknowledged(self, rows: int) -> None:
        """Note that the server has acknowledged the oldest `rows` rows."""
        if self._talk is not None:
            self._talk.release(rows)

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        if self._talk is not None and self._talk.is_alive():
            raise SinkError(f"{self.name} is still waiting for a response to an earlier run.",
                            where=f"sinks.{self.kind}({self.name!r})", hint="Use a new sink object with this address.")
        self._talk, away, self._stop_seen = None, None, math.inf
        try:
            self._connect(schema, rows)
        except (*self.lost, *self.permanent_errors) as error:
            if fatal_reason(error, before=False) or not isinstance(error, self.lost):
                raise self._failed(error) from error
            away = error
        self._talk = _Talk(self, schema, rows, away)
        self._talk.start()

    def write(self, rows: pa.RecordBatch) -> None:
        assert self._talk is not None
        self._raise_if_fatal(self._talk)
        if self._talk.take(rows) >= _MAX_ROWS:
            self.prepare()

    def ready(self) -> bool:
        """Wait while the server responds; without checkpoints only for a moment."""
        talk = self._talk
        assert talk is not None
        until = math.inf if self.checkpointed else time.monotonic() + (0 if talk.catching_up else _HOLD_S)
        while not talk.settled(_LOOK_S) and not talk.last_error:
            if talk.silent_s >= _HOLD_S or time.monotonic() >= until:
                break
        self._raise_if_fatal(talk)
        return talk.settled(0)

    def prepare(self) -> Token:
        assert self._talk is not None
        while not self._talk.settled(_LOOK_S):
            self._raise_if_fatal(self._talk)
        self._raise_if_fatal(self._talk)

    def close(self) -> None:
        if self._talk is None:
            self._leave()
        else:
            self._talk.end()

    def _raise_if_fatal(self, talk: _Talk) -> None:
        """Raise the error of the thread, or a timeout."""
        error, now, grace_s = talk.error, time.monotonic(), min(_GRACE_S, self.retry_timeout_s)
        if self.stopped.is_set():  # from now on a short grace time: the server may just be back
            self._stop_seen = min(self._stop_seen, now)
        timed_out = talk.silent_s > self.retry_timeout_s or min(talk.silent_s, now - self._stop_seen) > grace_s
        if error is None and timed_out:
            error = TimeoutError(talk.last_error or "the server does not answer")
        elif error is None and talk.catching_up and now - self._stop_seen > grace_s:
            error = TimeoutError("the run was stopped before all rows were sent again")
        if error is None:
            return
        if isinstance(error, (*self.lost, *self.permanent_errors)):
            raise self._failed(error) from error
        raise error

    def _leave(self) -> None:
        with suppress(Exception):  # it may be closed already
            self._disconnect()

    def _failed(self, error: Exception) -> SinkError:
        rows = 0 if self._talk is None else self._talk.held_rows
        said = without_secrets(error)
        if rows:
            said = f"{said.rstrip('.')}; {rows:,} rows are not acknowledged"
        return SinkError(f"Cannot write to {self.name}: {said}",
                         where=f"sinks.{self.kind}({self.name!r})",
                         hint=fatal_reason(error, before=False) or (
                             self.again if isinstance(error, self.lost) else "Fix the cause; a retry does not help."))


class _Talk(threading.Thread):
    """The thread that talks to the server of a sink.

    Attributes
    ----------
    error : Exception or None
        The error that ended the thread.
    catching_up : bool
        Whether rows are being sent again after a reconnect.
    held_rows : int
        Number of buffered rows that are not acknowledged.
    """

    def __init__(self, sink: ServerSink, schema: pa.Schema, rows: int, away: Exception | None) -> None:
        super().__init__(name="whimbrel-sink", daemon=True)
        self._sink, self._stopped, self._schema = sink, sink.stopped, schema
        self._safe_rows = rows
        self._held: deque[pa.RecordBatch] = deque()
        self._given = self._safe_part = self.held_rows = 0  # batches given; rows of the first one that are safe
        self._changed = threading.Condition()
        self._asked = self._over = False
        self._away, self._said = away, "" if away is None else without_secrets(away)
        self._since: float | None = None if away is None else time.monotonic()
        self.catching_up = away is not None
        self.error: Exception | None = None

    # Called by the run.

    def take(self, rows: pa.RecordBatch) -> int:
        """Buffer rows until they are acknowledged; return the number of buffered rows."""
        with self._changed:
            self._held += [rows.slice(start, _TOGETHER) for start in range(0, rows.num_rows, _TOGETHER)]
            self.held_rows += rows.num_rows
            self._changed.notify_all()
            return self.held_rows

    def settled(self, wait_s: float) -> bool:
        """Ask for acknowledgement; whether all rows are acknowledged or the thread has ended."""
        with self._changed:
            self._asked = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._held or self._over, wait_s)

    @property
    def silent_s(self) -> float:
        """Seconds since the last request without a response."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    @property
    def last_error(self) -> str:
        return self._said or ("the server does not answer" if self.silent_s > _ANSWER_S else "")

    def end(self) -> None:
        """Stop the thread without waiting for a response."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self.join(_CLOSE_S)

    # The thread.

    def answered(self) -> None:
        """Note that the server has responded."""
        self._since = time.monotonic()

    def release(self, rows: int) -> None:
        """Drop the oldest `rows` rows, which are acknowledged."""
        with self._changed:
            self._since, self._said = time.monotonic(), ""
            self._safe_rows, self.held_rows, self._safe_part = (
                self._safe_rows + rows, self.held_rows - rows, self._safe_part + rows)
            while self._held and self._held[0].num_rows <= self._safe_part:
                self._safe_part -= self._held.popleft().num_rows
                self._given -= 1
            self._asked = self._asked and bool(self._held)
            self._changed.notify_all()

    def run(self) -> None:
        try:
            while self._has_work():
                try:
                    if self._away is not None:
                        raise self._away
                    self._deliver()
                except self._sink.lost as error:
                    self._reconnect(error)
        except Exception as error:  # noqa: BLE001 - it is raised where rows are written
            self.error = error
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()
            self._sink._leave()  # noqa: SLF001 - a part of it

    def _has_work(self) -> bool:
        """Wait for rows or a request for acknowledgement; False at the end."""
        with self._changed:
            if self._away is None:
                self._since = None
                self._changed.wait_for(lambda: self._over or self._given < len(self._held) or
                                       (self._asked and bool(self._held)))
                self._since = time.monotonic()
            return not self._over

    def _deliver(self) -> None:
        """Send buffered rows; wait for their acknowledgement if requested."""
        sink = self._sink
        while self._given < len(self._held) and not self._over:
            batch = self._held[self._given]
            self._given += 1
            sink._send(batch)  # noqa: SLF001 - a part of it
        if self._asked and not self._over:
            given = sum(batch.num_rows for batch in islice(self._held, self._given)) + self._safe_rows - self._safe_part
            sink._settle()  # noqa: SLF001
            self.release(given - self._safe_rows)

    def _reconnect(self, error: Exception) -> None:
        """Reconnect with backoff, and send buffered rows again."""
        sink, safe_rows, waits, until = self._sink, -1, Backoff(), 0.0
        self.catching_up = True
        while not self._over:
            if fatal_reason(error, before=True):
                raise error
            if safe_rows != self._safe_rows:  # the server was available: restart the timeout
                waits, until = Backoff(_FIRST_S, _MAX_S), time.monotonic() + sink.retry_timeout_s
                safe_rows = self._safe_rows
            self._said = without_secrets(error)
            self._look_until(min(time.monotonic() + _asked_s(error), until))
            self._resend()
            try:
                sink._leave()  # noqa: SLF001 - a part of it
                sink._connect(self._schema, self._safe_rows)  # noqa: SLF001
                self._deliver()
            except sink.lost as again:
                error = again
            else:
                self._away, self._said, self.catching_up = None, "", False
                return
            if time.monotonic() >= until or self._stopped.is_set():
                raise error
            if not _asked_s(error):
                self._look_until(min(time.monotonic() + waits.wait_s(), until))

    def _look_until(self, time_s: float) -> None:
        """Wait until a time of the monotonic clock, or until the sink is stopped."""
        while time.monotonic() < time_s and not (self._over or self._stopped.is_set()):
            time.sleep(_LOOK_S)

    def _resend(self) -> None:
        """Mark rows that are not acknowledged to be sent again."""
        with self._changed:
            if self._safe_part:
                self._held[0], self._safe_part = self._held[0].slice(self._safe_part), 0
            self._given, self._asked = 0, True


def _asked_s(error: Exception) -> float:
    """Seconds that a server asked to wait."""
    return error.retry_after_s if isinstance(error, BusyServerError) else 0.0
