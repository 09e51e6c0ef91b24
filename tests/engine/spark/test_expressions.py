"""Spark SQL says what the engine says: of every row, and of every group."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.expr import Expr
from whimbrel.spark.expressions import native
from whimbrel.spark.source_dataframes import rows_of
from whimbrel.spark.sql_partial_aggregates import names_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = 400
NAN = math.nan
LARGE = 2**63 - 1


def table() -> pa.Table:
    chance = np.random.default_rng(8)

    def of(values: list[Any], type_: pa.DataType) -> pa.Array:
        return pa.array([values[int(number)] for number in chance.integers(0, len(values), ROWS)], type_)

    moments = [datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in range(5)]
    return pa.table({
        "at": pa.array(range(ROWS), pa.int64()),
        "i": of([-7, -3, 0, 3, 7, None, LARGE, -LARGE - 1], pa.int64()),
        "j": of([-2, 0, 2, 5, None], pa.int32()),
        "x": of([-1.5, 0.0, 2.5, NAN, math.inf, None], pa.float64()),
        "y": of([-1.5, 0.1, 2.5, NAN, None], pa.float32()),
        "s": of(["", "a", "b", "é", None], pa.string()),
        "b": of([True, False, None], pa.bool_()),
        "when": of([*moments, None], pa.timestamp("us", "UTC")),
        "local": of([each.replace(tzinfo=None) for each in moments], pa.timestamp("us")),
        "day": of([date(2024, 1, 1), date(1969, 12, 31), None], pa.date32()),
    })


SAME: tuple[Expr, ...] = (
    col.i > 3, col.i == col.j, col.j <= 2, col.i >= -LARGE, col.j != 2, col.i < 2.5, col.j > 0.5,
    col.x > 0, col.x < 0.1, col.x == 2.5, col.x != 2.5, col.x >= col.y, col.x != col.y, col.y == 0.1, col.y > -1,
    col.s == "a", col.s != "a", col.s > "a", col.s.is_in(["a", "é"]), col.b, ~col.b, col.b == True,  # noqa: E712
    (col.i > 0) & (col.x > 0), (col.i > 0) | col.b, ~(col.x > 0), col.i.is_null(), col.x.is_not_null(),
    col.j.is_in([2, 5]), col.i.between(-3, 7), col.x.between(-2, 2.5),
    col.when >= datetime(2024, 1, 1, 2, tzinfo=UTC), col.when == "2024-01-01T03:00:00+00:00",
    col.local < datetime(2024, 1, 1, 2), col.day == date(1969, 12, 31), col.day > "2023-01-01",
    wb.when(col.x > 0).then(col.j).otherwise(col.j), col.x * 2 - 1 > 1, col.x + col.j < 3,
    col.i % 5, col.i // 5, col.j % 3, col.j // 3, col.j + 1, col.j * col.j - 1, col.x * col.y,
    wb.greatest(col.i, col.j), wb.least(col.i, col.j, 3), wb.greatest(col.s, "a"), wb.least(col.s, "b"),
)

LEFT_TO_THE_ENGINE: tuple[Expr, ...] = (
    col.x / 2, col.x // 2, col.i % col.j, col.i // -2, col.j.cast("string"), col.s.str.contains("a"), col.x.round(),
    wb.when(col.b).then(col.x).otherwise(0), col.s + "a", -col.i, wb.start_time() > 3, col.when.dt.hour == 2,
    col.x.is_in([2.5]), col.b ^ col.b, col.j.fill_null(0),
    col.x.exp(), col.x.sign(), col.x**3, wb.greatest(col.x, 0.0), wb.least(col.j),
)


def test_of_every_row(spark: SparkSession) -> None:
    log = wb.from_arrow(table(), time="at", name="log")
    source, = log.sources
    given = rows_of(source, spark, "")
    names = names_of(given)
    columns = [native(expr, names, given.schema, may_fail=True) for expr in SAME]
    unsupported = [expr for expr, column in zip(SAME, columns, strict=True) if column is None]
    assert unsupported == []
    there = given.frame.select("at", *(column.alias(f"c{at}") for at, column in enumerate(columns))).toArrow()
    # Adding up row by row may overflow here, and then is an error there: these stay small.
    here = log.select("at", **{f"c{at}": expr for at, expr in enumerate(SAME)}).collect().sort_by("at")
    there = there.sort_by("at")
    for at, expr in enumerate(SAME):
        ours, theirs = (side[f"c{at}"].to_pylist() for side in (here, there))
        assert list(map(repr, ours)) == list(map(repr, theirs)), expr


def test_what_is_left_to_the_engine(spark: SparkSession) -> None:
    source, = wb.from_arrow(table(), time="at").sources
    given = rows_of(source, spark, "")
    assert [expr for expr in LEFT_TO_THE_ENGINE
            if native(expr, names_of(given), given.schema, may_fail=True) is not None] == []
    assert native(col.j + 1 > 2, names_of(given), given.schema, may_fail=False) is None


def windows(log: Stream) -> Stream:
    return log.where(col.j.is_null() | (col.j != 0)).group_by("s", odd=col.j % 2).hopping_window(120, 40).aggregate(
        n=wb.count(), kept=wb.count(col.x), big=wb.count().where(col.i > 0), total=wb.sum(col.j), real=wb.sum(col.x),
        yes=wb.sum(col.b), mean=wb.mean(col.j), means=wb.mean(col.y).where(col.b), low=wb.min(col.x),
        high=wb.max(col.i), least=wb.min(col.y), some=wb.max(col.j).where(col.x > 0))


@pytest.mark.share(2)
@pytest.mark.parametrize("label", ["start", "end"])
def test_of_every_group(spark: SparkSession, label: str) -> None:
    local = wb.from_arrow(table(), time="at")
    there = wb.from_spark(rows_of(local.sources[0], spark, "").frame.repartition(3), time="at")
    tumbling = lambda log: log.tumbling_window(50, offset=7, label=label).aggregate(n=wb.count(), m=wb.max(col.i))  # noqa: E731
    for query in (windows, tumbling):
        in_sql = query(there).on_spark(spark, native=True).toArrow()
        by_engine = query(there).on_spark(spark, native=False).toArrow()
        here = sorted(map(repr, query(local).collect().to_pylist()))
        assert sorted(map(repr, in_sql.to_pylist())) == here
        assert sorted(map(repr, by_engine.to_pylist())) == here


def test_whole_sums_may_overflow_on_the_way_but_not_in_the_end(spark: SparkSession) -> None:
    rows = pa.table({"at": [1, 2, 3, 12, 13], "i": [LARGE, LARGE, -LARGE, LARGE, 1]})
    log = wb.from_spark(spark.createDataFrame(rows).repartition(2), time="at")
    total = log.where(col.at < 12).tumbling_window(10).aggregate(t=wb.sum(col.i))
    assert total.on_spark(spark, native=True).toArrow()["t"].to_pylist() == [LARGE]
    with pytest.raises(WhimbrelError, match="leaves int64"):
        log.tumbling_window(10).aggregate(t=wb.sum(col.i)).collect(on=spark)


def test_exact_sums_and_means_are_made_by_the_engine(spark: SparkSession) -> None:
    rows = pa.table({"at": range(40), "i": [LARGE - at for at in range(40)],
                     "e": pa.array([None if at % 7 == 0 else at * at - 300 for at in range(40)], pa.decimal128(21, 2)),
                     "seen": pa.array([at * 1000 + at % 3 for at in range(40)], pa.timestamp("us", "UTC"))})
    query = lambda log: log.hopping_window(20, 10).aggregate(  # noqa: E731
        total=wb.sum(col.e), mean=wb.mean(col.e), wide=wb.sum(col.i, widen=True), seen=wb.mean(col.seen))
    there = wb.from_spark(spark.createDataFrame(rows).repartition(3), time="at")
    here = query(wb.from_arrow(rows, time="at")).collect()
    found = query(there).collect(on=spark)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, here.to_pylist()))


def test_asking_spark_sql_for_what_it_does_otherwise(spark: SparkSession) -> None:
    log = wb.from_spark(spark.createDataFrame(table()).repartition(2), time="at")
    with pytest.raises(WhimbrelError, match="native=True is not possible"):
        log.tumbling_window(9).aggregate(m=wb.median(col.j)).on_spark(spark, native=True)
