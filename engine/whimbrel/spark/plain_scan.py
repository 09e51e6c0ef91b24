"""DataFrames that are nothing but Parquet files: reading these through Arrow is ten times as fast as through Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from whimbrel.connect.parquet_files import ParquetFiles
from whimbrel.connect.plain import plain_type
from whimbrel.errors import WhimbrelError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SQL = "org.apache.spark.sql."
_PROJECT = _SQL + "catalyst.plans.logical.Project"
_ATTRIBUTE = _SQL + "catalyst.expressions.AttributeReference"
_RELATION = _SQL + "execution.datasources.LogicalRelation"
_FILES_RELATION = _SQL + "execution.datasources.HadoopFsRelation"
_PARQUET = _SQL + "execution.datasources.parquet.ParquetFileFormat"
_FILE_INDEXES = {_SQL + "execution.datasources." + name for name in ("InMemoryFileIndex", "CatalogFileIndex")}


def plain_parquet(frame: DataFrame, fields: pa.Schema, *, where: str) -> ParquetFiles | None:
    """The local files that hold exactly the rows of a DataFrame, or None when Spark has to make them.

    Exactly means: the optimized plan is a scan of unpartitioned Parquet files, below nothing but a choice of columns,
    and the files hold these columns in the types that Spark promises. Any other node (a filter, a limit, a sample, an
    alias, a cached result) and any other class of relation (a Delta table, say) is Spark's work.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    fields : pyarrow.Schema
        The DataFrame's columns, from :func:`~whimbrel.spark.types.arrow_schema`.
    """
    if not _scans_parquet_only(frame._jdf.queryExecution().optimizedPlan()):  # noqa: SLF001 - the only way to the plan
        return None
    addresses = [urlsplit(uri) for uri in frame.inputFiles()]
    if not addresses or any(address.scheme != "file" for address in addresses):
        return None
    try:
        files = ParquetFiles(sorted(Path(unquote(address.path)) for address in addresses), where=where)
    except WhimbrelError:  # files of several schemas, for example: Spark knows how to merge them
        return None
    return files if all(_same(files, field) for field in fields) else None


def _scans_parquet_only(plan: Any) -> bool:
    if _class(plan) == _PROJECT:
        chosen = plan.projectList()
        if any(_class(chosen.apply(index)) != _ATTRIBUTE for index in range(chosen.size())):
            return False
        plan = plan.child()
    if _class(plan) != _RELATION or _class(plan.relation()) != _FILES_RELATION:
        return False
    relation = plan.relation()
    return (_class(relation.fileFormat()) == _PARQUET and _class(relation.location()) in _FILE_INDEXES
            and relation.partitionSchema().size() == 0)


def _class(java_object: Any) -> str:
    return str(java_object.getClass().getName())


def _same(files: ParquetFiles, field: pa.Field) -> bool:
    if field.name not in files.schema.names:
        return False
    found = plain_type(files.schema.field(field.name).type)
    if found == field.type or field.name in files.int96:
        return True
    moments = pa.types.is_timestamp(found) and pa.types.is_timestamp(field.type)
    return bool(moments and found.unit in ("ms", "us") and (found.tz is None) == (field.type.tz is None))
