"""Where the time of a query goes."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.kernels import tier

ROWS = 100_000


def log() -> Stream:
    random = np.random.default_rng(1)
    table = pa.table({"at": np.arange(ROWS), "k": random.integers(0, 9, ROWS), "x": random.random(ROWS)})
    return wb.from_arrow(table, time="at", name="log")


def test_rows_are_counted_by_operator() -> None:
    half = log().where(col.x > 0.5)
    query = half.join(log().where(col.x <= 0.5).select("k", y=col.x), on="k").tumbling_window(1_000)
    spent = query.aggregate(n=wb.count()).profile()
    left, right = half.collect().num_rows, ROWS - half.collect().num_rows
    found = {row["operator"]: row for row in spent.operators.to_pylist()}
    assert spent.operators["operator"].to_pylist()[0] == "log"
    assert (found["where(col.x > 0.5)"]["rows_in"], found["where(col.x > 0.5)"]["rows_out"]) == (ROWS, left)
    assert found["select(k)"]["rows_out"] == right
    assert found["join(on=['k'])"]["rows_in"] == ROWS
    counts = query.aggregate(n=wb.count()).collect().num_rows
    assert found["aggregate(n=count()) in windows of 1000"]["rows_out"] == counts


def test_all_of_the_time_is_somewhere() -> None:
    spent = log().group_by("k").tumbling_window(1_000).aggregate(total=wb.sum(col.x)).profile()
    operators = sum(spent.operators["seconds"].to_pylist())
    assert spent.seconds == pytest.approx(operators + spent.compiling + spent.reading)
    # the reader asks a kernel too, where the gaps between its rows are
    assert 0 < sum(spent.kernels["seconds"].to_pylist()) < operators + spent.reading
    assert {"step", "steps"} <= set(spent.kernels["kernel"].to_pylist())


def test_nobody_is_charged_for_the_compiler() -> None:
    assert log().select(y=col.x * 2).profile().compiling == 0
    fresh = log().tumbling_window(7).aggregate(total=wb.sum(col.x + time.time()))  # no such kernel is kept
    spent = fresh.profile()
    assert spent.compiling > 0
    assert fresh.profile().compiling == 0


def test_it_prints_a_table() -> None:
    text = str(log().where(col.x > 0.5).profile())
    assert "100,000" in text
    assert "where(col.x > 0.5)" in text
    assert "waiting for the compiler" in text


def test_an_interpreted_run_waits_for_no_compiler() -> None:
    with tier("interpreted"):
        spent = log().where(col.x > 0.99).group_by("k").tumbling_window(1_000).aggregate(n=wb.count()).profile()
    assert spent.compiling == 0
    assert spent.operators["rows_in"].to_pylist()[0] == ROWS


def test_a_failing_query_fails() -> None:
    with pytest.raises(WhimbrelError, match="overflow"):
        log().select(y=col.k + 2**62 + 2**62).profile()
