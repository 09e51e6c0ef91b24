"""Late rows as a stream: which, how late, what became of them, and that they reconcile with the rest."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import whimbrel as wb
from whimbrel.errors import PlanError, SchemaError
from whimbrel.testing import oracle

ROWS: dict[str, list[Any]] = {"at": [1, 5, 3, 9, 2, 6], "until": [2, 6, 4, 10, 12, 7], "x": [0, 1, 2, 3, 4, 5]}
"""With a reorder latency of 2 the time comes to -1, 3, 3, 7, 7, 7: the last two rows are late."""


def log(late: str | None = "side_output", **options: Any) -> wb.Stream:
    return wb.from_arrow(ROWS, time="at", end="until", late=late, name="log", **{"reorder_latency": 2} | options)


def test_a_late_row_comes_when_it_is_known() -> None:
    assert wb.late_rows(log()).select("x", "late_by", "adjusted").collect().to_pylist() == [
        {"start": 7, "end": 8, "x": 4, "late_by": 7, "adjusted": False},
        {"start": 7, "end": 8, "x": 5, "late_by": 3, "adjusted": False}]


def test_what_is_moved_says_so() -> None:
    late = wb.late_rows(log("adjust")).collect()
    assert late["adjusted"].to_pylist() == [True, False]  # [2, 12) becomes [7, 12); [6, 7) has nothing left
    assert log("adjust").collect()["x"].to_pylist() == [0, 2, 1, 4, 3]


def test_both_are_read_once_and_reconcile() -> None:
    on_time, late = wb.start(log().tumbling_window(5).aggregate(n=wb.count()), wb.late_rows(log_ := log()))
    assert on_time.wait(10)
    assert late.wait(10)
    together = wb.start(log_.aggregate(n=wb.count()), wb.late_rows(log_))
    assert all(run.wait(10) for run in together)
    assert [run.metrics.late_dropped for run in together] == [2, 2]
    assert {run.metrics.rows for run in together} == {6}
    assert sum(on_time.snapshot().table["n"].to_pylist()) + late.snapshot().table.num_rows == 6


@pytest.mark.parametrize("policy", ("drop", "adjust", "side_output"))
@pytest.mark.parametrize("seed", range(4))
def test_any_arrival_reconciles_with_the_oracle(policy: str, seed: int) -> None:
    chance = random.Random(seed)
    times = [row + chance.choice([0, 0, -2, -9, -50]) for row in range(400)]
    lengths = [chance.choice([1, 3, 30]) for _ in times]
    ends = [time + length for time, length in zip(times, lengths, strict=True)]
    source = wb.from_arrow({"at": times, "until": ends}, time="at", end="until", reorder_latency=5, late=policy)
    let_in = oracle.ingress([(time, end, {"at": time}) for time, end in zip(times, ends, strict=True)], 5,
                            "adjust" if policy == "adjust" else "drop")
    main, late = wb.start(source.select("at"), wb.late_rows(source))
    assert main.wait(10)
    assert late.wait(10)
    assert main.snapshot().table.num_rows == len(let_in.facts)
    table = late.snapshot().table
    kept = Counter(main.snapshot().table["at"].to_pylist())
    kept.update(row["at"] for row in table.to_pylist() if not row["adjusted"])
    assert kept == Counter(times)
    assert main.metrics.late_dropped == late.metrics.late_dropped == table["adjusted"].to_pylist().count(False)
    assert main.metrics.late_adjusted == late.metrics.late_adjusted == table["adjusted"].to_pylist().count(True)


def test_partitions_have_late_rows_of_their_own() -> None:
    rows = {"at": [1, 90, 5, 60, 3], "k": ["a", "b", "a", "b", "a"]}
    parted = wb.from_arrow(rows, time="at", partition=wb.PartitionWatermarks(by="k", max_lag=100), reorder_latency=0,
                           late="side_output")
    main, late = wb.start(parted, wb.late_rows(parted))
    assert main.wait(10)
    assert late.wait(10)
    assert late.snapshot().table.select(["start", "k", "late_by"]).to_pylist() == [
        {"start": 5, "k": "a", "late_by": 2}, {"start": 90, "k": "b", "late_by": 30}]
    assert main.metrics.late_by_partition == {"table": {"a": 1, "b": 1}}


def test_rows_later_than_all_latencies() -> None:
    bands = log().aggregate(n=wb.count()).at_latencies(0, 4)
    late = bands.late_rows()
    assert late.collect().select(["x", "late_by"]).to_pylist() == [{"x": 4, "late_by": 7}]
    *runs, outside = wb.start(*bands, late)
    assert all(run.wait(10) for run in runs)
    assert outside.wait(10)
    assert [run.metrics.late_dropped for run in (*runs, outside)] == [3, 1, 1]
    assert {run.metrics.rows for run in (*runs, outside)} == {6}


def test_a_feed_has_late_rows_too() -> None:
    feed = wb.replay(wb.from_arrow({"at": [1, 5, 3], "seen": [1, 2, 3]}, time="at", arrival="seen"), speed=1e9,
                     reorder_latency=0, late="side_output")
    assert wb.late_rows(feed).collect()["at"].to_pylist() == [3]


@pytest.mark.parametrize(("ask", "error", "message"), [
    (lambda: wb.late_rows(log(None)), PlanError, "is an error"),
    (lambda: wb.late_rows(wb.from_arrow(ROWS | {"seen": [1] * 6}, time="at", arrival="seen")), PlanError,
     "no reorder latency"),
    (lambda: wb.late_rows(log().select("x")), PlanError, "needs a source"),
    (lambda: wb.late_rows(wb.from_arrow({"at": [1], "late_by": [2]}, time="at", late="side_output")), SchemaError,
     "late_by"),
])
def test_what_makes_no_sense_is_refused(ask: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask()
