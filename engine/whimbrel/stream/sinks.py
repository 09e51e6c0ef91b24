"""Sinks: ``query.start(sink=wb.sinks.parquet("out"))``."""

from functools import partial
from typing import TYPE_CHECKING

from whimbrel.connect.sinks import (
    AudioSink,
    BlocksSink,
    CsvSink,
    DeltaSink,
    IcebergSink,
    IpcSink,
    JsonSink,
    KafkaSink,
    MqttSink,
    NatsSink,
    ParquetSink,
    PostgresSink,
    RedisSink,
    WebhookSink,
)
from whimbrel.migration_hints import absent
from whimbrel.plan import Sink

audio = AudioSink
blocks = BlocksSink
csv = CsvSink
delta = DeltaSink
iceberg = IcebergSink
ipc = IpcSink
json = JsonSink
kafka = KafkaSink
mqtt = MqttSink
nats = NatsSink
parquet = ParquetSink
postgres = PostgresSink
redis = RedisSink
webhook = WebhookSink

__all__ = [
    "Sink", "audio", "blocks", "csv", "delta", "iceberg", "ipc", "json", "kafka", "mqtt", "nats", "parquet", "postgres",
    "redis", "webhook",
]

if not TYPE_CHECKING:  # type checkers know the names
    __getattr__ = partial(absent("whimbrel.sinks", {}, __all__), None)
