"""Where streams of Spark's begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.clock.duration import Duration
from whimbrel.plan import Node
from whimbrel.spark.load import SparkSource
from whimbrel.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def from_spark(frame: DataFrame, *, time: str, end: str | None = None, arrival: str | None = None,
               reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None) -> Stream:
    """Events of a Spark DataFrame; no job runs now. Parameters and errors as in :class:`SparkSource`.

    Examples
    --------
    ``wb.from_spark(spark.read.parquet("logs/").where("level = 'error'"), time="at")``
    """
    return Stream(Node(SparkSource(frame, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency,
                                   late=late, name=name)))
