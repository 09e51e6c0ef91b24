"""Sinks of settled rows."""

from whimbrel.connect.sinks.audio import AudioSink
from whimbrel.connect.sinks.kafka import KafkaSink
from whimbrel.connect.sinks.mqtt import MqttSink
from whimbrel.connect.sinks.nats import NatsSink
from whimbrel.connect.sinks.parquet import ParquetSink
from whimbrel.connect.sinks.postgres import PostgresSink
from whimbrel.connect.sinks.redis import RedisSink
from whimbrel.connect.sinks.sample_blocks import BlocksSink

__all__ = ["AudioSink", "BlocksSink", "KafkaSink", "MqttSink", "NatsSink", "ParquetSink", "PostgresSink", "RedisSink"]
