"""D. Several latencies of one query (after Impatience, ICDE 2018, table II and figure 10)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench import disordered
from bench.compare import Row, compare
from bench.figure import Figure
from bench.kept_memory import give_back_memory
from bench.sides import Ours, ready
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.kernels import wait_for_compiler
from whimbrel.operators import GroupAggregate
from whimbrel.plan import Node, OrderingSpec, Source, WithOrdering
from whimbrel.run import Execution

Array = np.ndarray[Any, Any]

ROWS, QUICK_ROWS = 20_000_000, 250_000
BATCH_ROWS = 10_000
"""Time moves once a batch: a punctuation every 10,000 events."""
SECOND_US, MINUTE_MS = 1_000_000, 60_000
QUERIES: dict[str, Callable[[wb.Stream], wb.Stream]] = {
    "Q1 count": lambda windows: windows.aggregate(n=wb.count()),
    "Q2 100 groups": lambda windows: windows.group_by(g=col.c0 % 100).aggregate(n=wb.count()),
    "Q3 1,000 groups": lambda windows: windows.group_by(g=col.c0 % 1_000).aggregate(n=wb.count()),
    "Q4 top 5 of 100": lambda windows: windows.group_by(g=col.c0 % 100).aggregate(n=wb.count()).top_k(5, by=col.n),
}


@dataclass(frozen=True)
class Answers:
    """What was answered, by number of the latency, and how many bytes the engine counted as buffered at most."""

    tables: dict[int, pa.Table]
    peak_bytes: int


@dataclass(frozen=True)
class Log:
    """Rows as they arrive, and how they are asked."""

    name: str
    source: Arriving
    window: int
    latencies: tuple[int, ...]
    names: tuple[str, ...]


class Arriving(Source):
    """Times and four 32-bit columns in memory, in batches, in the order of arrival."""

    def __init__(self, name: str, times: Array) -> None:
        chance = np.random.default_rng(7)
        columns = [chance.integers(0, 2**31, len(times), np.int32) for _ in range(4)]
        self.name, self.time, self.rows = name, "at", len(times)
        self.schema = Schema((Field("at", pa.int64()), *(Field(f"c{number}", pa.int32()) for number in range(4))))
        self.columns = [Column(field.type, values)
                        for field, values in zip(self.schema.fields, [times, *columns], strict=True)]

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        chosen = [self.columns[self.schema.index(name)] for name in columns]
        schema = self.schema.select(columns)
        for at in range(offset, len(self.columns[0]), BATCH_ROWS):
            part = [column.slice(at, at + BATCH_ROWS) for column in chosen]
            yield Batch(schema, self.columns[0].slice(at, at + BATCH_ROWS).values, 1, tuple(part))


def run(*, quick: bool, rows: int | None = None) -> Iterator[Row | Figure]:
    """For each log and query: the three latencies together against each of the other ways to get one of them."""
    for log in logs(rows or (QUICK_ROWS if quick else ROWS)):
        yield from latencies(log)
        for query in QUERIES:
            yield from throughput(log, query)
            yield from buffered(log, query)


def logs(rows: int) -> Iterator[Log]:
    """Both logs. The latencies of shorter logs are shorter in proportion."""
    scale = rows / ROWS
    for name, made, window, latencies_, names in (
            ("CloudLog-like", disordered.cloud_log, SECOND_US, (SECOND_US, 60 * SECOND_US, 3_600 * SECOND_US),
             ("1 s", "1 m", "1 h")),
            ("AndroidLog-like", disordered.android_log, MINUTE_MS, (10 * MINUTE_MS, 60 * MINUTE_MS, 1_440 * MINUTE_MS),
             ("10 m", "1 h", "1 d"))):
        scaled = tuple(max(int(latency * scale), 1) for latency in latencies_)
        yield Log(name, Arriving(name, made(rows)), max(int(window * scale), 1), scaled, names)


def _ask(log: Log, query: str, source: Source) -> wb.Stream:
    return QUERIES[query](wb.Stream(Node(source)).tumbling_window(log.window))


def ways(log: Log, query: str) -> dict[str, Ours[dict[int, wb.Stream]]]:
    """Each way to an answer; answers have the number of their latency. "together" is the way of this engine."""
    def alone(which: int) -> dict[int, wb.Stream]:
        return {which: _ask(log, query, WithOrdering(log.source, OrderingSpec(log.latencies[which], "drop")))}

    def together() -> dict[int, wb.Stream]:
        return dict(enumerate(_ask(log, query, log.source).at_latencies(*log.latencies)))

    def basic(queries: dict[int, wb.Stream]) -> Answers:
        with mock.patch.object(GroupAggregate, "to_states", return_value=None), \
                mock.patch.object(GroupAggregate, "any_order", return_value=False):
            return _answers(queries)

    return {"together": Ours(together, _answers), "smallest only": Ours(lambda: alone(0), _answers),
            "largest only": Ours(lambda: alone(len(log.latencies) - 1), _answers), "basic": Ours(together, basic)}


def throughput(log: Log, query: str) -> Iterator[Row]:
    """The three together against each other way."""
    with wait_for_compiler():
        peers = ways(log, query)
        yield from compare("D", f"{log.name} {query}", log.source.rows or 0, peers.pop("together"), peers, _same)


def buffered(log: Log, query: str) -> Iterator[Row]:
    """Bytes buffered at most, as the engine counts them, and as the process grew."""
    with wait_for_compiler():
        peaks = {way: _peaks(ready(side)[0]) for way, side in ways(log, query).items()}
    for metric, number in (("MB buffered", 0), ("MB grown", 1)):
        mine, *others = ((way, peak[number] / 1e6) for way, peak in peaks.items())
        for way, theirs in others:
            ratio = theirs / max(mine[1], 1e-3)
            yield Row(workload="D", case=f"{log.name} {query}", metric=metric, ours=mine[1], peer=way,
                      peer_value=theirs, ratio=ratio, ratio_min=ratio, ratio_max=ratio, roof_fraction=None,
                      rss_mb=_status("VmRSS") / 1e6, verified=True)


def latencies(log: Log) -> Iterator[Figure]:
    """How complete an answer is at each latency, and how long after the end of its window it is settled (Q1)."""
    query = next(iter(QUERIES))
    with wait_for_compiler():
        for way in ("together", "smallest only", "largest only"):
            side = ways(log, query)[way]
            for which, (share, waits) in _settled(log, side.build()).items():
                case = f"{log.name} {way}, {log.names[which]}"
                yield Figure("D", case, "% of rows", 100 * share, "that its answer counts")
                if not np.isnan(waits):  # else the log was over before the first answer
                    yield Figure("D", case, "windows", waits / log.window, "from a window's end to its answer, median")


def _settled(log: Log, queries: dict[int, wb.Stream]) -> dict[int, tuple[float, float]]:
    """By number of the latency: the share of rows that are counted, and the median wait in event time."""
    newest = np.maximum.accumulate(log.source.columns[0].values)
    counted = dict.fromkeys(queries, 0)
    waits: dict[int, list[Array]] = {which: [] for which in queries}
    with closing(Execution(*(query.node for query in queries.values()), keep_rows=0)) as session:
        while not session.finished:
            outs = session.step()
            now = newest[min(session.reader.rows, len(newest)) - 1]
            for which, batches in zip(queries, outs or (), strict=False):
                for batch in batches:
                    counted[which] += int(np.sum(batch.columns[batch.schema.index("n")].values))
                    if not session.finished:  # the end of the log settles everything
                        waits[which].append(now - batch.sync - log.window)
    return {which: (counted[which] / len(newest), float(np.median(np.concatenate(waits[which] or [[np.nan]]))))
            for which in queries}


def _answers(queries: dict[int, wb.Stream]) -> Answers:
    """Run queries together; their answers, and how many bytes were buffered at most."""
    peak = 0
    with closing(Execution(*(query.node for query in queries.values()))) as session:
        while not session.finished:
            session.step()
            peak = max(peak, sum(kernel.buffered_bytes for kernel in session.pipeline.kernels))
        tables = (answer.settled() for answer in session.answers)
        return Answers(dict(zip(queries, tables, strict=True)), peak)


def _peaks(ask: Callable[[], Answers]) -> tuple[int, int]:
    """Bytes buffered at most, as the engine counts them and as the process grew."""
    gc.collect()
    give_back_memory()
    Path("/proc/self/clear_refs").write_text("5")  # forget the largest size so far
    before = _status("VmRSS")
    counted = ask().peak_bytes
    return counted, _status("VmHWM") - before


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _same(ours: Answers, theirs: Answers) -> bool:
    return all(_ordered(ours.tables[which]).equals(_ordered(table))
               for which, table in theirs.tables.items())


def _ordered(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.schema.names])
