"""Ends in a ring, and in a heap from the first one out of order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.kernels.primitives.aggregation.snapshots import DISORDERLY
from whimbrel.operators.aggregation.snapshot_kernel import SnapshotKernel
from whimbrel.optimize import optimize
from whimbrel.run.pipeline import Pipeline

ROWS = 2_000


@pytest.mark.parametrize("first_disorder", [0, 1, 600, 1_600, ROWS])
def test_ends_out_of_order_change_nothing(first_disorder: int) -> None:
    random = np.random.default_rng(first_disorder)
    start = np.sort(random.integers(0, ROWS, ROWS))
    length = np.where(np.arange(ROWS) < first_disorder, 280, random.integers(1, 360, ROWS))
    table = pa.table({"at": start, "until": start + length, "x": random.integers(0, 9, ROWS)})
    query = wb.from_arrow(table, time="at", end="until").aggregate(n=wb.count(), most=wb.max(col.x))
    pipeline = Pipeline(optimize(query.node))
    kernel = next(kernel for kernel in pipeline.kernels if isinstance(kernel, SnapshotKernel))
    source, = pipeline.sources
    for batch in source.read(source.schema.names):
        if batch is not None:
            pipeline.push(0, batch)
    assert bool(kernel.scalars[DISORDERLY]) == (first_disorder < ROWS)
    found = query.collect()
    for row in found.slice(0, None).to_pylist()[:: max(1, found.num_rows // 200)]:
        active = (start <= row["start"]) & (row["start"] < start + length)
        assert row["n"] == active.sum()
        assert row["most"] == table["x"].to_numpy()[active].max()
        later = np.concatenate([start, start + length])
        assert row["end"] == later[later > row["start"]].min()


def test_the_ring_grows_and_turns_over() -> None:
    rows = 40_000
    start = np.arange(rows)
    query = wb.from_arrow({"at": start, "k": start % 3}, time="at").sliding_window(2_000)
    found = query.group_by("k").aggregate(n=wb.count()).where(col.n > 600).collect()
    assert set(found["n"].to_pylist()) <= set(range(601, 668))
    whole = query.aggregate(n=wb.count()).collect()
    assert whole["n"].to_pylist() == [*range(1, 2_001), *[2_000] * (rows - 2_000), *range(1_999, 0, -1)]
