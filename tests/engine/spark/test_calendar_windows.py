"""Windows of the calendar and closed windows on Spark: the same rows as in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

QUERIES: dict[str, Callable[[Stream], Stream]] = {
    "months": lambda s: s.group_by("k").tumbling_window("1mo", timezone="America/St_Johns").aggregate(
        n=wb.count(), since=wb.window_start()),
    "weeks by day": lambda s: s.group_by("k").hopping_window("1w", "1d").aggregate(
        m=wb.mean(col.x), most=wb.max(col.x)),
    "both borders": lambda s: s.tumbling_window("4h", closed="both").aggregate(n=wb.count()),
    "a sliding month": lambda s: s.group_by("k").sliding_window("1mo", closed="left").aggregate(s=wb.sum(col.x)),
}


@pytest.mark.parametrize("name", QUERIES)
def test_on_spark_as_here(spark: SparkSession, name: str) -> None:
    seconds = np.arange(1_704_067_200, 1_712_000_000, 28_800)
    table = pa.table({"at": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")), "k": seconds // 28_800 % 3,
                      "x": seconds % 11})
    query = QUERIES[name]
    expected = query(wb.from_arrow(table, time="at", name="log")).collect()
    found = query(wb.from_spark(spark.createDataFrame(table).repartition(3), time="at", name="log")).collect(on=spark)
    assert expected.num_rows > 8
    by = [(column, "ascending") for column in expected.column_names]
    assert found.cast(expected.schema).sort_by(by).equals(expected.sort_by(by))
