"""Sources as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from whimbrel.connect import ArrowSource, ParquetSource
from whimbrel.errors import PlanError
from whimbrel.plan import Source
from whimbrel.spark.load import SparkSource
from whimbrel.spark.rows import Rows, as_type
from whimbrel.spark.types import fitting, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_SENT_BYTES = 64 << 20


def rows_of(source: Source, spark: SparkSession, where: str) -> Rows:
    """The rows of a source where Spark's tasks can have them.

    Raises
    ------
    PlanError
        For sources that are only here, and too large to be sent along.
    SchemaError
        For columns of a type that Spark has not.
    """
    match source:
        case SparkSource():
            return Rows(source.frame, source.schema, source.timeline)
        case ParquetSource():
            return Rows(spark.read.parquet(*map(str, source.paths)), source.schema, source.timeline)
        case ArrowSource() if source.nbytes <= MOST_SENT_BYTES:
            table = source.table
            fields = pa.schema([(field.name, fitting(field.type, field.name, where)) for field in source.schema])
            arrays = [pa.chunked_array([as_type(chunk, field.type) for chunk in table.column(field.name).chunks],
                                       field.type) for field in fields]
            sent = pa.Table.from_arrays(arrays, schema=fields)
            return Rows(spark.createDataFrame(sent, spark_schema(fields)), source.schema, source.timeline)
        case ArrowSource():
            raise PlanError(f"{source.name} has {source.nbytes >> 20:,} MiB in memory here, too much to send along.",
                            where=where, hint="write it to Parquet and read that, or read it with Spark")
    raise PlanError(f"{source.name} cannot be read by Spark's tasks.", where=where,
                    hint="read it with from_spark, read_parquet or from_arrow")
