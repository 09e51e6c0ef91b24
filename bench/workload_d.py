"""D. Several latencies of one query (after Impatience, ICDE 2018, table II and figure 10)."""

from __future__ import annotations

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
from bench.sides import Ours, ready
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.kernels import patience
from whimbrel.operators import GroupAggregate
from whimbrel.plan import Disorder, Node, Promising, Source
from whimbrel.run import Session

Array = np.ndarray[Any, Any]

ROWS, QUICK_ROWS = 20_000_000, 2_000_000
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
    source: Source
    window: int
    latencies: tuple[int, ...]
    words: tuple[str, ...]


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


def run(*, quick: bool) -> Iterator[Row]:
    """For each log and query: the three latencies together against each of the other ways to get one of them."""
    rows = QUICK_ROWS if quick else ROWS
    scale = rows / ROWS  # the logs of the quick run are shorter, and so are its latencies
    for made, window, latencies, words in (
            (disordered.cloud_log, SECOND_US, (SECOND_US, 60 * SECOND_US, 3_600 * SECOND_US), ("1 s", "1 m", "1 h")),
            (disordered.android_log, MINUTE_MS, (10 * MINUTE_MS, 60 * MINUTE_MS, 1_440 * MINUTE_MS),
             ("10 m", "1 h", "1 d"))):
        name = f"{'Cloud' if made is disordered.cloud_log else 'Android'}Log-like"
        scaled = tuple(max(int(latency * scale), 1) for latency in latencies)
        log = Log(name, Arriving(name, made(rows)), max(int(window * scale), 1), scaled, words)
        with patience():
            for query in QUERIES:
                yield from _asked(log, query)


def _asked(log: Log, query: str) -> Iterator[Row]:
    def ask(source: Source) -> wb.Stream:
        return QUERIES[query](wb.Stream(Node(source)).tumbling_window(log.window))

    def alone(which: int) -> dict[int, wb.Stream]:
        return {which: ask(Promising(log.source, Disorder(log.latencies[which], "drop")))}

    def together() -> dict[int, wb.Stream]:
        return dict(enumerate(ask(log.source).at_latencies(*log.latencies)))

    def basic(queries: dict[int, wb.Stream]) -> Answers:
        with mock.patch.object(GroupAggregate, "to_states", return_value=None):
            return _answers(queries)

    advanced = Ours(together, _answers)
    ways = {"smallest only": Ours(lambda: alone(0), _answers),
            "largest only": Ours(lambda: alone(len(log.latencies) - 1), _answers), "basic": Ours(together, basic)}
    yield from compare("D", f"{log.name} {query}", log.source.rows or 0, advanced, ways, _same)
    bytes_ = {way: _peaks(ready(side)[0]) for way, side in {"together": advanced, **ways}.items()}
    for way, (counted, grown) in bytes_.items():
        ratio = counted / bytes_["together"][0]
        print(f"      buffered at most, {way:<14} {counted / 1e6:9.1f} MB counted, {grown / 1e6:9.1f} MB the process "
              f"grew by; {ratio:7.1f} of the three together")
    kept = [_counted(answer, query) for answer in _answers(together()).tables.values()]
    if query.startswith("Q1"):
        shares = ", ".join(f"{word}: {rows / (log.source.rows or 1):.4%}"
                           for word, rows in zip(log.words, kept, strict=True))
        print(f"      rows that are in the answer after {shares}")


def _counted(answer: pa.Table, query: str) -> int:
    return int(sum(answer["n"].to_pylist())) if query.startswith("Q1") else answer.num_rows


def _answers(queries: dict[int, wb.Stream]) -> Answers:
    """Run queries together; their answers, and how many bytes were buffered at most."""
    peak = 0
    with closing(Session(*(query.node for query in queries.values()))) as session:
        while not session.finished:
            session.step()
            peak = max(peak, sum(kernel.buffered_bytes for kernel in session.pipeline.kernels))
        tables = (answer.settled() for answer in session.answers)
        return Answers(dict(zip(queries, tables, strict=True)), peak)


def _peaks(ask: Callable[[], Answers]) -> tuple[int, int]:
    """Bytes buffered at most, as the engine counts them and as the process grew."""
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
