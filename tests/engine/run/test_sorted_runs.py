"""Sorted runs are in the metrics while rows wait."""

from __future__ import annotations

import time

import pyarrow as pa

import whimbrel as wb
from whimbrel.kernels import tier


def test_runs_are_counted_while_rows_wait() -> None:
    times = [at + back for at in range(0, 4000, 4) for back in (0, -150, -300)]
    feed = wb.replay(wb.from_arrow(pa.table({"at": times, "seen": list(range(len(times)))}), time="at", arrival="seen"),
                     speed=500, reorder_latency=400)
    with tier("primitives"):
        run = feed.start()
        try:
            most = 0
            while most < 2 and run.state == "running":
                most = max(most, run.metrics.sorted_runs)
                time.sleep(0.02)
        finally:
            run.stop()
    assert most >= 2
    assert run.metrics.buffered_bytes > 0
