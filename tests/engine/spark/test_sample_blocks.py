"""Tables of blocks of samples on Spark: the result is the same, in one task or by ranges of time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import whimbrel as wb
from whimbrel import col

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def blocks() -> pa.Table:
    """Two hundred blocks of a hundred samples; some are missing, and some come twice."""
    values = np.random.default_rng(1).integers(-900, 900, 20_000).astype("int16")
    first = [100 * number for number in range(200) if number not in (17, 18, 90)] + [5000, 12_000]
    rows = sorted((at, values[at:at + 100].tolist()) for at in first)
    return pa.table({"at": pa.array([at * 1000 for at, _ in rows], pa.int64()).cast(pa.timestamp("us")),
                     "pcm": pa.array([samples for _, samples in rows], pa.list_(pa.int16()))})


@pytest.mark.parametrize("exchange", [None, "time", "order"])
def test_blocks_in_memory(spark: SparkSession, exchange: str | None) -> None:
    stream = wb.from_arrow(blocks(), time="at", samples="pcm", rate=1000)
    query = stream.where(col.pcm > -800).tumbling_window("700ms").aggregate(n=wb.count(), x=wb.sum(col.pcm))
    expected = query.collect()
    found = query.on_spark(spark, exchange=exchange).toArrow()
    assert sorted(found.select(["n", "x"]).to_pylist(), key=str) == sorted(
        expected.select(["n", "x"]).to_pylist(), key=str)


def test_blocks_in_files(spark: SparkSession, tmp_path: Path) -> None:
    parquet.write_table(blocks(), tmp_path / "blocks.parquet")
    stream = wb.read_parquet(tmp_path / "blocks.parquet", time="at", samples="pcm", rate=1000)
    filtered = stream.with_columns(y=wb.iir(col.pcm, b=[0.5], a=[1, -0.5]))
    query = filtered.tumbling_window("1s").aggregate(y=wb.sum(col.y))
    assert query.collect(on=spark)["y"].to_pylist() == query.collect()["y"].to_pylist()


def test_arrays(spark: SparkSession) -> None:
    x = np.ma.masked_inside(np.arange(5000, dtype="int16"), 700, 999)
    query = wb.from_samples({"x": x}, rate=1000, unit="us").tumbling_window("1s").aggregate(x=wb.sum(col.x))
    assert query.collect(on=spark)["x"].to_pylist() == query.collect()["x"].to_pylist()
    assert "samples" in query.explain(on=spark)
