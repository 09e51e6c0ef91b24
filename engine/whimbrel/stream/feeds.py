"""Feeds: streams with a connection, such as ``wb.feeds.kafka("flights", ...)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, ParamSpec

from whimbrel.clock import Duration, Rate
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
from whimbrel.connect.feeds.signals.block_feed import BlockFeed
from whimbrel.connect.feeds.signals.lsl import LslFeed
from whimbrel.connect.feeds.signals.sound_card import SoundCardFeed
from whimbrel.connect.feeds.signals.udp import UdpFeed
from whimbrel.connect.feeds.signals.waves import WavesFeed
from whimbrel.connect.feeds.socket import SocketFeed
from whimbrel.connect.feeds.synthetic import SyntheticFeed
from whimbrel.connect.feeds.tables.delta_feed import DeltaFeed
from whimbrel.connect.feeds.tables.iceberg_feed import IcebergFeed
from whimbrel.connect.feeds.websocket import WebSocketFeed
from whimbrel.connect.packets.flow_feed import FlowFeed
from whimbrel.connect.packets.packet_feed import PacketFeed
from whimbrel.errors import PlanError
from whimbrel.migration_hints import FEEDS, absent
from whimbrel.operators import BlockSamples
from whimbrel.operators.rows.block_samples import Duplicates
from whimbrel.plan import Node, Source
from whimbrel.stream.checked_call import checked_call
from whimbrel.stream.read_signals import with_samples
from whimbrel.stream.stream import Stream

Options = ParamSpec("Options")


def _stream_of(name: str, feed: Callable[Options, Feed]) -> Callable[Options, Stream]:
    """Turn a constructor of feeds into a constructor of streams.

    A feed whose rows are blocks of samples becomes a stream of samples.
    """
    @wraps(feed)
    def made(*args: Options.args, **options: Options.kwargs) -> Stream:
        source = feed(*args, **options)
        if not isinstance(source, BlockFeed):
            return Stream(Node(source))
        return Stream(with_samples(source, source.channels, source.rate, duplicates="first", call=source.call))

    return checked_call(made, f"feeds.{name}")


def samples_of(feed: Stream, samples: str | Sequence[str], *, rate: Rate, jitter: Duration | None = None,
               duplicates: Duplicates = "raise") -> Stream:
    """Turn a feed of blocks into a stream of samples.

    Each message has a block of samples, as a list for each channel, and the time of the first one.

    Parameters
    ----------
    feed : Stream
        The feed itself, without further steps.
    samples : str or sequence of str
        Columns with a block of samples in each row. The stream has an event for each sample, and these columns only.
        Blocks are sorted as blocks, and late ones are treated as late rows. Samples that no block has are gaps.
    rate : int, float, str, Fraction or Decimal
        Samples per second.
    jitter : str, timedelta or int (ticks), optional
        Most time between a block and its first sample. Default: one tick.
    duplicates : {"raise", "first"}
        Overlapping blocks with equal samples give them once. Different samples are an error, or the first ones stay.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import whimbrel as wb
    >>> rows = [{"at": 0, "x": [1, 2]}, {"at": 3000, "x": [4]}]
    >>> feed = wb.feeds.iterator(lambda: rows, time="at", schema={"at": "timestamp[us]", "x": pa.list_(pa.int16())})
    >>> wb.feeds.samples_of(feed, "x", rate=1000).collect_samples().gaps
    [(2, 1)]
    """
    source = feed.node.op if isinstance(feed, Stream) else feed
    if not isinstance(source, Source) or not source.live:
        raise PlanError("samples_of() needs a feed without further steps.", where="samples_of(...)",
                        hint="Pass the feed itself; read_parquet() and from_arrow() have samples=.")
    return Stream(with_samples(source, samples, rate, jitter=jitter, duplicates=duplicates, call="samples_of"))


audio = _stream_of("audio", SoundCardFeed)
delta = _stream_of("delta", DeltaFeed)
directory = _stream_of("directory", DirectoryFeed)
sse = _stream_of("sse", SseFeed)
flight = _stream_of("flight", FlightFeed)
http = _stream_of("http", HttpFeed)
iceberg = _stream_of("iceberg", IcebergFeed)
iterator = _stream_of("iterator", IteratedFeed)
kafka = _stream_of("kafka", KafkaFeed)
lsl = _stream_of("lsl", LslFeed)
mqtt = _stream_of("mqtt", MqttFeed)
nats = _stream_of("nats", NatsFeed)
netflow = _stream_of("netflow", FlowFeed)
postgres = _stream_of("postgres", PostgresFeed)
postgres_cdc = _stream_of("postgres_cdc", PostgresCdcFeed)
redis = _stream_of("redis", RedisFeed)
socket = _stream_of("socket", SocketFeed)
synthetic = _stream_of("synthetic", SyntheticFeed)
tail = _stream_of("tail", TailFeed)
pcap = _stream_of("pcap", PacketFeed)
udp = _stream_of("udp", UdpFeed)
waves = _stream_of("waves", WavesFeed)
websocket = _stream_of("websocket", WebSocketFeed)


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
    if isinstance(feed, Stream) and isinstance(source, BlockSamples):
        source = feed.node.inputs[0].op
    if not isinstance(source, Feed):
        raise PlanError("dead_letters() needs a feed without further steps.", where="dead_letters(...)",
                        hint="Pass the feed itself: wb.feeds.dead_letters(feed).")
    return Stream(Node(DeadLetterSource(source.name, source.dead_letters)))


__all__ = ["Avro", "Conflate", "Csv", "FeedStatus", "HybridSource", "Overload", "Protobuf", "Sample", "WidenHop",
           "audio", "dead_letters", "delta", "directory", "flight", "http", "iceberg", "iterator", "kafka", "lsl",
           "mqtt", "nats", "netflow", "pcap", "postgres", "postgres_cdc", "redis", "samples_of", "socket", "sse",
           "synthetic", "tail", "udp", "waves", "websocket"]


if not TYPE_CHECKING:  # type checkers know the names
    __getattr__ = partial(absent("whimbrel.feeds", FEEDS, __all__), None)


def __dir__() -> list[str]:
    """Names that a notebook completes after ``wb.feeds.``."""
    return __all__
