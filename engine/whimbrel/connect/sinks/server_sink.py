"""What sinks have in common whose server may be away for a while."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress

import pyarrow as pa

from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.feeds.backoff import Backoff
from whimbrel.connect.vain import why_vain
from whimbrel.errors import SinkError
from whimbrel.plan.sink import Sink, Token

_FIRST_S, _MOST_S, _LOOK_S = 0.1, 5.0, 0.01
_MOST_ROWS = 100_000
_ANSWER_S = 10.0


class ServerSink(Sink):
    """A sink that waits for its server, then connects anew and gives it again what is not known to be safe.

    It is connected on a thread of its own. What is written meanwhile it holds, and so it holds nobody up, unless that
    is a hundred thousand rows.

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
    _trouble = ""
    _asked_at: float | None = None

    @property
    def trouble(self) -> str:
        """Also while a client waits without end for a server that says nothing."""
        asked_at = self._asked_at
        silent = asked_at is not None and time.monotonic() - asked_at > _ANSWER_S
        return self._trouble or ("the server does not answer" if silent else "")

    @trouble.setter
    def trouble(self, said: str) -> None:
        self._trouble = said

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

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self.trouble = ""
        self._schema, self._safe_rows = schema, rows
        self._since: list[pa.RecordBatch] = []
        self._since_rows = 0
        self._away: Exception | None = None
        self._attempt: _Attempt | None = None
        try:
            self._connect(schema, rows)
        except (*self.lost, *self.refused) as error:
            if why_vain(error, before=False) or not isinstance(error, self.lost):
                raise self._failed(error) from error
            self._wait_for(error)

    def write(self, rows: pa.RecordBatch) -> None:
        self._since.append(rows)
        self._since_rows += rows.num_rows
        if self._away is None:
            self._do(lambda: self._send(rows))
        if self._since_rows >= _MOST_ROWS:
            self.prepare()

    def ready(self) -> bool:
        return self._away is None or self._is_back()

    def prepare(self) -> Token:
        while not (self.ready() and self._do(self._settle)):
            time.sleep(_LOOK_S)
        self._safe_rows += self._since_rows
        self._since, self._since_rows = [], 0

    def close(self) -> None:
        attempt = self._attempt
        if attempt is not None:
            attempt.abandoned = True
        if attempt is None or not attempt.is_alive():
            self._leave()

    def _leave(self) -> None:
        with suppress(Exception):  # it is gone already
            self._disconnect()

    def _do(self, step: Callable[[], None]) -> bool:
        """Do it, if the server is there; from now on it is waited for, if it is not."""
        self._asked_at = time.monotonic()
        try:
            step()
        except self.lost as error:
            self._wait_for(error)
            return False
        except self.refused as error:
            raise self._failed(error) from error
        finally:
            self._asked_at = None
        return True

    def _wait_for(self, error: Exception) -> None:
        now = time.monotonic()
        self._away, self.trouble = error, without_secrets(error)
        self._waits, self._until, self._try_at = Backoff(_FIRST_S, _MOST_S), now + self.patience_s, now

    def _is_back(self) -> bool:
        """Whether the server is there, and was given all that was written; else it is tried again, in its time."""
        now = time.monotonic()
        if self._attempt is None:
            if now < self._try_at and not self.stopped.is_set():
                return False
            self._attempt = _Attempt(self._again, self._leave)
            self._attempt.start()
        if self._attempt.is_alive():
            return False
        error, self._attempt = self._attempt.error, None
        if error is None:
            self._away, self.trouble = None, ""
            return self._do(lambda: self._send_all(self._since[self._given:]))
        if isinstance(error, self.lost) and not why_vain(error, before=True):
            self._away, self.trouble = error, without_secrets(error)
            self._try_at = min(now + self._waits.wait_s(), self._until)
            if now < self._until and not self.stopped.is_set():
                return False
        if isinstance(error, (*self.lost, *self.refused)):
            raise self._failed(error) from error
        raise error

    def _again(self) -> None:
        """Connect anew, and give all that is not known to be safe; more may be written meanwhile."""
        self._leave()
        self._connect(self._schema, self._safe_rows)
        held = [*self._since]
        self._send_all(held)
        self._settle()
        self._given = len(held)

    def _send_all(self, batches: Sequence[pa.RecordBatch]) -> None:
        for rows in batches:
            self._send(rows)

    def _failed(self, error: Exception) -> SinkError:
        return SinkError(f"{self.name} cannot be written: {without_secrets(error)}",
                         where=f"sinks.{self.kind}({self.name!r})",
                         hint=why_vain(error, before=False) or (
                             self.again if isinstance(error, self.lost) else "it fails again until that is mended"))


class _Attempt(threading.Thread):
    """Something that may take long, tried on a thread of its own.

    Attributes
    ----------
    error : Exception or None
        What came of it.
    abandoned : bool
        Nobody waits for it any more: what it has opened, it closes.
    """

    def __init__(self, do: Callable[[], None], leave: Callable[[], None]) -> None:
        super().__init__(name="whimbrel-sink", daemon=True)
        self._act, self._leave = do, leave
        self.error: Exception | None = None
        self.abandoned = False

    def run(self) -> None:
        try:
            self._act()
        except Exception as error:  # noqa: BLE001 - it is raised where rows are written
            self.error = error
        if self.abandoned:
            self._leave()
