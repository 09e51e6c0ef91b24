"""Some queries give the same rows in five ways: one thread, threads, Spark, a stream on Spark, replayed live."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.spark.test_streaming_query import files, rows_of, streamed
from whimbrel import Stream, col
from whimbrel.run import time_partitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS, LATENCY = 900, 25

spread = wb.aggregate(init=(99, -99), accumulate=lambda s, x: (min(s[0], x), max(s[1], x)),
                      merge=lambda s, t: (min(s[0], t[0]), max(s[1], t[1])), result=lambda s: s[1] - s[0])

QUERIES: dict[str, Callable[[Stream], Stream]] = {
    "tumbling": lambda log: log.group_by("k").tumbling_window(60).aggregate(n=wb.count(), s=wb.sum(col.x)),
    "hopping": lambda log: log.group_by("k").hopping_window(90, 30).aggregate(m=wb.mean(col.x), most=wb.max(col.x)),
    "hopping, of all": lambda log: log.where(col.x > 2).hopping_window(90, 30).aggregate(n=wb.count()),
    "sliding": lambda log: log.sliding_window(40).aggregate(s=wb.sum(col.x)),
    "sessions": lambda log: log.group_by(k=(col.k + 1) % 3).session_window(30).aggregate(n=wb.count()),
    "closed sessions": lambda log: log.group_by(rest=col.x % (col.k + 1)).session_window(30, emit="close").aggregate(
        n=wb.count()),
    "a join": lambda log: log.set_duration(20).select("k", "x").join(
        log.where(col.x > 6).set_duration(9).select("k", y=col.x), on="k"),
    "an anti-join": lambda log: log.set_duration(20).select("k", "x").anti_join(
        log.where(col.x > 6).set_duration(9).select("k"), on="k"),
    "a pattern": lambda log: log.where(col.x != 5).select("x", k=col.k % 4).group_by("k").detect(
        wb.sequence(high=col.x > 6, low=col.x < 3), within=60),
    "other times": lambda log: log.group_by("k").tumbling_window(10).aggregate(n=wb.count(), s=wb.sum(col.x)).group_by(
        "k").select("k", d=col.s - col.s.previous(), m=wb.max(col.n).past(50), r=wb.sum(col.s).past(rows=3)),
    "weighed by duration": lambda log: log.group_by("k").tumbling_window(10).aggregate(s=wb.sum(col.x)).group_by(
        "k").select("k", m=wb.time_mean(col.s).past(45, ahead=5), high=wb.time_in(col.s > 9).cell(100)),
    "at multiples": lambda log: log.group_by("k").tumbling_window(10).aggregate(s=wb.sum(col.x)).group_by(
        "k").over_time(every=25, m=wb.max(col.s).past(60), before=col.s.ago(10)),
    "functions of time": lambda log: log.group_by("k").tumbling_window(10).aggregate(s=wb.sum(col.x)).group_by(
        "k").hold(limit=20).over_time(m=wb.max(col.s).past(30), before=col.s.ago(7)),
    "so far": lambda log: log.group_by("k").tumbling_window(10).aggregate(s=wb.sum(col.x)).group_by("k").select(
        "k", total=wb.sum(col.s).so_far(reset=col.s > 30), e=wb.ema(col.s, halflife=40).previous()),
    "resampled": lambda log: log.group_by("k").tumbling_window(10).aggregate(s=wb.sum(col.x)).group_by("k").resample(
        7, how="nearest", limit=12),
    "a range": lambda log: log.group_by("k").sliding_window(40).aggregate(s=wb.sum(col.x)).between(500, 1_500),
    "user's own": lambda log: log.group_by("k").hopping_window(90, 30).aggregate(s=spread(col.x)),
    "user's own, sliding": lambda log: log.group_by("k").sliding_window(40).aggregate(s=spread(col.x)),
    "top of groups": lambda log: log.group_by("k").tumbling_window(60).aggregate(m=wb.median(col.x)).top_k(2, by=col.m),
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Rows in the order of arrival, none of them late by more than is promised."""
    chance = np.random.default_rng(6)
    seen = np.sort(chance.integers(0, 3_000, ROWS))
    return pa.table({"at": seen - chance.integers(0, LATENCY, ROWS), "seen": seen, "k": chance.integers(0, 5, ROWS),
                     "x": chance.integers(0, 10, ROWS)})


@pytest.fixture(scope="module")
def expected(table: pa.Table) -> dict[str, list[str]]:
    """The answers of one thread."""
    answers = {name: query(wb.from_arrow(table.sort_by("at"), time="at", name="log")).collect()
               for name, query in QUERIES.items()}
    assert all(answer.num_rows > 20 for answer in answers.values())
    return {name: rows_of(answer) for name, answer in answers.items()}


def test_on_threads(table: pa.Table, expected: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 100)
    log = wb.from_arrow(table.sort_by("at"), time="at", name="log")
    assert {name: rows_of(query(log).collect(threads=2)) for name, query in QUERIES.items()} == expected


def test_replayed_live(table: pa.Table, expected: dict[str, list[str]]) -> None:
    log = wb.from_arrow(table, time="at", arrival="seen", reorder_latency=LATENCY, name="log")
    live = wb.replay(log, speed=float("inf"))
    assert {name: rows_of(query(live).collect()) for name, query in QUERIES.items()} == expected


def test_on_spark(spark: SparkSession, table: pa.Table, expected: dict[str, list[str]]) -> None:
    log = wb.from_spark(spark.createDataFrame(table).repartition(3), time="at", name="log")
    for name, query in QUERIES.items():
        assert rows_of(query(log).collect(on=spark)) == expected[name], name


@pytest.mark.long
def test_streaming_on_spark(spark: SparkSession, table: pa.Table, expected: dict[str, list[str]],
                            tmp_path: Path) -> None:
    folder = files(tmp_path / "log", table, 2)
    live = streamed(spark, folder, reorder_latency=LATENCY)
    runs = {name: query(live).start_on_spark(path=tmp_path / name / "answer", checkpoint=tmp_path / name / "checkpoint",
                                             available_now=True, partitions=2)
            for name, query in QUERIES.items()}
    for name, run in runs.items():
        assert run.wait(280), name
        run.finish()
        answer = spark.read.parquet(str(tmp_path / name / "answer")).toArrow()
        assert rows_of(answer) == expected[name], name
        parts = json.loads((tmp_path / name / "checkpoint/whimbrel/query.json").read_text(encoding="utf-8"))
        assert parts["partitions"] == (1 if name in ("hopping, of all", "sliding", "top of groups") else 2), name


def test_a_certificate(spark: SparkSession, table: pa.Table) -> None:
    """The same through the public interface; with a latency that is too short, the certificate gives the reason."""
    history = wb.from_spark(spark.createDataFrame(table).repartition(2), time="at", name="log")
    query = QUERIES["hopping"](history)
    for latency, late in ((LATENCY, 0), (10, 100)):
        came = wb.from_arrow(table, time="at", arrival="seen", reorder_latency=latency, late="drop", name="log")
        certificate = query.certify(history, came, spark=spark)
        assert certificate.ok, certificate
        assert certificate.late_rows >= late
        assert certificate.routes == ("2 threads", "Spark", "the log in arrival order")
        assert (certificate.differences.num_rows > 0) == (late > 0)
