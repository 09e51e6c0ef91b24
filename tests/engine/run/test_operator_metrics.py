"""What each operator of a running plan has done."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col

ROWS = 10_000


def log() -> Stream:
    random = np.random.default_rng(1)
    table = pa.table({"at": np.arange(ROWS), "k": random.integers(0, 9, ROWS), "x": random.random(ROWS)})
    return wb.from_arrow(table, time="at", name="log")


def test_steps_count_rows_and_name_their_inputs() -> None:
    rows = log()
    query = rows.where(col.x > 0.5).sliding_window(3).join(rows.select("k", y=col.x).sliding_window(2), on="k")
    run = query.start()
    assert run.wait(60)
    steps = run.metrics.steps
    assert {step.name for step in steps} >= {"log", "where(col.x > 0.5)", "sliding_window(3)", "join(on=['k'])"}
    index = {step.name: at for at, step in enumerate(steps)}
    assert all(below < at for at, step in enumerate(steps) for below in step.inputs)
    source, where, join = (steps[index[name]] for name in ("log", "where(col.x > 0.5)", "join(on=['k'])"))
    assert (source.rows_in, source.rows_out, source.inputs) == (ROWS, ROWS, ())
    assert where.rows_in == ROWS
    assert where.rows_out == log().where(col.x > 0.5).collect().num_rows
    assert steps[-1].rows_out == query.collect().num_rows
    assert len(join.inputs) == 2
    assert sum(step.seconds for step in steps) <= run.metrics.elapsed_s
    assert all(step.seconds > 0 for step in steps)


def test_looking_is_not_what_operators_do() -> None:
    feed = wb.replay(log(), speed=2_000, reorder_latency=0).tumbling_window(100).aggregate(n=wb.count())
    run = feed.start()
    try:
        while run.metrics.rows < 1_000:
            assert run.snapshot().table.num_rows > 0 or run.metrics.rows == 0
            time.sleep(0.02)
    finally:
        run.stop()
    assert run.wait(60)
    source, windows = run.metrics.steps
    assert source.rows_in == run.metrics.rows
    assert windows.rows_out == (run.metrics.rows - 1) // 100


@pytest.mark.parametrize("number", [0, 1])
def test_queries_that_run_together_have_their_own_steps(number: int) -> None:
    rows = log().where(col.x > 0.5)
    runs = wb.start(rows.tumbling_window(100).aggregate(n=wb.count()),
                    rows.sliding_window(5).aggregate(m=wb.max(col.x)))
    assert all(run.wait(60) for run in runs)
    names = [step.name for step in runs[number].metrics.steps]
    assert sum("max(col.x)" in name for name in names) == number
    assert runs[0].metrics.steps[0] == runs[1].metrics.steps[0]



def test_generated_text_is_listed_by_operator() -> None:
    run = log().where(col.x > 0.5).group_by("k").tumbling_window(100).aggregate(most=wb.max(col.x)).start()
    assert run.wait(60)
    (name, text), = run.kernels().items()
    assert name == "group_by(k).aggregate(most=max(col.x)) where col.x > 0.5 in windows of 100"
    assert "def step(" in text
    assert "col.x > 0.5" in text
