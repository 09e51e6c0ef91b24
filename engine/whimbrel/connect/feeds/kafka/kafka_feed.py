"""Kafka topics."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from copy import copy
from typing import Any, Literal, Unpack

import pyarrow as pa

from whimbrel.connect.feeds.formats.decode import Format
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.kafka.kafka_consumer import Consumer
from whimbrel.connect.feeds.kafka.kafka_settings import METADATA_TIMEOUT_S, TOPIC, KafkaSettings
from whimbrel.connect.feeds.runtime.client import Client, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.validation import check_choice, check_name
from whimbrel.errors import MissingExtraError, PlanError, near_match

_METADATA = {"key": pa.binary(), "partition": pa.int32(), "offset": pa.int64(), "timestamp": pa.timestamp("ms", "UTC"),
           "headers": pa.map_(pa.string(), pa.binary())}


class KafkaFeed(Feed):
    """Messages of a Kafka topic, in the order of each partition; needs ``whimbrel[kafka]``.

    Without a group all partitions are read by this feed, from its own place; those that are added are looked for every
    ten seconds (``topic.metadata.refresh.interval.ms``), and read from their beginning. With a group the partitions are
    shared with all others of the group, and the broker is told how far they were read: when rows are in a checkpoint,
    or, for a run that writes none, when they were taken in. Where the broker no longer has the message that comes next,
    the feed goes on at the earliest that is there, and counts those between as missed. A topic that was deleted and
    made anew, which is looked for as often as partitions are, is read from its beginning, and counted as missed once.

    Without a group, partitions are merged by the timestamps of their messages until each has been read to its end once
    after it was connected: so a backlog needs no more reorder latency than the messages had when they were sent.

    Parameters
    ----------
    topic : str
    servers : str
        ``"host:port,host:port"``.
    time : str
        The event-time column.
    group : str, optional
    start_from : {"earliest", "latest"}
        Where to begin without a place.
    format : {"json", "arrow", "csv"}, Avro, Protobuf or Format
        Of values.
    metadata_columns : sequence of {"key", "partition", "offset", "timestamp", "headers"}
        Columns to add beside the value's, under these names.
    tombstones : {"drop", "dead_letter"}
        What a message without a value is, which deletes a key of a compacted topic: nothing, or a dead letter.
    config : mapping, optional
        Further properties of librdkafka, such as ``security.protocol``. They are in no plan, log or checkpoint.
    schema : pyarrow.Schema or mapping of str to type, optional
        Of values; default: inferred from messages that are there.
    **told
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.

    Raises
    ------
    MissingExtraError
        Without confluent-kafka.
    """

    lost = (OSError, EOFError, TimeoutError, ConnectionError)
    is_of_one_partition = False

    def __init__(self, topic: str, servers: str = "127.0.0.1:9092", *, time: str, group: str | None = None,
                 start_from: Literal["earliest", "latest"] = "earliest", format: str | Format = "json",
                 metadata_columns: Sequence[str] = (), tombstones: Literal["drop", "dead_letter"] = "drop",
                 config: Mapping[str, Any] | None = None, schema: Fields | None = None,
                 **options: Unpack[FeedOptions]) -> None:
        try:
            import confluent_kafka
        except ImportError:
            raise MissingExtraError("confluent-kafka", "kafka", "feeds.kafka()") from None
        where = f"feeds.kafka({topic!r})"
        check_name("topic", topic, where=where)
        check_choice("start_from", start_from, ("earliest", "latest"), where=where)
        check_choice("tombstones", tombstones, ("drop", "dead_letter"), where=where)
        for name in metadata_columns:
            if name not in _METADATA:
                raise PlanError(f"metadata_columns must name metadata of Kafka messages, got {name!r}.", where=where,
                                hint=near_match(name, list(_METADATA)))
        self.library: Any = confluent_kafka
        self.topic, self.servers, self.group, self.start_from = topic, servers, group, start_from
        self.drops_tombstones = tombstones == "drop"
        self.config = dict(config or {})
        options.setdefault("name", topic)
        super().__init__("kafka", time=time, schema=schema, format=format_of(format, where),
                         metadata_columns=pa.schema([(name, _METADATA[name]) for name in metadata_columns]), **options)
        if self.disorder.partition is not None and self.disorder.lag is None:
            raise PlanError("A partitioned Kafka feed needs max_lag: without it no result can settle.", where=where,
                            hint=f"Use partition=wb.PartitionWatermarks(by={self.disorder.partition!r}, "
                                 'max_lag="1h").')

    def connect(self, offset: Offset) -> Client:
        return Consumer(self._settings, offset or {})

    @property
    def _settings(self) -> KafkaSettings:
        return KafkaSettings(self.library, self.topic, self.servers, self.group, self.start_from, self.config,
                             tuple(self.metadata_columns.names), self.drops_tombstones, self.is_of_one_partition,
                             self.read_options.retry_backoff_s[1], self.call)

    def connect_for_sample(self) -> Client:
        alone = copy(self)
        alone.group, alone.start_from = None, "earliest"
        return alone.connect(None)

    def offset_after(self, offset: str, within: str | None, last: Mapping[Any, int]) -> Offset:
        if (within, offset) != ("partition", "offset") or {"partition", "offset"} - {*self.metadata_columns.names}:
            return None
        return {str(partition): number + 1 for partition, number in last.items()}

    def part_of(self, offset: str) -> str | None:
        return "partition" if offset == "offset" and offset in self.metadata_columns.names else None

    def of_one_part(self, offset: str) -> Feed:
        if self.part_of(offset) is None:
            return self
        made = copy(self)
        made.is_of_one_partition = True
        return made

    def check_parts(self) -> None:
        if not self.is_of_one_partition:
            return
        asked = self.library.Consumer({"bootstrap.servers": self.servers, "group.id": f"whimbrel-{uuid.uuid4()}",
                                       "log_level": 0, **self.config})
        with closing(asked), suppress(self.library.KafkaException):  # the client looks when the broker answers
            topics = asked.list_topics(self.topic, timeout=METADATA_TIMEOUT_S).topics
            self._settings.check_partitions(len(topics[self.topic].partitions))

    def is_another(self, before: Offset, after: Offset) -> bool:
        topics = {offset.get(TOPIC) for offset in (before, after) if isinstance(offset, dict)}
        return len(topics - {None}) == 2
