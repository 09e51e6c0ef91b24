"""A process with two queries that follow a stream on Spark; it is killed when each is at a bad moment: FOLDER."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

from tests.engine.spark.conftest import small_session
from tests.engine.spark.test_streaming_query import LATENCY, streamed
from whimbrel import Stream, aggregate, col, count, sequence
from whimbrel.spark import SparkRun
from whimbrel.spark.commit_log import Book, CommittedBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH = 2
"""The micro-batch with which it dies."""


def query(log: Stream) -> Stream:
    spread = aggregate(init=(99, -99), accumulate=lambda s, x: (min(s[0], x), max(s[1], x)),
                       merge=lambda s, t: (min(s[0], t[0]), max(s[1], t[1])), result=lambda s: s[1] - s[0])
    return log.group_by("k").session_window(40).aggregate(n=count(), s=spread(col.x))


def matches(log: Stream) -> Stream:
    return log.group_by("k").detect(sequence(high=col.x > 6, low=col.x < 3), within=60)


def started(spark: SparkSession, folder: Path) -> list[SparkRun]:
    live = streamed(spark, folder / "log", reorder_latency=LATENCY, late="drop")
    return [each(live).start_on_spark(path=folder / name / "answer", checkpoint=folder / name / "checkpoint",
                                      available_now=True)
            for name, each in (("sessions", query), ("matches", matches))]


def main(folder: Path) -> None:
    write, both = Book.write, Barrier(2, lambda: os.kill(os.getpid(), signal.SIGKILL))

    def dying(book: Book, entry: CommittedBatch) -> None:
        sessions = book.folder.parents[1].name == "sessions"
        if entry.number == BATCH and sessions:  # the answer is out, nobody knows
            both.wait()
        write(book, entry)
        if entry.number == BATCH and not sessions:  # we know, Spark does not
            both.wait()

    patched: Any = Book
    patched.write = dying
    for run in started(small_session("2,3"), folder):
        run.wait(200)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
