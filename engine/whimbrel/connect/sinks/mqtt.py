"""A topic of an MQTT broker, version 5."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from whimbrel.connect.addresses import checked_url
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.errors import MissingExtraError, SinkError
from whimbrel.plan.sink import Sink, Token

_WAIT_S = 30.0


class MqttSink(Sink):
    """Settled rows as JSON messages of an MQTT topic; needs ``whimbrel[mqtt]``.

    At least once: rows since the last checkpoint are sent again after a run was killed. Each message has its row's
    number as the user property ``row``, by which whoever reads can leave them out.

    Parameters
    ----------
    topic : str
    url : str
        ``mqtt://user:password@host:port``. The password is in no plan, log or checkpoint.
    qos : {1, 2}
    """

    def __init__(self, topic: str, url: str = "mqtt://127.0.0.1:1883", *, qos: Literal[1, 2] = 1) -> None:
        try:
            from paho.mqtt import client, packettypes, properties
        except ImportError:
            raise MissingExtraError("paho-mqtt", "mqtt", "sinks.mqtt()") from None
        self._library: Any = client
        self._properties: Any = properties.Properties
        self._publish: int = packettypes.PacketTypes.PUBLISH
        self.name, self._url, self._qos = topic, urlsplit(checked_url(url, "mqtt", "mqtts")), qos

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._row = rows
        self._waiting: deque[Any] = deque()
        self._client = self._library.Client(self._library.CallbackAPIVersion.VERSION2,
                                            protocol=self._library.MQTTv5)
        url = self._url
        if url.username:
            self._client.username_pw_set(unquote(url.username), None if url.password is None else unquote(url.password))
        if url.scheme == "mqtts":
            self._client.tls_set_context()
        try:
            self._client.connect(url.hostname or "127.0.0.1", url.port or (8883 if url.scheme == "mqtts" else 1883))
        except OSError as error:
            raise self._failed(str(error)) from error
        self._client.loop_start()

    def write(self, rows: pa.RecordBatch) -> None:
        for _, text in json_rows(rows):
            about = self._properties(self._publish)
            about.UserProperty = ("row", str(self._row))
            self._waiting.append(self._client.publish(self.name, text, qos=self._qos, properties=about))
            self._row += 1
        while self._waiting and self._waiting[0].is_published():
            self._waiting.popleft()

    def prepare(self) -> Token:
        until = time.monotonic() + _WAIT_S
        while self._waiting:
            message = self._waiting[0]
            try:
                message.wait_for_publish(max(0.0, until - time.monotonic()))
            except (RuntimeError, ValueError) as error:  # the connection is lost, or the queue is full
                raise self._failed(str(error)) from error
            if not message.is_published():
                raise self._failed(f"{len(self._waiting):,} messages were not taken in {_WAIT_S:.0f} s")
            self._waiting.popleft()
        return None

    def _failed(self, why: str) -> SinkError:
        return SinkError(f"{self.name} cannot be written: {why}", where=f"sinks.mqtt({self.name!r})",
                         hint="start the run again when it can: nothing is lost")

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
