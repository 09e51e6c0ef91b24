"""What sinks have in common whose server may be away for a while."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from contextlib import suppress

import pyarrow as pa

from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.feeds.backoff import Backoff
from whimbrel.connect.vain import why_vain
from whimbrel.errors import SinkError
from whimbrel.plan.sink import Sink, Token

_FIRST_S, _MOST_S, _LOOK_S = 0.1, 5.0, 0.01
_MOST_ROWS, _TOGETHER = 100_000, 1_000
_ANSWER_S = 10.0
_HOLD_S, _GRACE_S, _CLOSE_S = 1.0, 5.0, 1.0


class ServerSink(Sink):
    """A sink that waits for its server, then connects anew and gives it again what is not known to be safe.

    A thread of its own talks with the server, since most clients cannot be interrupted. What is written it holds until
    it is safe, and so it holds nobody up whose server is away, or frozen, unless that is a hundred thousand rows.

    A run that was killed does the same, so rows are seen as often as its guarantee says. So it is with a server that is
    away when the run starts, unless there is none of its name.

    Attributes
    ----------
    patience_s : float
        How long the server is waited for; then the query fails.
    kind : str
        What it is called in ``wb.sinks``.
    lost : tuple of exception types
        What is raised while the server is away.
    refused : tuple of exception types
        What else its client raises, and would again.
    """

    patience_s: float = 30.0
    kind: str
    lost: tuple[type[Exception], ...] = (OSError,)
    refused: tuple[type[Exception], ...] = ()
    _talk: _Talk | None = None

    @property
    def trouble(self) -> str:  # type: ignore[override]
        """What keeps it from being written just now; also that the server says nothing."""
        return "" if self._talk is None else self._talk.trouble

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

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        if self._talk is not None and self._talk.is_alive():
            raise SinkError(f"{self.name} waits for what its server has not answered to an earlier run.",
                            where=f"sinks.{self.kind}({self.name!r})", hint="give another sink, with this address")
        self._talk, away = None, None
        try:
            self._connect(schema, rows)
        except (*self.lost, *self.refused) as error:
            if why_vain(error, before=False) or not isinstance(error, self.lost):
                raise self._failed(error) from error
            away = error
        self._talk = _Talk(self, schema, rows, away)
        self._talk.start()

    def write(self, rows: pa.RecordBatch) -> None:
        assert self._talk is not None
        self._fail_if_vain(self._talk)
        if self._talk.take(rows) >= _MOST_ROWS:
            self.prepare()

    def ready(self) -> bool:
        """Waits while the server answers."""
        talk = self._talk
        assert talk is not None
        while not talk.settled(_LOOK_S) and not talk.trouble and talk.silent_s < _HOLD_S:
            pass
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
        error = talk.error
        if error is None and talk.silent_s > (min(_GRACE_S, self.patience_s) if self.stopped.is_set()
                                              else self.patience_s):
            error = TimeoutError(talk.trouble or "the server does not answer")
        if error is None:
            return
        if isinstance(error, (*self.lost, *self.refused)):
            raise self._failed(error) from error
        raise error

    def _leave(self) -> None:
        with suppress(Exception):  # it is gone already
            self._disconnect()

    def _failed(self, error: Exception) -> SinkError:
        return SinkError(f"{self.name} cannot be written: {without_secrets(error)}",
                         where=f"sinks.{self.kind}({self.name!r})",
                         hint=why_vain(error, before=False) or (
                             self.again if isinstance(error, self.lost) else "it fails again until that is mended"))


class _Talk(threading.Thread):
    """What is said to the server of a sink, from its opening to its end.

    Attributes
    ----------
    error : Exception or None
        Why it has ended.
    """

    def __init__(self, sink: ServerSink, schema: pa.Schema, rows: int, away: Exception | None) -> None:
        super().__init__(name="whimbrel-sink", daemon=True)
        self._sink, self._stopped, self._schema = sink, sink.stopped, schema
        self._safe_rows = rows
        self._held: list[pa.RecordBatch] = []
        self._given = self._held_rows = 0
        self._changed = threading.Condition()
        self._asked = self._over = False
        self._away, self._said = away, "" if away is None else without_secrets(away)
        self._since: float | None = None if away is None else time.monotonic()
        self.error: Exception | None = None

    # What the run asks.

    def take(self, rows: pa.RecordBatch) -> int:
        """Hold rows until they are safe; how many are held."""
        with self._changed:
            self._held += [rows.slice(start, _TOGETHER) for start in range(0, rows.num_rows, _TOGETHER)]
            self._held_rows += rows.num_rows
            self._changed.notify_all()
            return self._held_rows

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
    def trouble(self) -> str:
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

    def run(self) -> None:
        try:
            while self._has_work():
                try:
                    if self._away is not None:
                        raise self._away
                    self._deliver()
                except self._sink.lost as error:
                    self._connect_anew(error)
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
            sink._send(self._held[self._given])  # noqa: SLF001 - a part of it
            self._given += 1
            self.heard()
        if not self._asked or self._over:
            return
        given = self._given
        sink._settle()  # noqa: SLF001
        with self._changed:
            rows = sum(batch.num_rows for batch in self._held[:given])
            del self._held[:given]
            self._given, self._safe_rows, self._held_rows = 0, self._safe_rows + rows, self._held_rows - rows
            self._asked, self._said = bool(self._held), ""
            self._changed.notify_all()

    def _connect_anew(self, error: Exception) -> None:
        """Be where the thread was before the connection was lost, all that was held safe."""
        sink, waits, until = self._sink, Backoff(_FIRST_S, _MOST_S), time.monotonic() + self._sink.patience_s
        while not self._over:
            if why_vain(error, before=True):
                raise error
            self._said, self._given, self._asked = without_secrets(error), 0, True
            try:
                sink._leave()  # noqa: SLF001 - a part of it
                sink._connect(self._schema, self._safe_rows)  # noqa: SLF001
                self._deliver()
            except sink.lost as again:
                error = again
            else:
                self._away, self._said = None, ""
                return
            if time.monotonic() >= until or self._stopped.is_set():
                raise error
            try_at = min(time.monotonic() + waits.wait_s(), until)
            while time.monotonic() < try_at and not (self._over or self._stopped.is_set()):
                time.sleep(_LOOK_S)
