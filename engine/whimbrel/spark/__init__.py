"""Logs loaded by Spark. Nothing here imports pyspark until it is used."""

from whimbrel.spark.load import SparkSource
from whimbrel.spark.read import from_spark
from whimbrel.spark.session import has_java, local_session

__all__ = ["SparkSource", "from_spark", "has_java", "local_session"]
