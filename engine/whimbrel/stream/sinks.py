"""Sinks: ``query.start(sink=wb.sinks.parquet("out"))``."""

from functools import partial
from typing import TYPE_CHECKING

from whimbrel.connect.sinks import (
    AudioSink,
    BlocksSink,
    KafkaSink,
    MqttSink,
    NatsSink,
    ParquetSink,
    PostgresSink,
    RedisSink,
)
from whimbrel.migration_hints import absent
from whimbrel.plan import Sink

audio = AudioSink
blocks = BlocksSink
kafka = KafkaSink
mqtt = MqttSink
nats = NatsSink
parquet = ParquetSink
postgres = PostgresSink
redis = RedisSink

__all__ = ["Sink", "audio", "blocks", "kafka", "mqtt", "nats", "parquet", "postgres", "redis"]

if not TYPE_CHECKING:  # type checkers know the names
    __getattr__ = partial(absent("whimbrel.sinks", {}, __all__), None)
