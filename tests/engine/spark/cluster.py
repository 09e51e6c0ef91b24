"""A process with two executors in processes of their own, one of which is killed while it works: FOLDER."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import whimbrel as wb
from tests.engine.spark.conftest import start_small
from whimbrel import Stream, col

ROWS, PARTS = 4_000, 4


def query(log: Stream) -> Stream:
    return log.group_by("k").session_window(5, emit="close").aggregate(n=wb.count(), total=wb.sum(col.x))


def table() -> pa.Table:
    return pa.table({"at": list(range(ROWS)), "k": [row * row % 7 for row in range(ROWS)],
                     "x": [row % 10 for row in range(ROWS)]})


def dawdling(folder: Path) -> wb.Stream:
    """Rows whose second partition tells which process makes it, half way through, and waits to be killed."""
    def dawdle(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for part in parts:
            yield part.slice(0, 100)
            if context.partitionId() == 1 and not (folder / "pid").exists():
                daemon = Path(f"/proc/{os.getppid()}/stat").read_text(encoding="utf-8")
                (folder / "draft").write_text(daemon.rpartition(")")[2].split()[1], encoding="utf-8")
                (folder / "draft").rename(folder / "pid")
                time.sleep(100)
            yield part.slice(100)

    spark = SparkSession.getActiveSession()
    assert spark is not None
    frame = spark.read.parquet(str(folder / "log.parquet")).repartition(PARTS, "at")
    return wb.from_spark(frame.mapInArrow(dawdle, frame.schema), time="at", name="log")


def kill_executor(folder: Path) -> None:
    while not (folder / "pid").exists():
        time.sleep(0.05)
    os.kill(int((folder / "pid").read_text(encoding="utf-8")), signal.SIGKILL)


def main(folder: Path) -> None:
    start_small()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
                         .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
                         .config("spark.sql.session.timeZone", "UTC").getOrCreate())
    for route in ("carried", "loaded"):
        (folder / "pid").unlink(missing_ok=True)
        killer = threading.Thread(target=kill_executor, args=(folder,), daemon=True)
        killer.start()
        log = dawdling(folder)
        answer = query(log).collect(on=spark) if route == "carried" else query(log).collect()
        killer.join(1)
        assert not killer.is_alive(), "nobody was killed"
        pq.write_table(answer, folder / f"{route}.parquet")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
