"""Streams of different units meet on Spark as they do here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.laws.test_units import MEETINGS, cast, log, rows, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

UNITS = [("s", "us"), ("ms", "s"), ("us", "ns")]
FEW = ("full join", "as-of join", "anti-join", "union", "windows, then a join")


@pytest.mark.share(3)
@pytest.mark.parametrize("meeting", FEW)
@pytest.mark.parametrize("exchange", [None, "key", "order"])
def test_on_spark_as_here(spark: SparkSession, meeting: str, exchange: str | None) -> None:
    for number, (left, right) in enumerate(UNITS if exchange == "order" else UNITS[:1]):
        asked = MEETINGS[meeting](stream(log(5, left, ends=number > 0, sub=True), "left"),
                                  stream(cast(log(6, "us" if right == "ns" else right, ends=True, sub=True), right),
                                         "right"))  # Spark holds no nanoseconds
        if exchange == "key" and meeting in ("full join", "union"):
            continue
        found = asked.collect(on=spark) if exchange is None else asked.on_spark(spark, exchange=exchange).toArrow()
        assert rows(found, "us") == rows(asked.collect(), "us")
