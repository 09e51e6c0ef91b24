"""Where settled rows go while a query runs: ``query.start(to=wb.sinks.parquet("out"))``."""

from whimbrel.connect.sinks import KafkaSink, ParquetSink, PostgresSink, RedisSink
from whimbrel.plan import Sink

kafka = KafkaSink
parquet = ParquetSink
postgres = PostgresSink
redis = RedisSink

__all__ = ["Sink", "kafka", "parquet", "postgres", "redis"]
