"""J. Logs that lie in Spark: loaded by each route, back-tested here and there, and how soon there is a first answer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

import whimbrel as wb
from bench.compare import Row, compare, same_rows
from bench.logs import write_logs
from whimbrel import Stream, col
from whimbrel.plan import Source
from whimbrel.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS, QUICK_ROWS = 10_000_000, 500_000
HOP_US = 600_000_000
COLUMNS = ("at", "service", "ms")


def run(*, quick: bool, rows: int | None = None, folder: Path | None = None) -> Iterator[Row]:
    """Rows of figures, of a service's request log in folders by day (``make logs``), columns at, service and ms.

    Spark has all cores and is warm; ours runs on one thread but where it says Spark, and where Spark sends the rows.
    """
    rows = rows or (QUICK_ROWS if quick else ROWS)
    folder = folder or Path(tempfile.gettempdir()) / "whimbrel-bench" / f"log-{rows}"
    os.environ["PYSPARK_SUBMIT_ARGS"] = "--driver-memory 6g pyspark-shell"  # toArrow() holds all rows in Java
    spark = local_session()
    try:
        frame = spark.read.parquet(str(write_logs(spark, folder, rows)))
        yield from _loading(frame, folder, rows)
        yield from _back_tests(frame, rows)
    finally:
        spark.stop()


def _loading(frame: DataFrame, folder: Path, rows: int) -> Iterator[Row]:
    plain = frame.select(*COLUMNS)

    def scan() -> int:
        data = ds.dataset(folder, partitioning="hive")
        return sum(batch.num_rows for batch in data.to_batches(columns=list(COLUMNS), use_threads=False))

    def read(log: Stream) -> Callable[[], int]:
        source: Source = log.sources[0]
        return lambda: sum(len(batch) for batch in source.read(COLUMNS) if batch is not None)

    def equal(one: Any, other: Any) -> bool:
        return bool(one == other == rows)

    yield from compare("J load", "files that Spark names", rows, read(wb.from_spark(frame, time="at")),
                       {"Arrow scan": scan}, equal)
    sent = plain.where("ms >= 0")
    yield from compare("J load", "a job's rows", rows, read(wb.from_spark(sent, time="at")),
                       {"toArrow": lambda: sent.toArrow().num_rows}, equal)
    yield from compare("J load", "in the order of time", rows, read(wb.from_spark(frame, time="at", order="time")),
                       {"sort, toArrow": lambda: plain.sort("at").toArrow().num_rows}, equal)


def hopping(log: Stream) -> Stream:
    return log.group_by("service").hopping_window("1h", "10m").aggregate(n=wb.count(), slowest=wb.max(col.ms))


def in_sql(frame: DataFrame) -> pa.Table:
    """The same by Spark's own windows; ours begin when they are known to a hop."""
    from pyspark.sql import functions as f

    grouped = frame.groupBy("service", f.window("at", "1 hour", "10 minutes")).agg(
        f.count(f.lit(1)).alias("n"), f.max("ms").alias("slowest"))
    return grouped.select((f.col("window.end") - f.expr("interval 10 minutes")).alias("start"), "service", "n",
                          "slowest").toArrow()


def same_answer(ours: pa.Table, theirs: pa.Table) -> bool:
    """Whether ours says of each hop what Spark's windows say."""
    return same_rows("start", "service", "n", "slowest")(_each_hop(ours), theirs)


def _back_tests(frame: DataFrame, rows: int) -> Iterator[Row]:
    spark = frame.sparkSession
    log = wb.from_spark(frame, time="at", name="log")
    query = hopping(log)
    peers = {"Spark SQL window()": lambda: in_sql(frame)}
    yield from compare("J back-test", "hopping, on Spark", rows, lambda: query.collect(on=spark), peers, same_answer)
    yield from compare("J back-test", "hopping, here", rows, query.collect, peers, same_answer)
    assert same_answer(list(query.progressive("50%"))[-1].table, in_sql(frame))  # the last answer is of all rows
    yield from compare("J first answer", "of progressive(), here", rows, lambda: next(query.progressive()), peers,
                       lambda ours, theirs: 0 < ours.table.num_rows <= theirs.num_rows)


def _each_hop(answer: pa.Table) -> pa.Table:
    """A row for each hop; an answer that does not change is one row, however long."""
    start, end = (answer[name].cast(pa.int64()).to_numpy() for name in ("start", "end"))
    hops = (end - start) // HOP_US
    row = np.repeat(np.arange(len(hops)), hops)
    starts = np.repeat(start, hops) + HOP_US * (np.arange(len(row)) - np.repeat(np.cumsum(hops) - hops, hops))
    return answer.take(row).set_column(0, "start", pa.array(starts).cast(answer.schema.field("start").type))
