"""A process that follows a stream on Spark and is killed at a bad moment: arguments FOLDER MOMENT BATCH."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.engine.spark.test_follow import LATENCY, streamed
from whimbrel import Stream, aggregate, col, count, sequence
from whimbrel.spark import local_session
from whimbrel.spark.book import Book, Entry


def query(log: Stream) -> Stream:
    spread = aggregate(init=(99, -99), accumulate=lambda s, x: (min(s[0], x), max(s[1], x)),
                       merge=lambda s, t: (min(s[0], t[0]), max(s[1], t[1])), result=lambda s: s[1] - s[0])
    return log.group_by("k").session_window(40).aggregate(n=count(), s=spread(col.x))


def matches(log: Stream) -> Stream:
    return log.group_by("k").detect(sequence(high=col.x > 6, low=col.x < 3), within=60)


def main(folder: Path, moment: str, batch: int) -> None:
    write = Book.write

    def dying(book: Book, entry: Entry) -> None:
        if entry.number == batch and moment == "answered":  # the answer is out, nobody knows
            os.kill(os.getpid(), signal.SIGKILL)
        write(book, entry)
        if entry.number == batch and moment == "booked":  # we know, Spark does not
            os.kill(os.getpid(), signal.SIGKILL)

    patched: Any = Book
    patched.write = dying
    spark = local_session("2,3")
    live = streamed(spark, folder / "log", reorder_latency=LATENCY, late="drop")
    runs = [each(live).start_on_spark(path=folder / name / "answer", checkpoint=folder / name / "checkpoint",
                                      available_now=True)
            for name, each in (("sessions", query), ("matches", matches))]
    for run in runs:
        run.wait(200)
        run.finish()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
