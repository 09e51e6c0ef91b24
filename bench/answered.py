"""A run of a feed until its answer has all rows, or it is plain that it will not have them."""

from __future__ import annotations

import time

import pyarrow as pa

import whimbrel as wb


def answered(run: wb.Run, rows: int, *, timeout_s: float = 60.0) -> pa.Table:
    """The answer that has so many rows; one is asked for every second meanwhile.

    Raises
    ------
    TimeoutError
        When they have not come by then: how many have, and what the feeds say about themselves.
    """
    began = asked = time.perf_counter()
    while run.metrics.rows < rows:
        now = time.perf_counter()
        if run.error is not None:
            raise run.error
        if now - began > timeout_s:
            feeds = "; ".join(f"{name}: {state}" for name, state in run.metrics.feeds.items())
            raise TimeoutError(f"{run.metrics.rows:,} of {rows:,} rows came in {timeout_s:.0f} s; {feeds}")
        if now - asked > 1:
            run.snapshot()
            asked = now
        time.sleep(0.002)
    return run.snapshot(timeout=timeout_s).table
