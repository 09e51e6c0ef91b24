"""Early answers of a cached DataFrame: its partitions are blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS, PARTITIONS = 6_000, 30


@pytest.fixture
def computed(spark: SparkSession) -> DataFrame:
    """Rows in the order of time, a partition of which is empty."""
    made = spark.range(0, ROWS, 1, PARTITIONS).selectExpr(
        "timestamp_millis(id * 60000) as at", "id % 5 as key", "rand(5) * 100 as ms")
    return made.where("at < timestamp_millis(29 * 200 * 60000)")


def query_of(frame: DataFrame) -> wb.Stream:
    log = wb.from_spark(frame, time="at")
    return log.group_by("key").tumbling_window("3660d").aggregate(n=wb.count(), ms=wb.mean(col.ms))


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted((row["key"], row["n"], pytest.approx(row["ms"])) for row in table.to_pylist())


@pytest.mark.long
def test_partitions_come_in_random_order_with_intervals_that_meet_in_the_answer(computed: DataFrame) -> None:
    cached = computed.cache()
    try:
        query = query_of(cached)
        progress = query.progressive(every="1%", seed=3)
        answers = list(progress)
        assert progress.fallback_reason == ""
        assert len(answers) == PARTITIONS - 1
        assert [row["n"] for row in answers[-1].table.to_pylist()] == [29 * 200 / 5] * 5
        exact = {row["key"]: row for row in query.collect().to_pylist()}
        early = [row for answer in answers[:-1] for row in answer.table.to_pylist()]
        assert all(row["n_low"] <= exact[row["key"]]["n"] <= row["n_high"] for row in early if row["n_low"] is not None)
        means = [row for row in early if row["ms_low"] is not None]
        assert len(means) > 20
        assert all(row["ms_low"] <= exact[row["key"]]["ms"] <= row["ms_high"] for row in means)
        assert rows_of(answers[-1].table) == rows_of(query.collect())
        other = [answer.table["ms"].to_pylist() for answer in query.progressive(every="1%", seed=4)]
        assert other[:5] != [answer.table["ms"].to_pylist() for answer in answers[:5]]
    finally:
        cached.unpersist()


def test_a_range_of_time_is_read_first_and_finishing_reads_the_rest(computed: DataFrame) -> None:
    cached = computed.where("ms < 90").cache()
    try:
        hours = wb.from_spark(cached.select("at", "ms"), time="at").tumbling_window("10h").aggregate(n=wb.count())
        progress = hours.progressive(every=1, seed=2).prioritize(between=("1970-01-03T12", "1970-01-04"))
        for answer in progress:
            if answer.fraction_read > 0.2:
                break
        settled = answer.table.slice(0, answer.settled)["start"].cast(pa.string()).to_pylist()
        assert any(start.startswith("1970-01-03 12") for start in settled)
        whole = hours.collect().sort_by("start")
        assert progress.finish().sort_by("start").equals(whole)
        assert sum(whole["n"].to_pylist()) == cached.count()
    finally:
        cached.unpersist()


@pytest.mark.long
def test_it_resumes_elsewhere_where_several_partitions_are_one_block(spark: SparkSession, tmp_path: Path) -> None:
    cached = spark.range(0, 4_000, 1, 40).selectExpr(
        "timestamp_millis(id * 60000) as at", "id % 5 as key", "rand(5) as ms").cache()
    try:
        query = query_of(cached)
        progress = query.progressive(every="1%", seed=3, block_rows=150)
        assert progress.block_run.blocks.rows.tolist() == [200] * 20
        for answer in progress:
            if answer.fraction_read > 0.3:
                break
        progress.save(tmp_path / "kept")
        later = query.progressive(every="1%", block_rows=150, resume=tmp_path / "kept")
        assert later.block_run.scan.rows_read == progress.block_run.scan.rows_read == 1_400
        assert rows_of(later.finish()) == rows_of(query.collect())
    finally:
        cached.unpersist()


def test_rows_that_are_made_again_otherwise_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    mark = tmp_path / "made"

    def changing(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield part.slice(1) if mark.exists() else part

    made = spark.range(0, 6_000, 1, 30).selectExpr("timestamp_millis(id) as at", "id % 5 as key", "id / 2 as ms")
    cached = made.mapInArrow(changing, made.schema).cache()
    progress = query_of(cached).progressive(every="1%")
    next(progress)
    mark.touch()
    cached.unpersist()  # as Spark drops partitions for which there is no room
    with pytest.raises(SourceError, match="Spark computed different rows when it computed partitions again: "):
        progress.finish()
    assert not progress.latest.final


def test_a_frame_that_is_not_cached_is_answered_in_the_order_of_time(computed: DataFrame) -> None:
    query = query_of(computed)
    progress = query.progressive()
    assert "its source is unbounded or has no blocks" in progress.fallback_reason
    assert rows_of(progress.finish()) == rows_of(query.collect())


def test_sessions_of_a_cached_frame_are_not_counted_first(computed: DataFrame) -> None:
    cached = computed.cache()
    sessions = wb.from_spark(cached, time="at").session_window("1h").aggregate(n=wb.count())
    progress = sessions.progressive()
    assert progress.plan is sessions.node
    cached.unpersist()


def test_a_stopped_session_is_said_so(computed: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = computed.cache()
    try:
        query = query_of(cached)
        with monkeypatch.context() as stopped:
            stopped.setattr(cached.sparkSession.sparkContext, "_jsc", None)
            with pytest.raises(SourceError, match="The Spark session has been stopped"):
                query.progressive()
    finally:
        cached.unpersist()


def test_a_join_of_cached_frames_says_what_is_not_known_of_them(computed: DataFrame) -> None:
    cached = computed.cache()
    try:
        log = wb.from_spark(cached, time="at")
        joined = log.join(log.where(col.ms > 99), on="key").tumbling_window("1d").aggregate(n=wb.count())
        assert "an unknown number of rows" in joined.progressive().fallback_reason
    finally:
        cached.unpersist()
