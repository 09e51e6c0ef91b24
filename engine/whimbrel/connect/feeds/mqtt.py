"""MQTT topics as feeds, protocol version 5."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, Unpack
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from whimbrel.connect.addresses import checked_url
from whimbrel.connect.feeds.formats.decode import Format
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.tls import closing_context
from whimbrel.connect.validation import check_choice, check_name
from whimbrel.errors import MissingExtraError

_CONNECT_S = 10.0
_KEPT_S = 7 * 86_400
_MAX_MESSAGES = 1_000  # in flight: Mosquitto scans them all at each acknowledgement
_MAX_HELD = 8_192
_KEEPALIVE_S = 15  # silence before paho sends a ping, and its timeout
_LOOK_S = 1.0  # paho needs regular calls, for example to send pings


class MqttFeed(Feed):
    """Feed of MQTT topics; needs ``whimbrel[mqtt]``.

    MQTT has no offsets. With a `session` and quality of service 1 or 2, the broker retains messages while the client is
    disconnected. It deletes a message when the client has received it, so messages in a killed process are lost.

    Parameters
    ----------
    topic : str
        The topic, perhaps with wildcards, such as ``"plants/+/power"``.
    url : str
        ``mqtt://user:password@host:port``. The password is in no plan, log or checkpoint.
    time : str
        The event-time column.
    qos : {0, 1, 2}
    session : str, optional
        The client id under which the broker keeps the session.
    with_topic : bool
        Add the topic of each message as the column ``topic``.
    format : str or Format
    schema : pyarrow.Schema or mapping of str to type, optional
    tls_context : ssl.SSLContext, optional
        TLS context for ``mqtts://``. Default: that of the system, with its certificates.
    options : mapping, optional
        Further arguments of ``paho.mqtt.client.Client``, such as ``transport``.
    **feed_options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, topic: str, url: str = "mqtt://127.0.0.1:1883", *, time: str, qos: Literal[0, 1, 2] = 1,
                 session: str | None = None, with_topic: bool = False, format: str | Format = "json",
                 schema: Fields | None = None, tls_context: ssl.SSLContext | None = None,
                 options: Mapping[str, Any] | None = None, **feed_options: Unpack[FeedOptions]) -> None:
        try:
            from paho.mqtt import client
        except ImportError:
            raise MissingExtraError("paho-mqtt", "mqtt", "feeds.mqtt()") from None
        where = f"feeds.mqtt({topic!r})"
        check_name("topic", topic, where=where)
        check_choice("qos", qos, (0, 1, 2), where=where)
        self.library: Any = client
        self.topic, self.url, self.qos = topic, urlsplit(checked_url(url, "mqtt", "mqtts")), qos
        self.session, self.tls_context, self.options = session, tls_context, options or {}
        feed_options.setdefault("name", topic)
        super().__init__("mqtt", time=time, schema=schema, format=format_of(format, where),
                         metadata_columns=pa.schema([("topic", pa.string())] if with_topic else []), **feed_options)

    def connect(self, offset: Offset) -> Client:
        return _Subscriber(self)


class _Subscriber(Client):
    """A client that runs paho on a thread, which reads all available messages before it waits.

    Messages are acknowledged when the reader takes them. The broker limits messages in flight, which gives
    backpressure. Messages of quality 0 have no acknowledgement; when too many wait, the client stops reading.
    """

    def __init__(self, feed: MqttFeed) -> None:
        self._feed = feed
        self._changed = threading.Condition()
        self._received: list[Any] = []
        self._held: list[Any] = []
        self._received_bytes = self._held_bytes = 0
        self._taken: list[Any] = []
        self._subscribed = self._closing = False
        self._ended: Exception | None = None
        self._link = self._connected(feed)
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._thread = threading.Thread(target=self._listen, name="whimbrel-mqtt", daemon=True)
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._subscribed or self._ended, _CONNECT_S)
        if not self._subscribed:
            self.close()
            raise self._ended or TimeoutError(f"no answer in {_CONNECT_S:.0f} s")

    def _connected(self, feed: MqttFeed) -> Any:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        library, url = feed.library, feed.url
        link = library.Client(library.CallbackAPIVersion.VERSION2, client_id=feed.session or "",
                              protocol=library.MQTTv5, reconnect_on_failure=False, manual_ack=True, **feed.options)
        if url.username is not None:
            link.username_pw_set(unquote(url.username), None if url.password is None else unquote(url.password))
        if url.scheme == "mqtts" or feed.tls_context is not None:
            link.tls_set_context(closing_context(feed.tls_context))
        link.on_connect, link.on_subscribe, link.on_disconnect = self._answered, self._granted, self._disconnected
        link.on_message = self._on_message
        about = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        about.ReceiveMaximum = _MAX_MESSAGES
        if feed.session is not None:
            about.SessionExpiryInterval = _KEPT_S
        link.connect(url.hostname or "127.0.0.1", url.port or (8883 if url.scheme == "mqtts" else 1883),
                     keepalive=_KEEPALIVE_S, clean_start=feed.session is None, properties=about)
        return link

    def receive(self, timeout_s: float) -> MessageBatch | None:
        with self._changed:
            self._changed.wait_for(lambda: self._held or self._ended, timeout_s)
            held, self._held, self._held_bytes = self._held, [], 0
            self._taken += held
            if not held and self._ended is not None:
                raise self._ended
        if not held:
            return None
        self._ring()
        return MessageBatch([message.payload for message in held], None,
                        {field.name: [message.topic for message in held] for field in self._feed.metadata_columns})

    def close(self) -> None:
        self._closing = True
        self._ring()
        self._thread.join(_CONNECT_S)
        self._bell.close()

    def _ring(self) -> None:
        with suppress(OSError):  # a wakeup is pending, or the thread has ended
            self._bell.send(b"!")

    # The receiving thread.

    def _listen(self) -> None:
        try:
            while not self._closing and self._ended is None:
                self._step()
            self._acknowledge()
            self._link.disconnect()
        except Exception as error:  # noqa: BLE001 - it is raised where rows are asked for
            self._end(error)
        finally:
            self._end(ConnectionError("closed"))
            self._ear.close()

    def _step(self) -> None:
        link = self._link
        wire = link.socket()
        if wire is None:
            raise ConnectionError("the connection was lost")
        with self._changed:
            has_room = len(self._held) < _MAX_HELD and self._held_bytes < MAX_BYTES
        readable, _, _ = select.select([self._ear, wire] if has_room else [self._ear],
                                    [wire] if link.want_write() else [], [], _LOOK_S)
        if self._ear in readable:
            self._ear.recv(4096)
            self._acknowledge()
        if wire in readable:
            self._read()
        if link.want_write():
            link.loop_write()
        link.loop_misc()
        if not has_room:  # the ping response follows unread messages: do not time out
            link._ping_t = 0  # noqa: SLF001 - paho has no public name for it

    def _read(self) -> None:
        """Read all available messages, up to a limit."""
        for _ in range(_MAX_HELD):
            before, wire = len(self._received), self._link.socket()
            if self._link.loop_read() or (len(self._received) == before and not getattr(wire, "pending", int)()):
                break
            if self._received_bytes > MAX_BYTES:
                break
        if self._received:
            with self._changed:
                self._held += self._received
                self._held_bytes += self._received_bytes
                self._changed.notify_all()
            self._received.clear()
            self._received_bytes = 0

    def _on_message(self, link: Any, _: Any, message: Any) -> None:
        self._received.append(message)
        self._received_bytes += len(message.payload)

    def _acknowledge(self) -> None:
        with self._changed:
            taken, self._taken = self._taken, []
        for message in taken:
            if message.qos:
                self._link.ack(message.mid, message.qos)

    def _answered(self, link: Any, _: Any, flags: Any, code: Any, about: Any) -> None:
        if code.is_failure:
            self._end(ConnectionError(f"refused: {code}"))
        else:
            link.subscribe(self._feed.topic, self._feed.qos)

    def _granted(self, link: Any, _: Any, number: int, codes: Any, about: Any) -> None:
        refused = [code for code in codes if code.is_failure]
        if refused:
            self._end(ConnectionError(f"{self._feed.topic!r} is refused: {refused[0]}"))
        with self._changed:
            self._subscribed = not refused
            self._changed.notify_all()

    def _disconnected(self, link: Any, _: Any, flags: Any, code: Any, about: Any) -> None:
        self._end(ConnectionError(f"the connection was lost: {code}"))

    def _end(self, error: Exception) -> None:
        with self._changed:
            self._ended = self._ended or error
            self._changed.notify_all()
