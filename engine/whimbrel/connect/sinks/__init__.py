"""Sinks of settled rows."""

from whimbrel.connect.sinks.audio import AudioSink
from whimbrel.connect.sinks.delta import DeltaSink
from whimbrel.connect.sinks.file_folders import CsvSink, IpcSink, JsonSink
from whimbrel.connect.sinks.iceberg import IcebergSink
from whimbrel.connect.sinks.kafka import KafkaSink
from whimbrel.connect.sinks.mqtt import MqttSink
from whimbrel.connect.sinks.nats import NatsSink
from whimbrel.connect.sinks.parquet import ParquetSink
from whimbrel.connect.sinks.postgres import PostgresSink
from whimbrel.connect.sinks.redis import RedisSink
from whimbrel.connect.sinks.sample_blocks import BlocksSink
from whimbrel.connect.sinks.webhook import WebhookSink

__all__ = [
    "AudioSink", "BlocksSink", "CsvSink", "DeltaSink", "IcebergSink", "IpcSink", "JsonSink", "KafkaSink", "MqttSink",
    "NatsSink", "ParquetSink", "PostgresSink", "RedisSink", "WebhookSink",
]
