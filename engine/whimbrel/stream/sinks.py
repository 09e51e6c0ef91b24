"""Sinks: ``query.start(sink=wb.sinks.parquet("out"))``."""

from whimbrel.connect.sinks import KafkaSink, MqttSink, NatsSink, ParquetSink, PostgresSink, RedisSink
from whimbrel.plan import Sink

kafka = KafkaSink
mqtt = MqttSink
nats = NatsSink
parquet = ParquetSink
postgres = PostgresSink
redis = RedisSink

__all__ = ["Sink", "kafka", "mqtt", "nats", "parquet", "postgres", "redis"]
