"""Ten times as many rows as the query can take: memory has an end, and every row is accounted for."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import psutil
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import until
from whimbrel.operators.windows.adaptive_window import WideningKernel
from whimbrel.plan import Sink, Token
from whimbrel.run.execution import Execution

ROW_BYTES = 1000
TAKEN_PER_S = 10_000
OFFERED_PER_S = 10 * TAKEN_PER_S
MESSAGE_ROWS = 500
TAKEN_ROWS = 2 * TAKEN_PER_S
QUEUE_ROWS = 5 * MESSAGE_ROWS
FIELDS = pa.schema([("at", pa.int64()), ("key", pa.int64()), ("text", pa.binary())])


class Slow(Sink):
    """A database that takes so many rows a second and no more."""

    name = "slow"

    def __init__(self) -> None:
        self.rows = 0

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None: ...

    def write(self, rows: pa.RecordBatch) -> None:
        self.rows += rows.num_rows
        time.sleep(rows.num_rows / TAKEN_PER_S)

    def prepare(self) -> Token:
        return None

    def close(self) -> None: ...


class Offered:
    """Rows of fresh memory, as fast as is said, unless whoever takes them holds them back, until enough are taken."""

    def __init__(self, sink: Slow) -> None:
        self.rows, self.sink = 0, sink

    def __call__(self) -> Iterator[pa.RecordBatch]:
        began = time.monotonic()
        while self.sink.rows < TAKEN_ROWS:
            if self.rows > (time.monotonic() - began) * OFFERED_PER_S:
                time.sleep(0.001)
                continue
            at = np.arange(self.rows, self.rows + MESSAGE_ROWS)
            text = np.full(MESSAGE_ROWS * ROW_BYTES, self.rows % 251, np.uint8)
            offsets = np.arange(0, MESSAGE_ROWS + 1, dtype=np.int32) * ROW_BYTES
            texts = pa.Array.from_buffers(pa.binary(), MESSAGE_ROWS, [None, pa.py_buffer(offsets), pa.py_buffer(text)])
            self.rows += MESSAGE_ROWS
            yield pa.RecordBatch.from_arrays([pa.array(at), pa.array(at % 7), texts], schema=FIELDS)


@pytest.mark.parametrize("rule", [None, wb.feeds.Sample(0.1), wb.feeds.Conflate("key")], ids=str)
def test_memory_stays_bounded_at_ten_times_the_rate_that_is_taken(rule: wb.feeds.Overload | None) -> None:
    sink, process = Slow(), psutil.Process()
    offered = Offered(sink)
    feed = wb.feeds.iterator(offered, time="at", schema=FIELDS, queue_rows=QUEUE_ROWS, overload=rule)
    run = feed.select("key", "text").start(sink=sink, keep_rows=100)
    until(lambda: sink.rows)
    before = most = process.memory_info().rss
    while not run.wait(0.01):
        most = max(most, process.memory_info().rss)
    state = run.metrics.feeds["iterator"]
    shed = sum(state.shed.values())
    assert (run.state, run.error) == ("finished", None)
    assert most - before < 20 * QUEUE_ROWS * ROW_BYTES, f"{(most - before) >> 20} MB more"
    assert sink.rows + shed == state.rows == offered.rows
    if rule is None:
        assert state.backpressure_s > 1
        assert offered.rows < 2 * TAKEN_ROWS
    else:
        assert offered.rows > 5 * sink.rows
        assert str(state).endswith(f"{shed:,} shed")


def test_runs_that_are_started_apart_ask_for_relief_apart() -> None:
    feed = wb.feeds.iterator(list, time="at", schema={"at": "int64"}, overload=wb.feeds.WidenHop(10))
    windows = feed.hopping_window(20, 2).aggregate(n=wb.count())
    busy, other = (Execution(windows.node) for _ in range(2))
    kernel, = (kernel for kernel in busy.pipeline.kernels if isinstance(kernel, WideningKernel))
    kernel.relief.left_out = 5
    shed = [session.reader.feeds({0})["iterator"].shed for session in (busy, other)]
    assert shed == [{"widen hop to 10": 5}, {"widen hop to 10": 0}]


def test_hops_are_wider_while_too_many_rows_wait_and_windows_that_are_answered_are_exact() -> None:
    at = pa.table({"at": range(10_000)})
    feed = wb.feeds.iterator(lambda: at.to_batches(max_chunksize=MESSAGE_ROWS), time="at", schema=at.schema,
                             queue_rows=QUEUE_ROWS, overload=wb.feeds.WidenHop(10))
    windows = feed.hopping_window(20, 2).aggregate(total=wb.sum(wb.col.at))
    exact = windows.on(wb.from_arrow(at, time="at")).collect().to_pylist()
    totals = {hop: row["total"] for row in exact for hop in range(row["start"], row["end"], 2)}
    run = windows.start(sink=Slow())
    while not run.wait(0.01):
        assert run.metrics.buffered_rows < 100
    found, state = run.snapshot().table.to_pylist(), run.metrics.feeds["iterator"]
    assert all(totals[row["end"] - 2] == row["total"] for row in found)
    assert {row["end"] - row["start"] for row in found[1000:-20]} <= {2, 10}
    left_out = sum((row["end"] - row["start"]) // 2 - 1 for row in found)
    assert 1000 < left_out <= state.shed["widen hop to 10"] <= left_out + 8  # two stretches after the last row
    assert str(state).endswith("shed")
