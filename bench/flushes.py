"""The step at the end of a window with a million groups: flushed at once, and evenly."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench.figure import Figure
from whimbrel import col
from whimbrel.batch import Batch
from whimbrel.clock import INF
from whimbrel.kernels import wait_for_compiler
from whimbrel.optimize import optimize_together
from whimbrel.run.pipeline import Pipeline

Array = np.ndarray[Any, Any]

GROUPS, BATCH_ROWS, WINDOWS, REPEATS = 1_000_000, 8_192, 8, 3
_FIRST_WINDOWS = 2
"""Their arrays grow, which takes longer than to flush them."""


def flushes(rows: int) -> Iterator[Figure]:
    """Steps and throughput with an even flush, against the same rows when each window is flushed at once.

    A step takes in 8,192 rows; its time is CPU time of its thread. The slowest step of each window counts.
    """
    draw = np.random.default_rng(5)
    log = pa.table({"at": np.arange(rows), "k": draw.integers(0, GROUPS, rows), "v": draw.integers(0, 1_500, rows)})
    stream = wb.from_arrow(log, time="at").group_by("k").tumbling_window(rows // WINDOWS)
    queries = {flush: stream.aggregate(n=wb.count(), total=wb.sum(col.v), flush=flush).where(col.n > 1)
               for flush in _FLUSHES}
    steps: dict[str, list[Array]] = {flush: [] for flush in queries}
    answers = {}
    for _ in range(REPEATS + 1):
        for flush, query in queries.items():
            taken, answers[flush] = _steps(query)
            steps[flush].append(taken)
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(*answers.values(), strict=True))
    slowest = {flush: np.quantile([each.max() for taken in all_[1:] for each in _by_window(taken)], 0.99)
               for flush, all_ in steps.items()}
    total = {flush: np.median([taken.sum() for taken in all_[1:]]) for flush, all_ in steps.items()}
    yield Figure("N two levels", "even flush, slowest step", "of burst", slowest["even"] / slowest["close"], "0.2")
    yield Figure("N two levels", "even flush, throughput", "of burst", total["close"] / total["even"], "0.95")


_FLUSHES: tuple[Literal["close", "even"], ...] = ("close", "even")


def _steps(query: wb.Stream) -> tuple[Array, list[Array]]:
    """Seconds of each step, the last one included, and the columns of the answer."""
    pipeline = Pipeline(*optimize_together([query.node]))
    source = pipeline.sources[0]
    seconds, out = [], list[Batch]()
    gc.collect()
    gc.disable()  # it looks at every row batch so far, in a step of its choice
    with wait_for_compiler():
        for read in source.read(source.schema.names):
            assert isinstance(read, Batch)
            for at in range(0, len(read), BATCH_ROWS):
                batch = read.slice(at, min(at + BATCH_ROWS, len(read)))
                began = time.thread_time()
                out += pipeline.push(0, batch)[0]
                out += pipeline.advance(0, int(batch.sync[-1]) + 1)[0]
                seconds.append(time.thread_time() - began)
    began = time.thread_time()
    out += pipeline.advance(0, INF)[0]
    seconds.append(time.thread_time() - began)
    gc.enable()
    return np.array(seconds), [np.concatenate([each.sync for each in out]),
                               *(np.concatenate([np.asarray(each.columns[column].values) for each in out])
                                 for column in range(3))]


def _by_window(seconds: Array) -> list[Array]:
    """The steps around the end of each window but the first ones; the end of the log is not such a step."""
    each = len(seconds) // WINDOWS
    return [seconds[window * each - 4 : (window + 1) * each - 4] for window in range(_FIRST_WINDOWS + 1, WINDOWS)]
