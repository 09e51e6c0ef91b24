"""Sources as DataFrames."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from whimbrel.connect import ArrowSource, ParquetSource
from whimbrel.connect.files.data_file import RemoteFile
from whimbrel.connect.table_formats.delta_source import DeltaSource
from whimbrel.connect.table_formats.iceberg_source import IcebergSource
from whimbrel.errors import PlanError, SchemaError
from whimbrel.plan import Source
from whimbrel.spark.errors import failure
from whimbrel.spark.load import SparkSource
from whimbrel.spark.rows import SparkRows, quoted
from whimbrel.spark.types import fitting, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_SENT_BYTES = 64 << 20


def rows_of(source: Source, spark: SparkSession, where: str) -> SparkRows:
    """The rows of a source where Spark's tasks can have them.

    Raises
    ------
    PlanError
        For sources that are only here, and too large to be sent along.
    SchemaError
        For columns of a type that Spark has not, and for values that it cannot hold.
    SourceError
        For files that Spark cannot read, such as those of nanoseconds.
    """
    match source:
        case SparkSource():
            return SparkRows(source.frame, source.schema, source.timeline)
        case ParquetSource():
            return SparkRows(_read(source, spark, where), source.schema, source.timeline)
        case ArrowSource() if source.nbytes <= MAX_SENT_BYTES:
            table = source.table
            fields = pa.schema([(field.name, fitting(field.type, field.name, where)) for field in source.schema])
            sent = pa.Table.from_arrays([_spelled_out(table.column(field.name), field, where) for field in fields],
                                        schema=fields)
            return SparkRows(spark.createDataFrame(sent, spark_schema(fields)), source.schema, source.timeline)
        case ArrowSource():
            raise PlanError(f"{source.name} has {source.nbytes >> 20:,} MiB in memory, too much to send to Spark.",
                            where=where, hint="Write it to Parquet and read that, or read it with Spark.")
    if source.sampling is not None:
        raise PlanError(f"{source.name} has samples, which Spark cannot read from several tasks.", where=where,
                        hint="Leave exchange= out, or write blocks with wb.sinks.blocks(...) and read them.")
    raise PlanError(f"Spark's tasks cannot read {source.name}.", where=where,
                    hint="Use from_spark, read_parquet or from_arrow.")


def is_table(source: Source) -> bool:
    """Whether Spark can have the rows of a source as a DataFrame; otherwise tasks read the source themselves."""
    return isinstance(source, SparkSource | ParquetSource | ArrowSource)


def _read(source: ParquetSource, spark: SparkSession, where: str) -> DataFrame:
    """Files as Spark reads them: those of like types together, each in the types of all."""
    from pyspark.errors import PySparkException
    from pyspark.sql.functions import lit

    if isinstance(source, (DeltaSource, IcebergSource)):
        raise PlanError(f"Spark cannot read {source.name} by its files, because the metadata of the table names them.",
                        where=where, hint='Use wb.from_spark(...) with a DataFrame of the table.')
    if any(isinstance(path, RemoteFile) for path in source.paths):
        raise PlanError(f"Spark cannot use the credentials with which {source.name} was opened.", where=where,
                        hint="Use wb.from_spark(spark.read.parquet(...)), with credentials of Spark.")
    try:
        first, *others = (spark.read.parquet(*map(str, paths)) for paths in source.alike())
        if not others:
            return first
        fields = [pa.field(field.name, fitting(field.type, field.name, where)) for field in source.schema]
        types = spark_schema(pa.schema(fields))
        alike = [frame.select(*((frame[quoted(field.name)] if field.name in frame.columns else lit(None))
                                .cast(field.dataType).alias(field.name) for field in types))
                 for frame in (first, *others)]
        return reduce(lambda above, below: above.unionAll(below), alike)
    except PySparkException as error:
        raise failure(f"Spark cannot read {source.name}", error, where=where,
                      hint="Leave exchange= out: tasks then read files as this process does.") from error


def _spelled_out(column: pa.ChunkedArray, field: pa.Field, where: str) -> pa.ChunkedArray:
    """The values of a column as Spark holds them; it has no dictionaries, and nothing finer than a microsecond."""
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise SchemaError(f"Cannot send column {field.name!r} to Spark: {error}.", where=where,
                          hint="Cast it first, for example to timestamp('us').") from error
