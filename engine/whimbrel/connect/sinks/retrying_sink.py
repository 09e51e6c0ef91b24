"""What sinks have in common whose server may be away for a while."""

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


class ServerSink(Sink):
    """A sink that waits for its server, then connects anew and gives it again what is not known to be safe.

    A thread of its own talks with the server, since most clients cannot be interrupted. What is written it holds until
    it is safe, and so it holds nobody up whose server is away, or frozen, unless that is a hundred thousand rows.

    A run that was killed does the same, so rows are seen as often as its guarantee says. So it is with a server that is
    away when the run starts, unless there is none of its name.

    Attributes
    ----------
    retry_timeout_s : float
        How long the server is waited for; then the query fails. Counted anew when it has acknowledged some rows.
    kind : str
        What it is called in ``wb.sinks``.
    lost : tuple of exception types
        What is raised while the server is away.
    permanent_errors : tuple of exception types
        What else its client raises, and would again.
    """

    retry_timeout_s: float = 30.0
    kind: str
    lost: tuple[type[Exception], ...] = (OSError,)
    permanent_errors: tuple[type[Exception], ...] = ()
    _talk: _Talk | None = None

    @property
    def last_error(self) -> str:  # type: ignore[override]
        """What keeps it from being written just now; also that the server says nothing."""
        talk = self._talk
        if talk is None:
            return ""
        return talk.last_error or ("resending rows after a reconnect" if talk.catching_up else "")

    @abstractmethod
    def _connect(self, schema: pa.Schema, rows: int) -> None:
        """Be ready for the rows behind so many."""

    @abstractmethod
    def _send(self, rows: pa.RecordBatch) -> None:
        """Give rows to the server."""

    @abstractmethod
    def _settle(self) -> None:
        """Return when the server has all of them safe."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Let go of the connection, if there is one. May fail."""

    def _heard(self) -> None:
        """The server has answered some of what it is asked."""
        if self._talk is not None:
            self._talk.heard()

    def _acknowledged(self, rows: int) -> None:
        """The server has so many more rows safe, the oldest of those that it was given."""
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
        self._fail_if_vain(self._talk)
        if self._talk.take(rows) >= _MAX_ROWS:
            self.prepare()

    def ready(self) -> bool:
        """Waits while the server answers; without checkpoints, which are of all queries, a moment at most."""
        talk = self._talk
        assert talk is not None
        until = math.inf if self.checkpointed else time.monotonic() + (0 if talk.catching_up else _HOLD_S)
        while not talk.settled(_LOOK_S) and not talk.last_error:
            if talk.silent_s >= _HOLD_S or time.monotonic() >= until:
                break
        self._fail_if_vain(talk)
        return talk.settled(0)

    def prepare(self) -> Token:
        assert self._talk is not None
        while not self._talk.settled(_LOOK_S):
            self._fail_if_vain(self._talk)
        self._fail_if_vain(self._talk)

    def close(self) -> None:
        if self._talk is None:
            self._leave()
        else:
            self._talk.end()

    def _fail_if_vain(self, talk: _Talk) -> None:
        """Fail if talking has, or is waited for no longer."""
        error, now, grace_s = talk.error, time.monotonic(), min(_GRACE_S, self.retry_timeout_s)
        if self.stopped.is_set():  # from then on it has some time: it may just have come back
            self._stop_seen = min(self._stop_seen, now)
        vain = talk.silent_s > self.retry_timeout_s or min(talk.silent_s, now - self._stop_seen) > grace_s
        if error is None and vain:
            error = TimeoutError(talk.last_error or "the server does not answer")
        elif error is None and talk.catching_up and now - self._stop_seen > grace_s:
            error = TimeoutError("the run was stopped before all rows were sent again")
        if error is None:
            return
        if isinstance(error, (*self.lost, *self.permanent_errors)):
            raise self._failed(error) from error
        raise error

    def _leave(self) -> None:
        with suppress(Exception):  # it is gone already
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
    """What is said to the server of a sink, from its opening to its end.

    Attributes
    ----------
    error : Exception or None
        Why it has ended.
    catching_up : bool
        Whether the server was away, and has not been given all since then.
    held_rows : int
        How many it was given that the server has not acknowledged.
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

    # What the run asks.

    def take(self, rows: pa.RecordBatch) -> int:
        """Hold rows until they are safe; how many are held."""
        with self._changed:
            self._held += [rows.slice(start, _TOGETHER) for start in range(0, rows.num_rows, _TOGETHER)]
            self.held_rows += rows.num_rows
            self._changed.notify_all()
            return self.held_rows

    def settled(self, wait_s: float) -> bool:
        """Whether all that is held is safe, or nobody tries any more; it is asked to be."""
        with self._changed:
            self._asked = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._held or self._over, wait_s)

    @property
    def silent_s(self) -> float:
        """For how long the server has not answered what it was asked."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    @property
    def last_error(self) -> str:
        return self._said or ("the server does not answer" if self.silent_s > _ANSWER_S else "")

    def end(self) -> None:
        """Say no more, and do not wait for an answer that may never come."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self.join(_CLOSE_S)

    # What the thread does.

    def heard(self) -> None:
        """The server has answered."""
        self._since = time.monotonic()

    def release(self, rows: int) -> None:
        """Hold so many rows no longer, the oldest: they are safe."""
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
        """Wait for rows, or to be asked whether they are safe; False at the end."""
        with self._changed:
            if self._away is None:
                self._since = None
                self._changed.wait_for(lambda: self._over or self._given < len(self._held) or
                                       (self._asked and bool(self._held)))
                self._since = time.monotonic()
            return not self._over

    def _deliver(self) -> None:
        """Give what is held to the server; and have it safe, if that was asked for."""
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
        """Be where the thread was before the connection was lost, all that was held safe."""
        sink, safe_rows, waits, until = self._sink, -1, Backoff(), 0.0
        self.catching_up = True
        while not self._over:
            if fatal_reason(error, before=True):
                raise error
            if safe_rows != self._safe_rows:  # it was there: patience begins anew
                waits, until = Backoff(_FIRST_S, _MAX_S), time.monotonic() + sink.retry_timeout_s
                safe_rows = self._safe_rows
            self._said = without_secrets(error)
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
            try_at = min(time.monotonic() + waits.wait_s(), until)
            while time.monotonic() < try_at and not (self._over or self._stopped.is_set()):
                time.sleep(_LOOK_S)

    def _resend(self) -> None:
        """Give what is held once more, but for what is safe."""
        with self._changed:
            if self._safe_part:
                self._held[0], self._safe_part = self._held[0].slice(self._safe_part), 0
            self._given, self._asked = 0, True
