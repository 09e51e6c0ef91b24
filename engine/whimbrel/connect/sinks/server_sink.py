"""What sinks have in common whose server may be away for a while."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa

from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.feeds.backoff import Backoff
from whimbrel.connect.vain import why_vain
from whimbrel.errors import SinkError
from whimbrel.plan.sink import Sink, Token

_FIRST_S, _MOST_S = 0.1, 5.0
_MOST_ROWS = 100_000


class ServerSink(Sink):
    """A sink that waits for its server, then connects anew and gives it again what is not known to be safe.

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
        try:
            self._connect(schema, rows)
        except (*self.lost, *self.refused) as error:
            if why_vain(error, before=False) or not isinstance(error, self.lost):
                raise self._failed(error) from error
            self._away, self.trouble = error, without_secrets(error)

    def write(self, rows: pa.RecordBatch) -> None:
        self._since.append(rows)
        self._since_rows += rows.num_rows
        self._do(lambda: self._send(rows))
        if self._since_rows >= _MOST_ROWS:
            self.prepare()

    def prepare(self) -> Token:
        self._do(self._settle)
        self._safe_rows += self._since_rows
        self._since, self._since_rows = [], 0

    def close(self) -> None:
        with suppress(Exception):  # it is gone already
            self._disconnect()

    def _do(self, step: Callable[[], None]) -> None:
        """Do it, or all that is not known to be safe, if the server was away meanwhile."""
        try:
            if self._away is not None:
                raise self._away
            step()
        except self.lost as error:
            self._wait(error)
            self._away = None
        except self.refused as error:
            raise self._failed(error) from error

    def _wait(self, error: Exception) -> None:
        until, waits = time.monotonic() + self.patience_s, Backoff(_FIRST_S, _MOST_S)
        while True:
            try:
                self._again()
            except self.lost as another:
                error = another
                if why_vain(error, before=True):
                    raise self._failed(error) from error
            except self.refused as another:
                raise self._failed(another) from another
            else:
                self.trouble = ""
                return
            self.trouble = without_secrets(error)
            left_s = until - time.monotonic()
            if left_s <= 0 or self.stopped.wait(min(waits.wait_s(), left_s)):
                raise self._failed(error) from error

    def _again(self) -> None:
        self.close()
        self._connect(self._schema, self._safe_rows)
        for rows in self._since:
            self._send(rows)
        self._settle()

    def _failed(self, error: Exception) -> SinkError:
        return SinkError(f"{self.name} cannot be written: {without_secrets(error)}",
                         where=f"sinks.{self.kind}({self.name!r})",
                         hint=why_vain(error, before=False) or (
                             self.again if isinstance(error, self.lost) else "it fails again until that is mended"))
