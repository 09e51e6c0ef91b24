"""A query that follows a stream on Spark: what it settles is what the same rows give as history."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.errors import SinkError
from whimbrel.spark import SparkRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS, FILES = 1_200, 6
LATENCY = 30


def table() -> pa.Table:
    """Rows in the order of arrival, most of them at most `LATENCY` late; a few much later."""
    chance = np.random.default_rng(3)
    seen = np.sort(chance.integers(0, 4_000, ROWS))
    late = np.where(chance.random(ROWS) < 0.02, 1_500, chance.integers(0, LATENCY, ROWS))
    return pa.table({"at": seen - late, "seen": seen, "k": chance.integers(0, 7, ROWS),
                     "x": chance.integers(0, 10, ROWS)})


def files(folder: Path, rows: pa.Table, count: int = FILES) -> Path:
    """The log as it came to lie in files, one after the other."""
    folder.mkdir()
    size = -(-rows.num_rows // count)
    for number in range(count):
        pq.write_table(rows.slice(number * size, size), folder / f"{number}.parquet")
        time.sleep(0.01)  # Spark takes them by age
    return folder


def streamed(spark: SparkSession, folder: Path, **promise: Any) -> Stream:
    frame = (spark.readStream.schema("at bigint, seen bigint, k bigint, x bigint")
             .option("maxFilesPerTrigger", 1).parquet(str(folder)))
    return wb.from_spark(frame, time="at", name="log", **promise)


def on_time(rows: pa.Table) -> pa.Table:
    """Without the rows that are late for a micro-batch: older than the newest row of the files before."""
    size = -(-ROWS // FILES)
    at = rows["at"].to_numpy()
    newest = np.maximum.accumulate([at[: start + size].max() for start in range(0, ROWS, size)])
    watermark = np.repeat([-10**9, *newest[:-1] - LATENCY], size)[:ROWS]
    return rows.filter(pa.array(at >= watermark))


def rows_of(answer: pa.Table) -> list[str]:
    return sorted(map(repr, answer.drop_columns(["batch"] if "batch" in answer.column_names else []).to_pylist()))


def followed(spark: SparkSession, query: Stream, folder: Path, **options: Any) -> tuple[SparkRun, pa.Table]:
    """Everything that is there, taken and finished."""
    run = query.start_on_spark(path=folder / "answer", checkpoint=folder / "checkpoint", available_now=True, **options)
    assert run.wait(240)
    run.finish()
    return run, spark.read.parquet(str(folder / "answer")).toArrow()


def test_what_is_settled_is_what_history_gives(spark: SparkSession, tmp_path: Path) -> None:
    def query(log: Stream) -> Stream:
        return log.where(col.x > 1).group_by("k").session_window(40, emit="close").aggregate(
            n=wb.count(), total=wb.sum(col.x))

    folder = files(tmp_path / "log", table())
    live = query(streamed(spark, folder, reorder_latency=LATENCY, late="drop"))
    run, answer = followed(spark, live, tmp_path)
    kept = on_time(table())
    assert 0 < ROWS - kept.num_rows < 60
    assert rows_of(answer) == rows_of(query(wb.from_arrow(kept.sort_by("at"), time="at")).collect())
    progress = run.last_batch
    assert progress is not None
    assert (progress.rows, progress.late_rows) == (ROWS, ROWS - kept.num_rows)
    assert set(answer["batch"].to_pylist()) <= set(range(FILES + 1))
    assert len(set(answer["batch"].to_pylist())) > 3
    assert sorted(path.name for path in (tmp_path / "checkpoint/whimbrel/states").iterdir()) == [str(FILES - 1)]
    with pytest.raises(WhimbrelError, match="has finished"):
        live.start_on_spark(path=tmp_path / "answer", checkpoint=tmp_path / "checkpoint")


def test_it_resumes_where_it_was_stopped(spark: SparkSession, tmp_path: Path) -> None:
    """Also without keys, in one partition; and into a table."""
    def query(log: Stream) -> Stream:
        return log.hopping_window(100, 20).aggregate(n=wb.count(), most=wb.max(col.x))

    whole = files(tmp_path / "whole", table())
    folder = tmp_path / "log"
    folder.mkdir()
    live = query(streamed(spark, folder, reorder_latency=LATENCY, late="drop"))
    spark.sql("drop table if exists settled")
    for part in (range(2), range(2, FILES)):
        for number in part:
            shutil.copy(whole / f"{number}.parquet", folder)
            time.sleep(0.01)
        run = live.start_on_spark(table="settled", checkpoint=tmp_path / "checkpoint", available_now=True)
        assert run.wait(240)
        if number == 1:  # another process resumes, and the catalog was in the memory of this one
            lies = Path(spark.sql("describe extended settled").where("col_name = 'Location'").first()[1][len("file:"):])
            shutil.move(lies, tmp_path / "aside")
            spark.sql("drop table settled")
            shutil.move(tmp_path / "aside", lies)
            assert not spark.catalog.tableExists("settled")
            lost = next(lies.glob("batch=*/*.parquet"))
            shutil.move(lost, tmp_path / "lost")
            with pytest.raises(SinkError, match="is gone"):
                live.start_on_spark(table="settled", checkpoint=tmp_path / "checkpoint", available_now=True)
            shutil.move(tmp_path / "lost", lost)
    run.finish()
    here = query(wb.from_arrow(on_time(table()).sort_by("at"), time="at")).collect()
    assert rows_of(spark.table("settled").toArrow()) == rows_of(here)
    spark.sql("drop table settled")
    assert spark.conf.get("spark.sql.sources.partitionOverwriteMode") == "STATIC"  # as the user has it


def test_a_table_that_is_not_in_parts_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    folder = files(tmp_path / "log", table().slice(0, 60), 1)
    spark.sql("drop table if exists whole")
    spark.sql("create table whole using parquet as select 7L as start, 8L as end, 9L as n, 0L as batch")
    query = streamed(spark, folder, reorder_latency=LATENCY, late="drop").tumbling_window(50).aggregate(n=wb.count())
    run = query.start_on_spark(table="whole", checkpoint=tmp_path / "checkpoint", available_now=True)
    try:
        with pytest.raises(WhimbrelError, match="batch"):
            run.wait(240)
        assert spark.table("whole").collect() == [(7, 8, 9, 0)]
    finally:
        spark.sql("drop table whole")


def test_late_rows(spark: SparkSession, tmp_path: Path) -> None:
    folder = files(tmp_path / "log", table())
    def query(log: Stream) -> Stream:
        return log.group_by("k").tumbling_window(50).aggregate(n=wb.count())

    _, adjusted = followed(spark, query(streamed(spark, folder, reorder_latency=LATENCY, late="adjust")),
                           tmp_path / "adjust")
    kept = on_time(table()).num_rows
    assert sum(adjusted["n"].to_pylist()) == kept  # a point that is moved to a later time has ended by then
    raising = query(streamed(spark, folder, reorder_latency=LATENCY)).start_on_spark(
        path=tmp_path / "raise/answer", checkpoint=tmp_path / "raise/checkpoint", available_now=True)
    with pytest.raises(WhimbrelError, match=r"DisorderError: Row .* of log is late, with a lateness of"):
        raising.wait(240)
    with pytest.raises(WhimbrelError, match="is not available for a stream on Spark"):
        query(streamed(spark, folder, reorder_latency=LATENCY, late="side_output")).start_on_spark(
            path="x", checkpoint=tmp_path / "side")


def test_read_here(spark: SparkSession, tmp_path: Path) -> None:
    """The same feed, answered in this process."""
    folder = files(tmp_path / "log", table())
    history = wb.from_arrow(table(), time="at", name="log", reorder_latency=None, arrival="seen")
    query = history.group_by("k").tumbling_window(50).aggregate(n=wb.count())
    live = query.on(streamed(spark, folder, reorder_latency=LATENCY, late="drop"))
    run = live.start()
    deadline = time.monotonic() + 200
    while run.metrics.rows < ROWS and time.monotonic() < deadline:
        time.sleep(0.1)
    snapshot = run.snapshot(timeout=60)
    run.stop()
    assert run.wait(60)
    kept = query.on(wb.from_arrow(on_time(table()).sort_by("at"), time="at", name="log")).collect()
    assert rows_of(snapshot.table) == rows_of(kept)
    assert run.metrics.late_dropped == ROWS - on_time(table()).num_rows
    assert not spark.streams.active


def test_what_cannot_follow(spark: SparkSession, tmp_path: Path) -> None:
    folder = files(tmp_path / "log", table())
    live = streamed(spark, folder)
    other = wb.from_arrow({"at": [1], "k": [1]}, time="at", name="other")
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: live.where(col.x > 1).on_spark(spark), "log is a feed, which is unbounded"),
        (lambda: other.start_on_spark(path="x", checkpoint=tmp_path / "c"), "got other"),
        (lambda: live.set_duration(3).join(other, on="k").start_on_spark(path="x", checkpoint=tmp_path / "c"),
         "got log, other"),
        (lambda: live.start_on_spark(checkpoint=tmp_path / "c"), "needs either path= or table="),
        (lambda: live.start_on_spark(path="x", checkpoint=tmp_path / "c", every="soon"), "Cannot read .soon"),
        (lambda: live.select(batch=col.x).start_on_spark(path="x", checkpoint=tmp_path / "c"), "column 'batch'"),
        (lambda: live.select(y=col.x, Y=col.k).start_on_spark(path="x", checkpoint=tmp_path / "c"),
         "cannot distinguish columns 'y' and 'Y'"),
    ]
    for start, message in cases:
        with pytest.raises(WhimbrelError, match=message):
            start()


def test_a_dataframe_is_enough(spark: SparkSession, tmp_path: Path) -> None:
    """A query changes to a stream of the same columns; what it counts by is known from before."""
    folder = files(tmp_path / "log", table().sort_by("at"))
    frame = spark.read.parquet(str(folder))
    query = wb.from_spark(frame, time="at").group_by("k").tumbling_window(50).aggregate(n=wb.count())
    stream = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 3).parquet(str(folder))
    _, answer = followed(spark, query.on(stream), tmp_path)
    assert rows_of(answer) == rows_of(query.collect())


def test_a_checkpoint_of_another_query(spark: SparkSession, tmp_path: Path) -> None:
    folder = files(tmp_path / "log", table().sort_by("at").slice(0, 60))
    live = streamed(spark, folder).tumbling_window(50)
    followed(spark, live.aggregate(n=wb.count()), tmp_path)
    with pytest.raises(WhimbrelError, match=r"checkpoint belongs to another query: it has .*count\(\).*, not .*sum"):
        live.aggregate(n=wb.sum(col.x)).start_on_spark(path=tmp_path / "answer", checkpoint=tmp_path / "checkpoint")


@pytest.mark.parametrize("damaged", ["gone", "cut"])
def test_an_answer_that_lost_files_is_not_resumed(spark: SparkSession, tmp_path: Path, damaged: str) -> None:
    folder = files(tmp_path / "log", table(), 2)
    live = streamed(spark, folder, reorder_latency=LATENCY, late="drop").tumbling_window(40).aggregate(n=wb.count())

    def started() -> SparkRun:
        return live.start_on_spark(path=tmp_path / "answer", checkpoint=tmp_path / "checkpoint", available_now=True)

    run = started()
    assert run.wait(240)
    again = started()  # nothing was lost
    assert again.wait(240)
    file = next(file for file in sorted((tmp_path / "answer").rglob("*.parquet")) if pq.read_metadata(file).num_rows)
    rows, whole = pq.read_metadata(file).num_rows, file.read_bytes()
    if damaged == "gone":
        file.unlink()
    else:
        file.write_bytes(whole[:-20])
    with pytest.raises(SinkError, match=rf"{file.parent.name}/{file.name} of {rows:,} rows") as refused:
        started()
    assert "Restore" in str(refused.value)
    file.write_bytes(whole)
    run = started()
    assert run.wait(240)
    run.finish()
