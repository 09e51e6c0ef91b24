"""Epochs: gaps, many groups, sums that overflow, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError, PlanError
from whimbrel.operators.aggregation import epoch_kernel

LOG = wb.from_arrow({"at": [0, 2, 15], "ip": ["a", "a", "b"], "x": [2, 3, 4], "fin": [False, True, None]}, time="at")


def test_a_long_gap_gives_the_same_row_in_each_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_kernel, "PORTION_ROWS", 64)
    log = wb.from_arrow({"at": [0, 1, 10_000], "k": [1, 2, 1]}, time="at")
    found = log.group_by("k").epoch_aggregate(10, wb.running(wb.count()) > 1, n=wb.count(), r=wb.running(wb.count()))
    rows = found.collect().to_pylist()
    assert len(rows) == 2 * 1001
    assert [row["start"] for row in rows] == [10 * (number // 2) for number in range(2 * 1001)]
    assert {(row["k"], row["n"], row["r"]) for row in rows if 0 < row["start"] < 10_000} == {(1, 0, 1), (2, 0, 1)}
    assert {(row["k"], row["n"], row["r"]) for row in rows[-2:]} == {(1, 1, 2), (2, 0, 1)}


def test_a_group_that_closes_costs_nothing_in_a_gap() -> None:
    log = wb.from_arrow({"at": [0, 10**15], "k": [1, 1]}, time="at")
    assert log.epoch_aggregate(1, wb.count() == 0, n=wb.count()).collect()["n"].to_pylist() == [1, 0, 1]


def test_a_gap_that_is_too_long_is_an_error() -> None:
    log = wb.from_arrow({"at": [0, 10**15], "k": [1, 1]}, time="at")
    with pytest.raises(KernelError, match=r"Cannot give results of 999,999,999,999,998 epochs without rows for 1 open"):
        log.epoch_aggregate(1, False, n=wb.count()).collect()


def test_many_groups() -> None:
    log = wb.from_arrow({"at": [*range(3000), *range(3000, 6000)], "k": [at % 3000 for at in range(6000)]}, time="at")
    found = log.group_by("k").epoch_aggregate(3000, False, n=wb.count(), r=wb.running(wb.sum(col.at)))
    rows = found.collect().to_pylist()
    assert len(rows) == 6000
    assert all(row["r"] == row["k"] * 2 + 3000 for row in rows[3000:])


def test_a_running_sum_that_overflows_is_an_error() -> None:
    log = wb.from_arrow({"at": [0, 10], "x": [2**62, 2**62]}, time="at")
    with pytest.raises(KernelError, match="An integer sum leaves int64"):
        log.epoch_aggregate(5, False, s=wb.running(wb.sum(col.x))).collect()


def test_expressions_of_running_aggregates() -> None:
    mean = wb.running(wb.sum(col.x) / wb.count())
    assert LOG.epoch_aggregate(10, False, m=mean, n=wb.running(wb.sum(col.x, empty=None))).collect().to_pylist() == [
        {"start": 0, "end": 10, "m": 2.5, "n": 5}, {"start": 10, "end": 20, "m": 3.0, "n": 9}]


def test_explain_says_what_groups_cost_that_never_close() -> None:
    forever = LOG.group_by("ip").epoch_aggregate(5, False, n=wb.count()).explain()
    assert "note: no group closes: it keeps a state for each key, and gives a row for each in every epoch" in forever
    assert "no group closes" not in LOG.group_by("ip").epoch_aggregate(5, wb.count() == 0, n=wb.count()).explain()


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: LOG.epoch_aggregate(5, col.fin, n=wb.count()), PlanError,
     "closing_when must read keys and aggregates, got col.fin."),
    (lambda: LOG.epoch_aggregate(5, wb.count(), n=wb.count()), ExpressionError, "closing_when must be boolean"),
    (lambda: LOG.epoch_aggregate(5, 3, n=wb.count()), PlanError, "closing_when must be a condition, got 3."),
    (lambda: LOG.epoch_aggregate(5, False), PlanError, r"epoch_aggregate\(\) needs at least one aggregate."),
    (lambda: LOG.epoch_aggregate(5, False, n=col.x), PlanError, "n must be an aggregate, got col.x."),
    (lambda: LOG.epoch_aggregate(0, False, n=wb.count()), PlanError, "size must be positive"),
    (lambda: LOG.tumbling_window(5).aggregate(n=wb.running(wb.count())), PlanError,
     r"running\(count\(\)\) needs groups that close."),
    (lambda: wb.running(col.x), PlanError, r"running\(\) needs an aggregate, got col.x."),
    (lambda: wb.running(wb.running(wb.count())), PlanError, r"running\(\) needs an aggregate, got running"),
    (lambda: LOG.select(n=wb.running(wb.count())), ExpressionError, "a running aggregate"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_a_refusal(number: int) -> None:
    make, kind, words = REFUSED[number]
    with pytest.raises(kind, match=words):
        make()
