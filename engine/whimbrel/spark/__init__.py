"""Logs loaded by Spark, and queries carried by it. Nothing here imports pyspark until it is used."""

from whimbrel.spark.carry import collect_on_spark, on_spark
from whimbrel.spark.load import SparkSource
from whimbrel.spark.session import has_java, local_session

__all__ = ["SparkSource", "collect_on_spark", "has_java", "local_session", "on_spark"]
