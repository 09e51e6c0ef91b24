"""Validate DataFrames, table names, SQL and filters of users."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.clock import Instant, format_instant, parse_instant
from whimbrel.connect import Timeline
from whimbrel.connect.tables.pandas_index import names_no_index
from whimbrel.errors import MissingExtraError, PlanError, SchemaError, SourceError, near_match
from whimbrel.expr import Col, Expr, type_of
from whimbrel.spark.errors import short_cause
from whimbrel.spark.expressions import native
from whimbrel.spark.rows import SparkRows, quoted
from whimbrel.spark.session import check_running
from whimbrel.spark.sql_partial_aggregates import names_of
from whimbrel.spark.types import check_distinct_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DAY_S = 86_400


def frame_of(data: Any, spark: SparkSession | None, where: str) -> DataFrame:
    """A DataFrame, or what a table's name or a query in SQL stands for; a command is refused.

    Raises
    ------
    MissingExtraError
        When pyspark is not installed.
    SourceError
        For anything else, text that Spark cannot read, and text where there is no session.
    """
    try:
        from pyspark.sql import SparkSession as Session
        from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "from_spark") from None
    if isinstance(data, str):
        session = spark or Session.getActiveSession()
        if session is None:
            raise SourceError("A table name or SQL needs an active Spark session.", where=where,
                              hint="Pass spark=session, or start one with whimbrel.spark.local_session().")
        check_running(session, where)
        return _named(data, session, where)
    if not isinstance(data, ClassicDataFrame):
        connect = type(data).__module__.startswith("pyspark.sql.connect")
        what = "a DataFrame of Spark Connect" if connect else f"a {type(data).__name__}"
        raise SourceError(f"Cannot read {what}.", where=where,
                          hint="Use a pyspark DataFrame of a session in this process, a table name, or SQL.")
    check_running(data.sparkSession, where)
    return data


def _named(text: str, spark: SparkSession, where: str) -> DataFrame:
    from pyspark.errors import PySparkException

    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - what is no query must not run
    with suppress(PySparkException):
        parser.parseMultipartIdentifier(text)
        return _found(lambda: spark.table(text), where)
    try:
        parser.parseQuery(text)
    except PySparkException as error:
        raise SourceError(f"Spark can read this neither as a table name nor as SQL: {short_cause(error)}", where=where,
                          hint='Use a name ("logs.requests"), or SQL ("select at, ms from logs").') from error
    return _found(lambda: spark.sql(text), where)


def _found(find: Any, where: str) -> DataFrame:
    from pyspark.errors import PySparkException

    try:
        frame: DataFrame = find()
    except PySparkException as error:
        raise SourceError(f"Spark cannot find the table: {short_cause(error)}", where=where,
                          hint="List the tables with spark.catalog.listTables().") from error
    return frame


def only(frame: DataFrame, wanted: Sequence[str], columns: Sequence[str] | None, where: str) -> DataFrame:
    """Without columns that nobody asked for; those of `wanted` are always there.

    An index without a name that pandas wrote to a file is no column, unless it is named.

    Raises
    ------
    SchemaError
        For a column that there is not, and one that Spark does not tell from another.
    """
    data = [name for name in frame.columns if name in wanted or not names_no_index(name)]
    names = data if columns is None else list(dict.fromkeys([*wanted, *columns]))
    for name in names:
        if name not in frame.columns:
            raise SchemaError(f"The DataFrame has no column {name!r}.", where=where,
                              hint=near_match(name, frame.columns))
    asked = {name.lower() for name in names}
    check_distinct_names([name for name in frame.columns if name.lower() in asked], frame.sparkSession, where)
    return frame if names == frame.columns else frame.select(*map(quoted, names))


def kept(frame: DataFrame, conditions: Sequence[Any], where: str) -> DataFrame:
    """Only the rows that meet conditions in SQL or of Spark's columns.

    Raises
    ------
    PlanError
        For one that Spark cannot read.
    """
    from pyspark.errors import PySparkException

    for condition in conditions:
        try:
            frame = frame.where(condition)
        except PySparkException as error:
            raise PlanError(f"Spark cannot read the condition: {short_cause(error)}", where=where,
                            hint="Use where=\"level = 'error'\" in SQL, or where=col.level == \"error\".") from error
    return frame


def split_conditions(conditions: Any, where: str) -> tuple[list[Any], list[Expr]]:
    """Conditions in SQL or as columns of Spark, and those that are expressions of ours."""
    from pyspark.sql import Column

    every = [] if conditions is None else conditions if isinstance(conditions, (list, tuple)) else [conditions]
    for each in every:
        if not isinstance(each, (str, Expr, Column)):
            raise PlanError(f"where must be SQL, an expression or a Spark column, got {type(each).__name__}.",
                            where=where,
                            hint="Use where=\"level = 'error'\" in SQL, or where=col.level == \"error\".")
    return [each for each in every if not isinstance(each, Expr)], [each for each in every if isinstance(each, Expr)]


def in_time(between: tuple[Instant | None, Instant | None] | None, timeline: Timeline) -> Iterator[Expr]:
    """Conditions that a row starts at or after the first moment, and before the second one."""
    schema, time = timeline.schema, timeline.time
    if between is None:
        return
    if not isinstance(between, (tuple, list)) or len(between) != 2:
        raise PlanError(f"between must be two times, got {between!r}.", where=timeline.where,
                        hint='Use between=("2024-01-01", "2024-02-01"), or None for one side.')
    type_ = schema.type_of(time)
    for compare, edge in zip((operator.ge, operator.lt), between, strict=True):
        if edge is not None:
            tick = parse_instant(edge, schema.unit, schema.zone, name=time, where=timeline.where, rounding="up")
            if pa.types.is_date(type_):  # a day that has begun by then is over
                yield compare(Col(time), date(1970, 1, 1) + timedelta(days=-(-tick // _DAY_S)))
            else:
                at: Any = format_instant(tick, schema.unit, schema.zone)
                yield compare(Col(time), at)


def filter_frame(frame: DataFrame, schema: Schema, conditions: Sequence[Expr], where: str) -> DataFrame:
    """Only the rows that meet the conditions, by Spark's own filters.

    Raises
    ------
    PlanError
        For a condition that Spark might answer otherwise.
    """
    rows = SparkRows(frame, schema)
    names = names_of(rows)
    for condition in conditions:
        if not pa.types.is_boolean(type_of(condition, schema)):
            raise PlanError(f"where must be a condition, got {condition} of type {type_of(condition, schema)}.",
                            where=where,
                            hint="Compare it with a value.")
        in_sql = native(condition, names, schema, may_fail=False)
        if in_sql is None:
            raise PlanError(f"Spark may evaluate {condition} differently from the engine.", where=where,
                            hint="Use .where(...) after the source, or SQL: where=\"...\".")
        frame = frame.where(in_sql)
    return frame
