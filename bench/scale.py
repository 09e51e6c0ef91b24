"""``python -m bench.scale FOLDER [--rows 100M] [--steps STEP ...]``: a log loaded, back-tested and asked early.

Each step runs once and answers that should be equal are compared; beside the time stands the most memory that this
process, Java, and Spark's Python workers held meanwhile. The log is written first where it is not there.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow.dataset as ds

import whimbrel as wb
from bench.logs import rows_of, write_logs
from bench.workload_j import COLUMNS, hopping, in_sql, same_answer
from whimbrel import Stream
from whimbrel.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOOK_S = 0.2
_JAVA_MB = 6_144


class Memory(threading.Thread):
    """The most that processes held while a step ran, in megabytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = {"here": 0.0, "Java": 0.0, "workers": 0.0}
        self._done = threading.Event()

    def run(self) -> None:
        me = psutil.Process()
        while not self._done.wait(_LOOK_S):
            held = dict.fromkeys(self.most, 0.0)
            for each in (me, *me.children(recursive=True)):
                try:
                    kind = "here" if each == me else "Java" if each.name() == "java" else "workers"
                    held[kind] += each.memory_info().rss / 2**20
                except psutil.Error:  # it ended meanwhile
                    continue
            self.most = {kind: max(most, held[kind]) for kind, most in self.most.items()}

    def stop(self) -> None:
        self._done.set()
        self.join()


def steps(frame: DataFrame, folder: Path) -> dict[str, Callable[[], Any]]:
    """What is measured, by name; each returns its answer."""
    files = wb.from_spark(frame, time="at", name="log")
    query = hopping(files)
    users = wb.from_spark(frame, time="at", name="log", reorder_latency="6h", late="drop")

    def scan() -> int:
        data = ds.dataset(folder, partitioning="hive")
        return sum(batch.num_rows for batch in data.to_batches(columns=list(COLUMNS), use_threads=False))

    def read(log: Stream) -> int:
        return sum(len(batch) for batch in log.sources[0].read(COLUMNS) if batch is not None)

    def sessions(log: Stream) -> Stream:
        long = log.group_by("user").session_window("30m", max_duration="1d", emit="close").aggregate(n=wb.count())
        return long.tumbling_window("1d").aggregate(sessions=wb.count(), requests=wb.sum(wb.col.n))

    return {
        "scan": scan,
        "files": lambda: read(files),
        "first": lambda: next(query.progress()).table.num_rows > 0,
        "here": query.collect,
        "on Spark": lambda: query.collect(on=frame.sparkSession),
        "Spark SQL": lambda: in_sql(frame),
        "sessions here": lambda: sessions(users).collect(),
        "sessions on Spark": lambda: sessions(files).collect(on=frame.sparkSession),
        "job": lambda: read(wb.from_spark(frame.where("ms >= 0"), time="at")),
        "in order": lambda: read(wb.from_spark(frame, time="at", order="time")),
    }


def main() -> None:
    """Write the log where it is missing, run the steps and print what each took."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=rows_of, default=100_000_000, metavar="N")
    parser.add_argument("--steps", nargs="*", metavar="STEP", help="default: all")
    asked = parser.parse_args()
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {_JAVA_MB}m pyspark-shell"
    spark = local_session()
    try:
        began = time.perf_counter()
        frame = spark.read.parquet(str(write_logs(spark, asked.folder, asked.rows)))
        print(f"{asked.rows:,} rows in {asked.folder}, there after {time.perf_counter() - began:,.0f} s", flush=True)
        found: dict[str, Any] = {}
        for name, step in steps(frame, asked.folder).items():
            if asked.steps and name not in asked.steps:
                continue
            memory, began = Memory(), time.perf_counter()
            memory.start()
            found[name] = step()
            seconds = time.perf_counter() - began
            memory.stop()
            held = ", ".join(f"{kind} {most:,.0f} MB" for kind, most in memory.most.items())
            print(f"{name:<18}{seconds:9.1f} s {asked.rows / seconds / 1e6:8.2f} M rows/s   {held}   "
                  f"load {os.getloadavg()[0]:.1f}", flush=True)
        _check(found, asked.rows)
    finally:
        spark.stop()


def _check(found: dict[str, Any], rows: int) -> None:
    for name in ("scan", "files", "job", "in order"):
        assert found.get(name, rows) == rows, name
    for name in ("here", "on Spark"):
        assert name not in found or "Spark SQL" not in found or same_answer(found[name], found["Spark SQL"]), name
    if {"sessions here", "sessions on Spark"} <= found.keys():
        here, there = (found[f"sessions {place}"] for place in ("here", "on Spark"))
        assert here.equals(there.cast(here.schema)), "sessions"


if __name__ == "__main__":
    main()
