"""Topics of an MQTT broker, version 5."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Literal, Unpack
from urllib.parse import urlsplit

import pyarrow as pa

from whimbrel.connect.addresses import checked_url
from whimbrel.connect.feeds.client import Client, Delivery, Place
from whimbrel.connect.feeds.decoding import Format, format_of
from whimbrel.connect.feeds.enforce import Fields
from whimbrel.connect.feeds.feed import Feed, Usual
from whimbrel.errors import MissingExtraError

_CONNECT_S = 10.0
_KEPT_S = 7 * 86_400
_MOST_MESSAGES = 8_192


class MqttFeed(Feed):
    """Messages of MQTT topics; needs ``whimbrel[mqtt]``.

    MQTT has no offsets. With a `session` and quality of service 1 or 2, the broker keeps what comes while nobody is
    connected; it forgets a message when this client has received it, so what a killed process held is lost.

    Parameters
    ----------
    topic : str
        May have wildcards, such as ``"plants/+/power"``.
    url : str
        ``mqtt://user:password@host:port``. The password is in no plan, log or checkpoint.
    time : str
        The event-time column.
    qos : {0, 1, 2}
    session : str, optional
        The client's name, under which the broker keeps its session.
    with_topic : bool
        Add the topic of each message as the column ``topic``.
    format : str or Format
    schema : pyarrow.Schema or mapping of str to type, optional
    options : mapping, optional
        Further arguments of ``aiomqtt.Client``, such as ``tls_context``.
    **told
        What every feed can be told. See :class:`whimbrel.connect.feeds.feed.Usual`.
    """

    def __init__(self, topic: str, url: str = "mqtt://127.0.0.1:1883", *, time: str, qos: Literal[0, 1, 2] = 1,
                 session: str | None = None, with_topic: bool = False, format: str | Format = "json",
                 schema: Fields | None = None, options: Mapping[str, Any] | None = None,
                 **told: Unpack[Usual]) -> None:
        try:
            import aiomqtt
        except ImportError:
            raise MissingExtraError("aiomqtt", "mqtt", "feeds.mqtt()") from None
        self.library: Any = aiomqtt
        self.lost = (OSError, EOFError, TimeoutError, aiomqtt.MqttError)
        self.topic, self.url, self.qos = topic, urlsplit(checked_url(url, "mqtt", "mqtts")), qos
        self.session, self.options = session, options or {}
        told.setdefault("name", topic)
        super().__init__("mqtt", time=time, schema=schema, format=format_of(format, f"feeds.mqtt({topic!r})"),
                         beside=pa.schema([("topic", pa.string())] if with_topic else []), **told)

    def connect(self, place: Place) -> Client:
        return _Subscriber(self)


class _Subscriber(Client):
    """A loop of its own that receives, while the thread that reads takes what is there."""

    def __init__(self, feed: MqttFeed) -> None:
        self._feed = feed
        self._held: list[tuple[bytes, str]] = []
        self._changed = threading.Condition()
        self._ended: BaseException | None = None
        self._ready: Future[None] = Future()
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="whimbrel-mqtt", daemon=True)
        self._thread.start()
        try:
            self._ready.result(_CONNECT_S)
        except BaseException:
            self.close()
            raise

    def receive(self, timeout_s: float) -> Delivery | None:
        with self._changed:
            self._changed.wait_for(lambda: self._held or self._ended, timeout_s)
            held, self._held = self._held, []
            if not held and self._ended is not None:
                raise self._ended
        if not held:
            return None
        return Delivery([message for message, _ in held], None,
                        {field.name: [topic for _, topic in held] for field in self._feed.beside})

    def close(self) -> None:
        if self._task is not None:
            with suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(_CONNECT_S)

    def _run(self) -> None:
        self._task = self._loop.create_task(self._listen())
        try:
            self._loop.run_until_complete(self._task)
        except BaseException as error:  # noqa: BLE001 - it is raised where rows are asked for
            with self._changed:
                self._ended = ConnectionError("closed") if isinstance(error, asyncio.CancelledError) else error
                self._changed.notify_all()
            if not self._ready.done():
                self._ready.set_exception(self._ended)
        finally:
            self._loop.close()

    async def _listen(self) -> None:
        feed, library = self._feed, self._feed.library
        properties: Any = None
        if feed.session is not None:
            from paho.mqtt.packettypes import PacketTypes
            from paho.mqtt.properties import Properties

            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = _KEPT_S
        async with library.Client(
                feed.url.hostname or "127.0.0.1", feed.url.port or 1883, username=feed.url.username,
                password=feed.url.password, identifier=feed.session, protocol=library.ProtocolVersion.V5,
                clean_start=feed.session is None, properties=properties, **feed.options) as client:
            await client.subscribe(feed.topic, qos=feed.qos)
            self._ready.set_result(None)
            async for message in client.messages:
                while len(self._held) >= _MOST_MESSAGES:  # noqa: ASYNC110 - another thread makes room
                    await asyncio.sleep(0.01)
                with self._changed:
                    self._held.append((bytes(message.payload), str(message.topic)))
                    self._changed.notify_all()
