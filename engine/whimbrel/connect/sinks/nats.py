"""NATS JetStream subject as a sink."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa

from whimbrel.connect.addresses import checked_url
from whimbrel.connect.feeds.nats import ONCE
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.connect.sinks.retrying_sink import ServerSink
from whimbrel.errors import MissingExtraError

_TOGETHER = 500


class NatsSink(ServerSink):
    """Sink of JSON messages on a JetStream subject; needs ``whimbrel[nats]``.

    At least once: after a crash, rows since the last checkpoint are sent again. The message id has the run and the row
    number, so the stream drops duplicates within its duplicate window (two minutes by default). The subject belongs to
    one run.

    Parameters
    ----------
    subject : str
        A subject that a stream stores. The sink waits for a stream that does not respond.
    url : str
        ``nats://user:password@host:port``. The password is in no plan, log or checkpoint.
    """

    kind = "nats"

    def __init__(self, subject: str, url: str = "nats://127.0.0.1:4222") -> None:
        try:
            import nats
            from nats import errors
            from nats.js.errors import NoStreamResponseError, ServiceUnavailableError
        except ImportError:
            raise MissingExtraError("nats-py", "nats", "sinks.nats()") from None
        self._library: Any = nats
        self.lost = (OSError, errors.ConnectionClosedError, errors.ConnectionReconnectingError, errors.NoServersError,
                     errors.NoRespondersError, errors.StaleConnectionError, errors.UnexpectedEOF,
                     NoStreamResponseError, ServiceUnavailableError)
        self.permanent_errors = (errors.Error,)
        self.name, self._url = subject, checked_url(url, "nats", "tls", "ws", "wss")

    def _connect(self, schema: pa.Schema, rows: int) -> None:
        self._row = rows
        self._link = self._library.NATS()
        self._runner = asyncio.Runner()
        self._runner.run(self._open())
        self._log = self._link.jetstream()

    async def _open(self) -> None:
        said: Exception | None = None

        async def failed(error: Exception) -> None:
            """Keep the error; by default the client would print it."""
            nonlocal said
            said = error

        async def closed() -> None:
            self._closed.set()

        self._closed = asyncio.Event()
        try:
            await self._link.connect(self._url, error_cb=failed, closed_cb=closed, **ONCE)
        except self._library.errors.NoServersError as error:
            raise ConnectionError(str(said or error)) from said  # the callback has the reason
        except self._library.errors.Error as error:
            if "empty response" not in str(error):
                raise
            raise ConnectionError(str(error)) from error  # a proxy responds for an unavailable server

    def _send(self, rows: pa.RecordBatch) -> None:
        for start in range(0, rows.num_rows, _TOGETHER):
            texts = [text for _, text in json_rows(rows.slice(start, _TOGETHER))]
            self._runner.run(self._publish(texts))
            self._acknowledged(len(texts))

    async def _publish(self, texts: list[bytes]) -> None:
        first, self._row = self._row, self._row + len(texts)
        of = f"{self.name} {self.run}"
        published = asyncio.gather(*(self._log.publish(self.name, text, headers={"Nats-Msg-Id": f"{of} {first + at}"})
                                     for at, text in enumerate(texts)))
        lost = asyncio.ensure_future(self._closed.wait())  # the client would wait for responses after a close
        await asyncio.wait((published, lost), return_when=asyncio.FIRST_COMPLETED)
        lost.cancel()
        if not published.done():
            published.cancel()
            await asyncio.wait((published,))
        if published.cancelled() or isinstance(published.exception(), asyncio.CancelledError):
            raise ConnectionError("the connection was closed")
        published.result()

    def _settle(self) -> None:
        """Do nothing: each message was acknowledged."""

    def _disconnect(self) -> None:
        try:
            self._runner.run(self._link.close())
        finally:
            self._runner.close()
