"""``python -m bench.scale FOLDER [--rows 100M] [--steps STEP ...]``: a log loaded, back-tested and asked early.

Each step runs once. The figures are its time and the most memory that this process, Java, and Spark's Python workers
held meanwhile. Answers that should be equal are compared, and ratios are printed once they are. The log is written
first where it is not there.
"""

from __future__ import annotations

import argparse
import gc
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

import whimbrel as wb
from bench.logs import rows_of, write_logs
from bench.workload_j import COLUMNS, hopping, in_sql, same_answer
from whimbrel import Snapshot, Stream
from whimbrel.batch import Batch, table_from_batches
from whimbrel.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOOK_S = 0.2
_JAVA_MB = 6_144
_EVERY = "25%"
"""Of the answers of progressive(): the first comes as soon, whatever this is, and the others are not what is
measured."""

Digest = tuple[int, int, int, Counter[str]]


class Memory(threading.Thread):
    """The most that processes held while a step ran, in megabytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.max_mb = {"here": 0.0, "Java": 0.0, "workers": 0.0}
        self._done = threading.Event()

    def run(self) -> None:
        me = psutil.Process()
        while True:  # once at least, however short the step
            held = dict.fromkeys(self.max_mb, 0.0)
            for each in (me, *me.children(recursive=True)):
                try:
                    kind = "here" if each == me else "Java" if each.name() == "java" else "workers"
                    held[kind] += each.memory_info().rss / 2**20
                except psutil.Error:  # it ended meanwhile
                    continue
            self.max_mb = {kind: max(most, held[kind]) for kind, most in self.max_mb.items()}
            if self._done.wait(_LOOK_S):
                return

    def stop(self) -> None:
        self._done.set()
        self.join()


@dataclass
class Steps:
    """What is measured, in this order, by name; each gives its answer.

    Spark SQL goes first, so that the files lie in the system's memory for all that follow.
    """

    frame: DataFrame
    folder: Path
    answers: Iterator[Snapshot] = field(init=False)

    def __post_init__(self) -> None:
        self.log = wb.from_spark(self.frame, time="at", name="log")
        self.query = hopping(self.log)
        self.answers = iter(self.query.progressive(_EVERY))

    def by_name(self) -> dict[str, Callable[[], Any]]:
        spark = self.frame.sparkSession
        return {
            "Spark SQL": lambda: in_sql(self.frame),
            "scan": lambda: sum(batch.num_rows for batch in self._scan()),
            "files": lambda: sum(map(len, _read(self.log))),
            "first": lambda: next(self.answers),
            "last": lambda: list(self.answers)[-1],
            "here": self.query.collect,
            "on Spark": lambda: self.query.on_spark(spark).toArrow(),
            "sessions here": lambda: _sessions(self.log).collect(),
            "sessions on Spark": lambda: _sessions(self.log).collect(on=spark),
            "job": lambda: _digest(_tables(wb.from_spark(self.frame.where("ms >= 0"), time="at"))),
            "in order": lambda: _digest(_tables(wb.from_spark(self.frame, time="at", order="time"))),
        }

    def digests(self) -> tuple[Digest, Digest]:
        """Of the rows that Arrow's scan finds, and of those that the engine reads from the files."""
        return _digest(pa.Table.from_batches([batch]) for batch in self._scan()), _digest(_tables(self.log))

    def _scan(self) -> Iterator[pa.RecordBatch]:
        data = ds.dataset(self.folder, partitioning="hive")
        return iter(data.to_batches(columns=list(COLUMNS), use_threads=False))


def _read(log: Stream) -> Iterator[Batch]:
    return (batch for batch in log.sources[0].read(COLUMNS) if batch is not None)


def _tables(log: Stream) -> Iterator[pa.Table]:
    return (table_from_batches(batch.schema, [batch]) for batch in _read(log))


def _digest(tables: Iterable[pa.Table]) -> Digest:
    """Of rows in whatever order: their number, the sums of times and of the bits of numbers, and rows by service."""
    rows, times, bits, services = 0, np.int64(0), np.int64(0), Counter[str]()
    for table in tables:
        at, service, ms = (table[name].combine_chunks() for name in COLUMNS)
        rows += table.num_rows
        with np.errstate(over="ignore"):
            times += at.cast(pa.int64()).to_numpy().sum()
            bits += ms.to_numpy().view(np.int64).sum()
        for each in pc.value_counts(service).to_pylist():
            services[each["values"]] += each["counts"]
    return rows, int(times), int(bits), services


def _sessions(log: Stream) -> Stream:
    long = log.group_by("user").session_window("30m", max_duration="1d", emit="close").aggregate(n=wb.count())
    return long.tumbling_window("1d").aggregate(sessions=wb.count(), requests=wb.sum(wb.col.n))


def main() -> None:
    """Write the log where it is missing, run the steps, compare their answers, and print what each took."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=rows_of, default=100_000_000, metavar="N")
    parser.add_argument("--steps", nargs="*", metavar="STEP", help="default: all")
    asked = parser.parse_args()
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {_JAVA_MB}m pyspark-shell"
    spark = local_session()
    try:
        began, written = time.perf_counter(), (asked.folder / "_SUCCESS").exists()
        frame = spark.read.parquet(str(write_logs(spark, asked.folder, asked.rows)))
        took = "there already" if written else f"written in {time.perf_counter() - began:,.0f} s"
        print(f"{asked.rows:,} rows in {asked.folder}, {took}", flush=True)
        in_sql(frame.limit(10_000))  # Java has loaded its classes, and Spark its code, before anything is measured
        steps = Steps(frame, asked.folder)
        known = steps.by_name()
        if unknown := set(asked.steps or ()) - known.keys():
            parser.error(f"no such step: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        found: dict[str, Any] = {}
        seconds: dict[str, float] = {}
        for name, step in known.items():
            if not asked.steps or name in asked.steps:
                found[name], seconds[name] = _measured(name, step, asked.rows)
        _check(found, steps, asked.rows)
        _print_ratios(seconds)
    finally:
        spark.stop()


def _measured(name: str, step: Callable[[], Any], rows: int) -> tuple[Any, float]:
    gc.collect()
    pa.default_memory_pool().release_unused()
    memory, began = Memory(), time.perf_counter()
    memory.start()
    answer = step()
    seconds = time.perf_counter() - began
    memory.stop()
    held = ", ".join(f"{kind} {most:,.0f} MB" for kind, most in memory.max_mb.items())
    print(f"{name:<18}{seconds:9.2f} s {rows / seconds / 1e6:8.2f} M rows/s   {held}   load {os.getloadavg()[0]:.1f}",
          flush=True)
    return answer, seconds


def _check(found: dict[str, Any], steps: Steps, rows: int) -> None:
    """Fail where an answer is not what another way says; say what was compared."""
    compared = []
    for name in {"scan", "files"} & found.keys():
        assert found[name] == rows, f"{name}: {found[name]:,} rows"
    if {"files", "job", "in order"} & found.keys():
        expected, read = steps.digests()
        assert expected[0] == rows, "scan"
        assert read == expected, "files"
        compared.append("rows of files = rows of the scan")
        for name in ("job", "in order"):
            assert found.get(name, expected) == expected, name
            compared += [f"{name} = rows of the scan"] if name in found else []
    if "Spark SQL" in found:
        theirs = found["Spark SQL"]
        if "first" in found:
            assert 0 < found["first"].table.num_rows <= theirs.num_rows, "first"
        for name in {"here", "on Spark", "last"} & found.keys():
            ours = found[name].table if name == "last" else found[name]
            assert same_answer(ours, theirs), f"{name} differs from Spark SQL"
            compared.append(f"{name} = Spark SQL, {theirs.num_rows:,} rows")
    if {"sessions here", "sessions on Spark"} <= found.keys():
        here, there = (found[f"sessions {where}"] for where in ("here", "on Spark"))
        assert here.equals(there.cast(here.schema)), "sessions"
        compared.append(f"sessions here = sessions on Spark, {here['sessions'].to_pylist()}")
    print("equal:", "; ".join(compared) or "nothing was compared")


def _print_ratios(seconds: dict[str, float]) -> None:
    for name, other, bar in (("first", "Spark SQL", "at most 0.05 of the time"),
                             ("files", "scan", "at most 1.25 times the time"),
                             ("on Spark", "Spark SQL", "at most the time"), ("here", "Spark SQL", "no bar"),
                             ("sessions here", "sessions on Spark", "no bar")):
        if {name, other} <= seconds.keys():
            print(f"{name} / {other}: {seconds[name] / seconds[other]:.3f} ({bar})")


if __name__ == "__main__":
    main()
