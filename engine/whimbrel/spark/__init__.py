"""Spark as a source, and as an executor of queries."""

from whimbrel.spark.execution import SparkExecution, collect_on_spark
from whimbrel.spark.explain import explain_on_spark
from whimbrel.spark.feed import SparkFeed
from whimbrel.spark.load import SparkSource, spark_source
from whimbrel.spark.session import has_java, local_session
from whimbrel.spark.sink import SparkSink
from whimbrel.spark.streaming_query import SparkRun

__all__ = [
    "SparkExecution",
    "SparkFeed",
    "SparkRun",
    "SparkSink",
    "SparkSource",
    "collect_on_spark",
    "explain_on_spark",
    "has_java",
    "local_session",
    "spark_source",
]
