"""SQL over streams on Spark: pairs as in this process, and random texts as Spark SQL answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.random_texts import RandomText, of_a_database, ours
from tests.engine.sql.test_random_streams import events, multiset
from tests.laws.sql_texts import logs
from tests.laws.test_sql_pairs import TEXTS
from whimbrel.plan import Node
from whimbrel.testing.oracle import differences
from whimbrel.testing.rows import BatchedRows, facts_from_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.long]

PAIRS = ("a filter", "case", "an epoch with a name", "having", "hop", "session", "slide", "windows over windows",
         "a join at one time", "a join in an epoch", "a join within a time", "a range of time", "the value before",
         "rows with a partner", "a table of keys", "one set without another")
_TYPES = "time BIGINT, srcIP STRING, destIP STRING, protocol BIGINT, len BIGINT, fin BOOLEAN"


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return pa.table({"time": range(200), "key": [["a", "b", None][at * at % 7 % 3] for at in range(200)],
                     "x": [at * 7 % 11 for at in range(200)], "y": [at % 5 / 4 for at in range(200)],
                     "flag": [at % 3 > 0 for at in range(200)]})


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_on_spark(spark: SparkSession, rows: pa.Table, name: str) -> None:
    build = TEXTS[name].build
    here = build(wb.from_arrow(rows, time="time", name="s")).collect()
    there = build(wb.from_spark(spark.createDataFrame(rows).repartition(3), time="time", name="s")).collect(on=spark)
    assert differences(facts_from_table(here), facts_from_table(there)) == ([], [])


@pytest.mark.parametrize("seed", range(1_000, 1_012))
def test_the_answer_is_sparks(spark: SparkSession, seed: int) -> None:
    tables = logs(wb.Stream(Node(BatchedRows([events(seed)], name="s"))))
    rows = tables["TCP"].collect().drop(["start", "end"]).to_pylist()
    spark.createDataFrame([tuple(row.values()) for row in rows], _TYPES).createOrReplaceTempView("TCP")
    text = RandomText(seed).relational()
    theirs = [row.asDict() for row in spark.sql(of_a_database(text)).collect()]
    found = wb.sql(ours(text), **tables).collect().drop(["start", "end"]).to_pylist()
    assert multiset(found) == multiset(theirs), text
