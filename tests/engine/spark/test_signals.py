"""Operators on samples on Spark: which way rows go, and the bits of one thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import whimbrel as wb
from tests.engine.spark.test_streaming_query import files, followed
from whimbrel import Stream, col
from whimbrel.errors import PlanError
from whimbrel.run import time_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

KEY, TIME, ORDER = "by key (k), each in the order of time", "by ranges of time", "in one task, in the order of time"
SUM = lambda block, total: ({"s": (sums := block["x"].cumsum() + total)}, float(sums[-1]))  # noqa: E731

OF_KEYS: dict[str, Callable[[Stream], Stream]] = {
    "iir": lambda s: s.group_by("k").with_columns(y=wb.iir(col.x, b=[0.5], a=[1, -0.5])),
    "fir": lambda s: s.group_by("k").with_columns(y=wb.fir(col.x, [0.25] * 100)),
    "windows": lambda s: s.rewindow(64, 50).select("k", spectrum=col.x.seg.psd(), bins=col.x.seg.rfft(), x=col.x),
    "process": lambda s: s.group_by("k").process(SUM, state=0.0, gives={"s": "float64"}),
    "cfar and sync": lambda s: s.group_by("k").cfar(col.x, deviations=2, startup=30).sync(s, before="5ms", after="9ms"),
}
OF_ONE: dict[str, tuple[str, Callable[[Stream], Stream]]] = {
    "fir": (TIME, lambda s: s.with_columns(y=wb.fir(col.x, [0.1, 0.2, 0.3], align="center"))),
    "fir in blocks": (TIME, lambda s: s.with_columns(y=wb.fir(col.x, [0.01] * 80))),
    "windows": (TIME, lambda s: s.rewindow(64, 50).select(m=col.x.seg.std(), x=col.x)),
    "causal windows": (TIME, lambda s: s.rewindow(64, 50, label="end").select(m=col.x.seg.rms())),
    "samples of loud windows": (TIME, lambda s: s.rewindow(64).where(col.x.seg.std() > 1).samples()),
    "another rate": (TIME, lambda s: s.resample(300)),
    "iir": (ORDER, lambda s: s.with_columns(y=wb.iir(col.x, b=[0.5], a=[1, -0.5]))),
    "runs": (ORDER, lambda s: s.rewindow().select(n=col.x.seg.length())),
}


def samples() -> pa.Table:
    """A row for each sample of three signals. Some are missing, and times are up to a millisecond off."""
    chance = np.random.default_rng(5)
    numbers = np.delete(np.arange(3_000), [*range(700, 720), 1_501])
    parts = []
    for key in ("a", "b", "c"):
        at = numbers * 3_000 + chance.integers(-900, 900, len(numbers)) * (numbers > 0)
        parts.append(pa.table({"at": pa.array(at, pa.int64()).cast(pa.timestamp("us", "UTC")),
                               "k": [key] * len(at), "x": chance.normal(size=len(at))}))
    return pa.concat_tables(parts).sort_by("at")


TABLE = samples()
A = TABLE.filter(pa.compute.equal(TABLE["k"], "a")).drop_columns("k")


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    return spark.createDataFrame(TABLE).repartition(3).cache(), spark.createDataFrame(A).repartition(3).cache()


def of_keys(log: Stream) -> Stream:
    return log.drop("at").assume(rate="1000/3", jitter="1ms", gaps=True, per="k")


def of_one(log: Stream) -> Stream:
    return log.select("x").assume(rate="1000/3", jitter="1ms", gaps=True)


@pytest.mark.parametrize("name", OF_KEYS)
def test_keys(spark: SparkSession, frames: tuple[DataFrame, DataFrame], name: str) -> None:
    expected = OF_KEYS[name](of_keys(wb.from_arrow(TABLE, time="at"))).collect()
    query = OF_KEYS[name](of_keys(wb.from_spark(frames[0], time="at")))
    assert f"1. the engine's kernels, {KEY}" in query.explain(on=spark)
    found = query.collect(on=spark)
    assert found.schema == expected.schema
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert found.num_rows > 50


@pytest.mark.share(2)
@pytest.mark.parametrize("name", OF_ONE)
def test_one_signal(spark: SparkSession, frames: tuple[DataFrame, DataFrame], name: str) -> None:
    way, build = OF_ONE[name]
    expected = build(of_one(wb.from_arrow(A, time="at"))).collect()
    query = build(of_one(wb.from_spark(frames[1], time="at")))
    assert f"1. the engine's kernels, {way}" in query.explain(on=spark)
    assert query.collect(on=spark).equals(expected)
    assert expected.num_rows > 2


@pytest.mark.parametrize("name", OF_ONE)
def test_threads(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The first row of a table is known, so ranges of time need not read it."""
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 300)
    monkeypatch.setattr(time_partitions, "_HALO_SHARE", 9)
    way, build = OF_ONE[name]
    query = build(of_one(wb.from_arrow(A, time="at")))
    ranges = time_partitions._cut(query.node, 2)
    assert isinstance(ranges, list)
    assert (len(ranges) > 1) == (way == TIME)
    assert query.collect(threads=2).equals(query.collect())


def blocks(table: pa.Table) -> pa.Table:
    """The signal as a table of blocks of up to a hundred samples."""
    folder_rows = wb.from_arrow(table, time="at").select("x").assume(rate="1000/3", jitter="1ms", gaps=True)
    found = folder_rows.rewindow(limit=100).collect()
    return pa.table({"at": found["start"], "x": pa.array([x["samples"] for x in found["x"].to_pylist()])})


@pytest.mark.share(2)
@pytest.mark.parametrize("name", OF_ONE)
def test_table_of_blocks(spark: SparkSession, name: str) -> None:
    way, build = OF_ONE[name]
    table = blocks(A)
    assert table.num_rows == 30
    expected = build(wb.from_arrow(table, time="at", samples="x", rate="1000/3")).collect()
    frame = spark.createDataFrame(table).repartition(3)
    query = build(wb.from_spark(frame, time="at", samples="x", rate="1000/3"))
    assert f"1. the engine's kernels, {way}" in query.explain(on=spark)
    assert query.collect(on=spark).equals(expected)
    assert query.collect().equals(expected)


def test_files_of_blocks_of_unknown_length(spark: SparkSession, tmp_path: Path) -> None:
    parquet.write_table(blocks(A), tmp_path / "blocks.parquet")
    stream = wb.read_parquet(tmp_path / "blocks.parquet", time="at", samples="x", rate="1000/3")
    query = OF_ONE["windows"][1](stream)
    found = query.on_spark(spark, exchange="time").toArrow()
    assert found.sort_by("start")["m"].equals(query.collect()["m"])


def test_segments_as_a_table_of_blocks(spark: SparkSession, frames: tuple[DataFrame, DataFrame]) -> None:
    """A column of segments is a struct, and its samples are blocks for another query."""
    windows = of_one(wb.from_spark(frames[1], time="at")).rewindow(limit=100).on_spark(spark)
    assert windows.schema["x"].dataType.simpleString() == "struct<index:bigint,samples:array<double>>"
    again = wb.from_spark(windows.select("start", "x.samples"), time="start", samples="samples", rate="1000/3")
    expected = of_one(wb.from_arrow(A, time="at")).collect()
    assert again.collect(on=spark)["samples"].equals(expected["x"])


def test_small_unsigned_samples(spark: SparkSession) -> None:
    """Spark has no unsigned integers: they are wider there, and as they were when they come back."""
    query = wb.from_samples({"x": np.arange(999, dtype="uint16")}, rate=1000, unit="us").rewindow(100)
    assert query.on_spark(spark).schema["x"].dataType.simpleString() == "struct<index:bigint,samples:array<int>>"
    assert query.collect(on=spark).equals(query.collect())


def test_one_task_reads_a_long_recording(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.spark.execution.ROWS_A_TASK", 100)
    query = OF_ONE["iir"][1](wb.from_samples({"x": np.arange(2_000.0)}, rate=1000, unit="us"))
    assert "in one task, which reads its rows itself" in query.explain(on=spark)
    assert query.collect(on=spark).equals(query.collect())
    with pytest.raises(PlanError, match="samples has samples, which Spark cannot read from several tasks"):
        query.on_spark(spark, exchange="order")


def test_stream_of_blocks(spark: SparkSession, tmp_path: Path) -> None:
    table = blocks(A)
    build = OF_ONE["iir"][1]
    folder = files(tmp_path / "log", table, 3)
    frame = spark.readStream.schema("at timestamp, x array<double>").option("maxFilesPerTrigger", 1).parquet(
        str(folder))
    live = wb.from_spark(frame, time="at", samples="x", rate="1000/3", reorder_latency="1s")
    run, found = followed(spark, build(live), tmp_path)
    expected = build(wb.from_arrow(table, time="at", samples="x", rate="1000/3")).collect()
    assert found.sort_by("start")["y"].equals(expected["y"])
    assert run.last_batch is not None
    assert run.last_batch.rows == table.num_rows
