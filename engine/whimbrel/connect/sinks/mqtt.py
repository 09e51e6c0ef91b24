"""MQTT topic as a sink, protocol version 5."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from whimbrel.connect.addresses import checked_url
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.connect.sinks.retrying_sink import ServerSink
from whimbrel.connect.tls import closing_context
from whimbrel.connect.validation import check_choice, check_name
from whimbrel.errors import MissingExtraError

_ANSWER_S, _LOOK_S = 10.0, 0.05
_MAX_WAITING = 10_000
"""Messages in flight; MQTT has 65,535 packet ids."""


class MqttSink(ServerSink):
    """Sink of JSON messages on an MQTT topic; needs ``whimbrel[mqtt]``.

    At least once: after a crash, rows since the last checkpoint are sent again. Each message has its row number as the
    user property ``row``, with which a subscriber can drop duplicates. The query fails if the broker rejects a message,
    at once if the user may not publish to the topic. With `qos` 2, paho ignores rejections; therefore the first message
    of a connection is sent with 1.

    Parameters
    ----------
    topic : str
    url : str
        ``mqtt://user:password@host:port``. The password is in no plan, log or checkpoint.
    qos : {1, 2}
    """

    kind = "mqtt"

    def __init__(self, topic: str, url: str = "mqtt://127.0.0.1:1883", *, qos: Literal[1, 2] = 1) -> None:
        try:
            from paho.mqtt import client, packettypes, properties
        except ImportError:
            raise MissingExtraError("paho-mqtt", "mqtt", "sinks.mqtt()") from None
        where = f"sinks.mqtt({topic!r})"
        check_name("topic", topic, where=where)
        check_choice("qos", qos, (1, 2), where=where)
        self._library: Any = client
        self._properties: Any = properties.Properties
        self._publish: int = packettypes.PacketTypes.PUBLISH
        self.name, self._url, self._qos = topic, urlsplit(checked_url(url, "mqtt", "mqtts")), qos

    def _connect(self, schema: pa.Schema, rows: int) -> None:
        self._row, self._gone, self._refused = rows, "", ""
        self._waiting: deque[Any] = deque()
        self._client = self._library.Client(self._library.CallbackAPIVersion.VERSION2,
                                            protocol=self._library.MQTTv5, reconnect_on_failure=False)
        self._client.on_connect, self._client.on_disconnect = self._answered, self._left
        self._client.on_publish = self._published
        self._begun = False
        url = self._url
        if url.username:
            self._client.username_pw_set(unquote(url.username), None if url.password is None else unquote(url.password))
        if url.scheme == "mqtts":
            self._client.tls_set_context(closing_context())
        self._client.connect(url.hostname or "127.0.0.1", url.port or (8883 if url.scheme == "mqtts" else 1883))
        self._client.loop_start()

    def _answered(self, client: object, data: object, flags: object, reason: Any, properties: object) -> None:
        if reason.is_failure:
            self._gone = f"refused: {reason}"

    def _left(self, client: object, data: object, flags: object, reason: object, properties: object) -> None:
        self._gone = self._gone or f"the connection was closed: {reason}"

    def _published(self, client: object, data: object, number: int, reason: Any, properties: object) -> None:
        if reason.is_failure:
            self._refused = f"refused: {reason}"

    def _send(self, rows: pa.RecordBatch) -> None:
        for _, text in json_rows(rows):
            about = self._properties(self._publish)
            about.UserProperty = ("row", str(self._row))
            qos = self._qos if self._begun else 1  # paho ignores a rejection in the first response to QoS 2
            self._waiting.append(self._client.publish(self.name, text, qos=qos, properties=about))
            self._row, self._begun = self._row + 1, True
        self._release(0.0)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def _settle(self) -> None:
        until = time.monotonic() + _ANSWER_S
        while self._waiting:
            if self._release(_LOOK_S):
                until = time.monotonic() + _ANSWER_S
            elif self._gone or time.monotonic() > until:
                raise ConnectionError(self._gone or f"{len(self._waiting):,} messages were not acknowledged in "
                                                    f"{_ANSWER_S:.0f} s")

    def _release(self, wait_s: float) -> int:
        """Forget acknowledged messages; return their number."""
        rows = 0
        try:
            while self._waiting and self._taken(0.0 if rows else wait_s):
                self._waiting.popleft()
                rows += 1
        finally:
            if rows:
                self._acknowledged(rows)
        return rows

    def _taken(self, wait_s: float) -> bool:
        """Whether the broker has acknowledged the oldest message."""
        try:
            self._waiting[0].wait_for_publish(wait_s)
            taken = bool(self._waiting[0].is_published())
        except (RuntimeError, ValueError) as error:  # the connection is lost, or the queue is full
            raise ConnectionError(self._gone or str(error)) from error
        if self._refused:  # paho counts a rejected message as published
            raise ConnectionError(self._refused)
        return taken

    def _disconnect(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
