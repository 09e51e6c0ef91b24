"""A stream of NATS JetStream."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa

from whimbrel.connect.addresses import checked_url
from whimbrel.connect.feeds.nats import ONCE
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.errors import MissingExtraError, SinkError
from whimbrel.plan.sink import Sink, Token

_TOGETHER = 500


class NatsSink(Sink):
    """Settled rows as JSON messages of a JetStream subject; needs ``whimbrel[nats]``.

    At least once: rows since the last checkpoint are sent again after a run was killed. Each message has its row's
    number as its id, by which the stream leaves out those that come again within its duplicate window (two minutes,
    unless it says otherwise). The subject belongs to one run.

    Parameters
    ----------
    subject : str
        A stream must keep it.
    url : str
        ``nats://user:password@host:port``. The password is in no plan, log or checkpoint.
    """

    def __init__(self, subject: str, url: str = "nats://127.0.0.1:4222") -> None:
        try:
            import nats
        except ImportError:
            raise MissingExtraError("nats-py", "nats", "sinks.nats()") from None
        self._library: Any = nats
        self.name, self._url = subject, checked_url(url, "nats", "tls", "ws", "wss")

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._row = rows
        self._runner = asyncio.Runner()
        self._link = self._run(self._library.connect(self._url, **ONCE))
        self._log = self._link.jetstream()

    def write(self, rows: pa.RecordBatch) -> None:
        for start in range(0, rows.num_rows, _TOGETHER):
            texts = [text for _, text in json_rows(rows.slice(start, _TOGETHER))]
            self._run(self._publish(texts))

    async def _publish(self, texts: list[bytes]) -> None:
        first, self._row = self._row, self._row + len(texts)
        await asyncio.gather(*(self._log.publish(self.name, text, headers={"Nats-Msg-Id": f"{self.name} {first + at}"})
                               for at, text in enumerate(texts)))

    def _run(self, work: Any) -> Any:
        try:
            return self._runner.run(work)
        except (OSError, TimeoutError, self._library.errors.Error) as error:
            raise SinkError(f"{self.name} cannot be written: {error}", where=f"sinks.nats({self.name!r})",
                            hint="start the run again when it can: nothing is lost") from error

    def prepare(self) -> Token:
        return None  # each message was acknowledged

    def close(self) -> None:
        try:
            self._runner.run(self._link.close())
        except Exception:  # noqa: BLE001, S110 - it is gone already
            pass
        finally:
            self._runner.close()
