"""Kafka topics as feeds."""

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
from whimbrel.connect.validation import check_choice, check_name, checked_mapping
from whimbrel.errors import MissingExtraError, PlanError, near_match

_METADATA = {"key": pa.binary(), "partition": pa.int32(), "offset": pa.int64(), "timestamp": pa.timestamp("ms", "UTC"),
           "headers": pa.map_(pa.string(), pa.binary())}


class KafkaFeed(Feed):
    """Feed of a Kafka topic, in the order of each partition.

    Needs ``whimbrel[kafka]``.

    Without a consumer group, the feed reads all partitions from its own offsets. It finds new partitions every ten
    seconds (``topic.metadata.refresh.interval.ms``) and reads them from their beginning. With a consumer group, the
    group shares the partitions. The feed commits offsets to the broker when a checkpoint contains the rows, or, in a
    run without checkpoints, when the query reads the next rows.

    If the next message has expired at the broker, the feed continues with the earliest message and counts those
    between as lost. If the topic was deleted and recreated, the feed reads it from its beginning and counts one loss.

    Without a group, the feed merges partitions by message timestamp until it has read each one to its end once. A
    backlog therefore needs no more reorder latency than live messages.

    Parameters
    ----------
    topic : str
    servers : str
        ``"host:port,host:port"``.
    time : str
        The event-time column.
    group : str, optional
        The consumer group.
    start_from : {"earliest", "latest"}
        Where to start without an offset.
    format : {"json", "arrow", "csv"}, Avro, Protobuf or Format
        Format of message values.
    metadata_columns : sequence of {"key", "partition", "offset", "timestamp", "headers"}
        Metadata columns to add.
    tombstones : {"drop", "dead_letter"}
        What happens to a message without a value, which deletes a key of a compacted topic.
    config : mapping, optional
        Further properties of librdkafka, such as ``security.protocol``. They are in no plan, log or checkpoint.
    schema : pyarrow.Schema or mapping of str to type, optional
        Schema of message values. Default: inferred from existing messages.
    **options
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
        self.config = checked_mapping("config", config, where=where)
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
        with closing(asked), suppress(self.library.KafkaException):  # the consumer checks again when it connects
            topics = asked.list_topics(self.topic, timeout=METADATA_TIMEOUT_S).topics
            self._settings.check_partitions(len(topics[self.topic].partitions))

    def is_another(self, before: Offset, after: Offset) -> bool:
        topics = {offset.get(TOPIC) for offset in (before, after) if isinstance(offset, dict)}
        return len(topics - {None}) == 2
