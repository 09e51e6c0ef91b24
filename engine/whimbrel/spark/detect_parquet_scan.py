"""Detect DataFrames that only scan Parquet files, to read them through Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import parquet

from whimbrel.batch import plain_type
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.connect.files.parquet_files import ParquetFiles
from whimbrel.connect.files.paths import shown_apart
from whimbrel.errors import SchemaError, WhimbrelError
from whimbrel.spark.parquet_files import PlainFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SQL = "org.apache.spark.sql."
_PROJECT = _SQL + "execution.ProjectExec"
_FILTER = _SQL + "execution.FilterExec"
_ATTRIBUTE = _SQL + "catalyst.expressions.AttributeReference"
_SCAN = _SQL + "execution.FileSourceScanExec"
_PARQUET = _SQL + "execution.datasources.parquet.ParquetFileFormat"
_OLD_CALENDAR = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
_FILE_INDEXES = {_SQL + "execution.datasources." + name for name in ("InMemoryFileIndex", "CatalogFileIndex")}
_OTHER_TYPE = "PARQUET_COLUMN_DATA_TYPE_MISMATCH"
"""How Spark calls it that a file has a column in a type that is not the DataFrame's."""


def plain_parquet(frame: DataFrame, fields: pa.Schema, *, where: str) -> PlainFiles | None:
    """The local files that hold exactly the rows of a DataFrame, or None when Spark has to make them.

    Exactly means: Spark itself would do nothing but scan Parquet files and choose among their columns, and the files
    hold these columns in the types and in the calendar that Spark promises. A filter on the columns that folders name
    chooses files. Any other step (a filter, a limit, a sample, an alias, a cached result) and any other class of
    relation (a Delta table, say) is Spark's work.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    fields : pyarrow.Schema
        The DataFrame's columns, from :func:`~whimbrel.spark.types.arrow_schema`.

    Raises
    ------
    SchemaError
        For a column that Spark takes for narrower than some file has it: Spark's job would fail, or cut off values.
    """
    plan = frame._jdf.queryExecution().sparkPlan()  # noqa: SLF001 - the only way to the plan
    scan = _only_scan(plan)
    if scan is None or _has_subquery(frame, scan):
        return None
    named = [field.name() for field in _each(scan.relation().partitionSchema())]
    found = [(urlsplit(uri), values) for uri, values in _files(scan, named)]
    known = [fields.field(name) for name in named if name in fields.names]
    if not found or any(address.scheme != "file" for address, _ in found) or not all(
            pa.types.is_integer(field.type) or pa.types.is_string(field.type) or pa.types.is_date32(field.type)
            for field in known):
        return None
    constants: dict[DataFile, Any] = {Path(unquote(address.path)): values for address, values in found}
    if len(constants) < len(found):  # one that was named twice is read twice
        return None
    try:
        files = ParquetFiles(sorted(constants, key=natural_path), where=where, wanted=fields.names)
    except WhimbrelError:  # files of several schemas, for example: Spark knows how to merge them
        return None
    if not files.complete:
        return None
    others = [field for field in fields if field.name not in named and not _same(files, field)]
    for field in others:
        if field.name in files.schema.names:
            files.check_spark_type(field.name, field.type, null=pa.int32())
    if others or any(map(_by_old_calendar, files.notes)):
        return None
    return PlainFiles(files, pa.schema(known), constants)


def check_texts(frame: DataFrame, error: Exception, where: str) -> None:
    """Where Spark failed over local Parquet files some of which have a text where others have a number, say of which.

    Spark reads neither as the other, and names one file alone.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        What was read.
    error : Exception
        How Spark failed.
    where : str
        The user's call, for errors.

    Raises
    ------
    SchemaError
        It names the column, and a file of each kind.
    """
    if _OTHER_TYPE not in str(error):
        return
    plan = frame._jdf.queryExecution().sparkPlan()  # noqa: SLF001 - the only way to the plan
    while _class(plan) in (_PROJECT, _FILTER):
        plan = plan.child()
    scan = _only_scan(plan)
    if scan is None:
        return
    named = [field.name() for field in _each(scan.relation().partitionSchema())]
    addresses = [urlsplit(uri) for uri, _ in _files(scan, named)]
    if any(address.scheme != "file" for address in addresses):
        return
    names = {field.name() for field in _each(scan.requiredSchema())}
    kinds: dict[str, dict[bool, tuple[Path, pa.DataType]]] = {name: {} for name in names}
    for file in sorted((Path(unquote(address.path)) for address in addresses), key=natural_path):
        try:
            schema = parquet.read_schema(file)
        except (pa.ArrowInvalid, OSError):
            continue  # Spark says what is the matter with it
        for name in names & set(schema.names):
            type_ = plain_type(schema.field(name).type)
            if (is_text := pa.types.is_string(type_) or pa.types.is_large_string(type_)) or _is_number(type_):
                kinds[name].setdefault(is_text, (file, type_))
    for name, found in kinds.items():
        if len(found) == 2:
            (one, here), (other, there) = found.values()
            first, second = shown_apart(one, other)
            raise SchemaError(f"Column {name!r} is {here} in {first!r} and {there} in {second!r}; Spark reads neither "
                              "as the other.", where=where,
                              hint="Write one type in both, or leave the column out with columns=.")


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))


def only_steps_over(frame: DataFrame, leaf: str) -> bool:
    """Whether Spark would do nothing but filter rows and choose or compute columns of one such leaf."""
    plan = frame._jdf.queryExecution().sparkPlan()  # noqa: SLF001 - the only way to the plan
    while _class(plan) in (_PROJECT, _FILTER):
        plan = plan.child()
    return _class(plan) == f"{_SQL}execution.{leaf}"


def _only_scan(plan: Any) -> Any | None:
    if _class(plan) == _PROJECT:
        if any(_class(column) != _ATTRIBUTE for column in _each(plan.projectList())):
            return None
        plan = plan.child()
    if _class(plan) != _SCAN:
        return None
    relation = plan.relation()
    return plan if _class(relation.fileFormat()) == _PARQUET and _class(relation.location()) in _FILE_INDEXES else None


def _has_subquery(frame: DataFrame, scan: Any) -> bool:
    """Whether Spark chooses files by what another query says."""
    asks = frame.sparkSession.sparkContext._jvm.org.apache.spark.sql.catalyst.expressions.SubqueryExpression  # noqa: SLF001
    return any(asks.hasSubquery(condition) for condition in _each(scan.partitionFilters()))


def _files(scan: Any, named: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The files that Spark would open, and what the folders say of the rows in them."""
    types = list(_each(scan.relation().partitionSchema()))
    for folder in _each(scan.relation().location().listFiles(scan.partitionFilters(), scan.dataFilters())):
        held = [folder.values().get(index, field.dataType()) for index, field in enumerate(types)]
        # A text is an object of Java's; dates come as days, as Arrow holds them.
        values = {name: value if value is None or isinstance(value, int) else str(value)
                  for name, value in zip(named, held, strict=True)}
        for file in _each(folder.files()):
            yield file.getPath().toUri().toString(), values


def _each(sequence: Any) -> Iterator[Any]:
    """What is in a sequence of Scala's."""
    return (sequence.apply(index) for index in range(sequence.size()))


def _class(java_object: Any) -> str:
    return str(java_object.getClass().getName())


def _by_old_calendar(notes: Mapping[bytes, bytes]) -> bool:
    """Whether days long ago are counted as Spark 2 did: Spark moves them to the calendar of today, Arrow does not."""
    version = notes.get(b"org.apache.spark.version")
    return bool(_OLD_CALENDAR & notes.keys()) or (version is not None and version < b"3.1")


def _same(files: ParquetFiles, field: pa.Field) -> bool:
    if field.name not in files.schema.names:
        return False
    found = plain_type(files.schema.field(field.name).type)
    if found == field.type or field.name in files.int96:
        return True
    moments = pa.types.is_timestamp(found) and pa.types.is_timestamp(field.type)
    return bool(moments and found.unit in ("ms", "us") and (found.tz is None) == (field.type.tz is None))
