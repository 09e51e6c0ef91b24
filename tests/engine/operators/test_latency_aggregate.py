"""Aggregates of several reorder latencies in one pass, against plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.operators import LatencyAggregate, LatenessBand
from whimbrel.operators.aggregation import open_pages
from whimbrel.run import Execution

LATENCIES = (50, 500, 4_000)
ROWS = 4_000


def arrived(keys: int, seed: int = 3) -> pa.Table:
    """Rows in the order of arrival, some of them very late."""
    random = np.random.default_rng(seed)
    at = np.sort(random.integers(-20_000, 20_000, ROWS))
    late = np.where(random.random(ROWS) < 0.7, random.integers(0, 60, ROWS), random.integers(0, 6_000, ROWS))
    order = np.argsort(at + late, kind="stable")
    x = pa.array(random.integers(-50, 50, ROWS), mask=random.random(ROWS) < 0.1)
    return pa.table({"at": at[order], "seen": (at + late)[order], "x": x, "k": random.integers(0, keys, ROWS)})


def together(query: wb.LatencyBands) -> list[pa.Table]:
    """Settled answers of all latencies, from one run."""
    with closing(Execution(*(each.node for each in query))) as session:
        assert not any(isinstance(node.op, LatenessBand) for node in session.pipeline.nodes)
        while not session.finished:
            session.step()
        return [answer.settled() for answer in session.answers]


def by_hand(rows: pa.Table, latency: int, size: int, hop: int) -> dict[tuple[int, int], tuple[Any, ...]]:
    """Count, sum and maximum of each window and key; windows begin at multiples of the hop."""
    newest, found = -(10**18), defaultdict(list)
    for at, x, key in zip(*(rows[name].to_pylist() for name in ("at", "x", "k")), strict=True):
        newest = max(newest, at)
        if at >= newest - latency:
            for end in range(at // hop * hop + hop, at // hop * hop + hop + size, hop):
                found[end - size, key].append(x)
    values = {window: [x for x in found[window] if x is not None] for window in found}
    return {window: (len(found[window]), sum(kept), max(kept, default=None)) for window, kept in values.items()}


def asked(rows: pa.Table, windows: Callable[[wb.Stream], wb.Stream], batch_rows: int = 300) -> wb.LatencyBands:
    batches = pa.Table.from_batches(rows.to_batches(max_chunksize=batch_rows), rows.schema)
    log = wb.from_arrow(batches, time="at", arrival="seen", name="log")
    return windows(log.group_by("k")).aggregate(n=wb.count(), total=wb.sum(col.x),
                                                top=wb.max(col.x)).at_latencies(*LATENCIES)


@pytest.mark.share(3)
@pytest.mark.parametrize("batch_rows", [7, 300, 10_000])
@pytest.mark.parametrize("most_in_pages", [64, 1 << 20], ids=["cells", "pages"])
@pytest.mark.parametrize("keys", [1, 30, 900])
def test_windows_equal_plain_python(keys: int, most_in_pages: int, batch_rows: int,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_pages, "_MOST_IN_PAGES", most_in_pages)
    rows = arrived(keys)
    answers = together(asked(rows, lambda log: log.tumbling_window(700), batch_rows))
    for latency, answer in zip(LATENCIES, answers, strict=True):
        found = {(row["start"], row["k"]): (row["n"], row["total"], row["top"]) for row in answer.to_pylist()}
        assert found == by_hand(rows, latency, 700, 700)
        assert len(found) == answer.num_rows


def answered(rows: pa.Table, latencies: tuple[int, ...], size: int, batch_rows: int) -> None:
    """Counts alone and counts with other states equal plain Python."""
    batches = pa.Table.from_batches(rows.to_batches(max_chunksize=batch_rows), rows.schema)
    windows = wb.from_arrow(batches, time="at", arrival="seen", name="log").group_by("k").tumbling_window(size)
    counts = together(windows.aggregate(n=wb.count()).at_latencies(*latencies))
    states = together(windows.aggregate(n=wb.count(), total=wb.sum(col.x), top=wb.max(col.x)).at_latencies(*latencies))
    for latency, counted, answer in zip(latencies, counts, states, strict=True):
        expected = by_hand(rows, latency, size, size)
        found = {(row["start"], row["k"]): (row["n"], row["total"], row["top"]) for row in answer.to_pylist()}
        assert found == expected
        assert {(row["start"], row["k"]): row["n"] for row in counted.to_pylist()} == {
            window: n for window, (n, _, _) in expected.items()}
        assert counted.num_rows == answer.num_rows == len(expected)


@pytest.mark.parametrize("batch_rows", [7, 10_000])
@pytest.mark.parametrize("latencies", [(0, 1, 2, 9), (50, 300), (0, 4_000, 6_000)])
@pytest.mark.parametrize("size", [20, 9_000])
def test_a_pane_may_be_of_several_latencies_at_once(size: int, latencies: tuple[int, ...], batch_rows: int) -> None:
    answered(arrived(3), latencies, size, batch_rows)


@pytest.mark.parametrize("most_in_pages", [64, 1 << 20], ids=["cells", "pages"])
def test_numbers_of_rows_may_be_larger_than_a_byte(most_in_pages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_pages, "_MOST_IN_PAGES", most_in_pages)
    rows = arrived(1_000)
    keys = np.where(np.arange(ROWS) % 5 < 4, np.arange(ROWS) % 3, rows["k"].to_numpy())  # three have most rows
    skewed = rows.set_column(3, "k", pa.array(keys))
    for size, latencies in ((3_000, LATENCIES), (40_000, LATENCIES), (512, (0, 30, 100))):
        answered(skewed, latencies, size, 300)
    every = pa.table({"at": np.zeros(2_000, np.int64), "seen": np.arange(2_000), "x": np.ones(2_000, np.int64),
                      "k": np.zeros(2_000, np.int64)})
    for rows_at_most in (255, 256, 257, 511, 512, 513, 2_000):
        answered(every.slice(0, rows_at_most), (0, 5), 10, 100)


def test_a_pane_has_one_page_for_all_latencies() -> None:
    rows = arrived(900)
    log = wb.from_arrow(rows, time="at", arrival="seen", name="log")
    query = log.group_by("k").tumbling_window(700).aggregate(n=wb.count()).at_latencies(*LATENCIES)
    with closing(Execution(*(each.node for each in query))) as session:
        peak = 0
        while not session.finished:
            session.step()
            peak = max(peak, sum(kernel.buffered_bytes for kernel in session.pipeline.kernels))
    panes = 40_000 // 700 + 2
    assert 0 < peak <= panes * (904 + 100)  # a byte for each group, and what a pane needs


def test_hopping_windows_merge_shared_panes() -> None:
    rows = arrived(20)
    answers = together(asked(rows, lambda log: log.hopping_window(600, 200)))
    for latency, answer in zip(LATENCIES, answers, strict=True):
        found = {(start, row["k"]): (row["n"], row["total"], row["top"]) for row in answer.to_pylist()
                 for start in range(row["start"], row["end"], 200)}
        assert found == {(start + 400, key): value for (start, key), value in by_hand(rows, latency, 600, 200).items()}


def test_filters_and_columns_are_merged_into_the_shared_aggregate() -> None:
    rows = arrived(5)
    log = wb.from_arrow(rows, time="at", arrival="seen", name="log")
    asked_for = log.with_columns(y=col.x * 2).where(col.y > 0).tumbling_window(700).aggregate(t=wb.sum(col.y))
    for each, answer in zip((bands := asked_for.at_latencies(*LATENCIES)), together(bands), strict=True):
        assert answer.sort_by("start").equals(each.collect().sort_by("start"))


def test_sums_of_floats_depend_on_order_and_are_not_shared() -> None:
    rows = arrived(5)
    query = wb.from_arrow(rows, time="at", arrival="seen", name="log").tumbling_window(700).aggregate(
        t=wb.sum(col.x.cast(float))).at_latencies(*LATENCIES)
    with closing(Execution(*(each.node for each in query))) as session:
        assert not any(isinstance(node.op, LatencyAggregate) for node in session.pipeline.nodes)


def test_results_come_when_each_latency_has_passed() -> None:
    log = wb.from_arrow({"at": [1, 5, 3, 9, 2, 30], "seen": [1, 5, 6, 9, 9, 30]}, time="at", arrival="seen")
    query = log.tumbling_window(4).aggregate(n=wb.count()).at_latencies(2, 10)
    early, late = together(query)
    assert early.to_pylist() == [{"start": 0, "end": 4, "n": 2}, {"start": 4, "end": 8, "n": 1},
                                 {"start": 8, "end": 12, "n": 1}, {"start": 28, "end": 32, "n": 1}]
    assert late.to_pylist()[0] == {"start": 0, "end": 4, "n": 3}


def test_metrics_count_the_rows_that_each_latency_drops() -> None:
    rows = arrived(5)
    query = asked(rows, lambda log: log.tumbling_window(700))
    newest = np.maximum.accumulate(rows["at"].to_numpy())
    with closing(Execution(*(each.node for each in query))) as session:
        while not session.finished:
            session.step()
        dropped = [answer.metrics().late_dropped for answer in session.answers]
    assert dropped == [int(np.count_nonzero(newest - rows["at"].to_numpy() > latency)) for latency in LATENCIES]
