"""Feeds: streams with a connection, such as ``wb.feeds.kafka("flights", ...)``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, ParamSpec

from whimbrel.connect.feeds import Conflate, DeadLetterSource, Feed, FeedStatus, Overload, Sample, WidenHop
from whimbrel.connect.feeds.files.directory import DirectoryFeed
from whimbrel.connect.feeds.files.tail import TailFeed
from whimbrel.connect.feeds.flight import FlightFeed
from whimbrel.connect.feeds.formats.avro_format import Avro
from whimbrel.connect.feeds.formats.csv_format import Csv
from whimbrel.connect.feeds.formats.protobuf_format import Protobuf
from whimbrel.connect.feeds.http.http_feed import HttpFeed, SseFeed
from whimbrel.connect.feeds.iterator import IteratedFeed
from whimbrel.connect.feeds.kafka.kafka_feed import KafkaFeed
from whimbrel.connect.feeds.mqtt import MqttFeed
from whimbrel.connect.feeds.nats import NatsFeed
from whimbrel.connect.feeds.postgres.postgres_cdc import PostgresCdcFeed
from whimbrel.connect.feeds.postgres.postgres_feed import PostgresFeed
from whimbrel.connect.feeds.redis.redis_feed import RedisFeed
from whimbrel.connect.feeds.runtime.hybrid_source import HybridSource
from whimbrel.connect.feeds.socket import SocketFeed
from whimbrel.connect.feeds.synthetic import SyntheticFeed
from whimbrel.connect.feeds.websocket import WebSocketFeed
from whimbrel.errors import PlanError
from whimbrel.migration_hints import FEEDS, absent
from whimbrel.plan import Node
from whimbrel.stream.stream import Stream

Options = ParamSpec("Options")


def _stream_of(feed: Callable[Options, Feed]) -> Callable[Options, Stream]:
    """Turn a constructor of feeds into a constructor of streams."""
    @wraps(feed)
    def made(*args: Options.args, **options: Options.kwargs) -> Stream:
        return Stream(Node(feed(*args, **options)))

    return made


directory = _stream_of(DirectoryFeed)
sse = _stream_of(SseFeed)
flight = _stream_of(FlightFeed)
http = _stream_of(HttpFeed)
iterator = _stream_of(IteratedFeed)
kafka = _stream_of(KafkaFeed)
mqtt = _stream_of(MqttFeed)
nats = _stream_of(NatsFeed)
postgres = _stream_of(PostgresFeed)
postgres_cdc = _stream_of(PostgresCdcFeed)
redis = _stream_of(RedisFeed)
socket = _stream_of(SocketFeed)
synthetic = _stream_of(SyntheticFeed)
tail = _stream_of(TailFeed)
websocket = _stream_of(WebSocketFeed)


def dead_letters(feed: Stream) -> Stream:  # word allowed: a message of a dead-letter queue is a dead letter
    """Create a stream of a feed's dead-letter queue.

    Columns: at, reason, message (its first 4 kB) and size.

    The newest 5,000 messages are kept until they are read. One row gives the number of older ones. All are counted by
    reason in ``run.metrics.feeds``.

    Start it together with a query on the feed: ``wb.start(query, wb.feeds.dead_letters(feed))``.

    Parameters
    ----------
    feed : Stream
        The feed itself, without further steps.

    Examples
    --------
    >>> import whimbrel as wb
    >>> feed = wb.feeds.iterator(lambda: [{"at": 1}, {"at": None}], time="at")
    >>> run, letters = wb.start(feed, wb.feeds.dead_letters(feed))
    >>> run.wait(), letters.wait()
    (True, True)
    >>> letters.snapshot().table["reason"].to_pylist()
    ["no time: 'at' is null"]
    """
    source = feed.node.op if isinstance(feed, Stream) else feed
    if not isinstance(source, Feed):
        raise PlanError("dead_letters() needs a feed without further steps.", where="dead_letters(...)",
                        hint="Pass the feed itself: wb.feeds.dead_letters(feed).")
    return Stream(Node(DeadLetterSource(source.name, source.dead_letters)))


__all__ = ["Avro", "Conflate", "Csv", "FeedStatus", "HybridSource", "Overload", "Protobuf", "Sample", "WidenHop",
           "dead_letters", "directory", "flight", "http", "iterator", "kafka", "mqtt", "nats", "postgres",
           "postgres_cdc", "redis", "socket", "sse", "synthetic", "tail", "websocket"]


if not TYPE_CHECKING:  # type checkers know the names
    __getattr__ = partial(absent("whimbrel.feeds", FEEDS, __all__), None)


def __dir__() -> list[str]:
    """Names that a notebook completes after ``wb.feeds.``."""
    return __all__
