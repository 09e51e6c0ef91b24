"""Ctrl-C at any moment: a query that resumes gives the exact result, with every row once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.progressive.estimation.block_totals import Totals
from whimbrel.progressive.intervals.quantiles import Pool
from whimbrel.progressive.query.interrupts import Interrupts
from whimbrel.progressive.query.lazy_estimates import LazyEstimates
from whimbrel.progressive.sampling.block_scan import Scan
from whimbrel.progressive.sampling.block_states import BlockStates

ROWS = 6_000
TABLE = pa.table({"at": np.arange(ROWS), "k": np.arange(ROWS) % 3, "x": np.random.default_rng(1).integers(0, 99, ROWS)})
LOG = wb.from_arrow(TABLE, time="at", name="log")
QUERIES = {
    "tumbling": LOG.group_by("k").tumbling_window(ROWS).aggregate(n=wb.count(), total=wb.sum(col.x)),
    "hopping": LOG.group_by("k").hopping_window(ROWS // 2, ROWS // 4).aggregate(n=wb.count(), total=wb.sum(col.x)),
    "medians": LOG.group_by("k").tumbling_window(ROWS).aggregate(middle=wb.median(col.x)),
    "distinct": LOG.group_by("k").tumbling_window(ROWS).aggregate(kinds=wb.count_distinct(col.x)),
}


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """As in a terminal: what a shell runs in the background ignores ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def interrupt(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, after: int, before: bool) -> None:
    """Ctrl-C comes once, before or after this call, after so many others."""
    called, left = getattr(owner, name), [after]

    def once(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if before and left[0] == -1:
            signal.raise_signal(signal.SIGINT)
        found = called(*given, **named)
        if not before and left[0] == -1:
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(owner, name, once)


@pytest.mark.share(3)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("method", [(Scan, "mark_read"), (Scan, "mark_all_read"), (Scan, "prioritize"),
                                    (Scan, "next_phase"), (LazyEstimates, "read"), (LazyEstimates, "merge"),
                                    (Totals, "add"),
                                    (BlockStates, "read"),
                                    (BlockStates, "read_rest"), (BlockStates, "take"), (Pool, "_replay")],
                         ids=lambda method: f"{method[0].__name__}.{method[1]}")
@pytest.mark.parametrize("name", QUERIES)
def test_an_interrupted_query_gives_the_exact_result(monkeypatch: pytest.MonkeyPatch, name: str,
                                                     method: tuple[Any, str], before: bool) -> None:
    """Blocks were counted twice, or not at all, and the answer was called final."""
    query = QUERIES[name]
    exact = rows(query.collect())
    for after, ask in ((0, _read_on), (3, _read_on), (0, _steer), (0, wb.ProgressiveQuery.finish)):
        progress = query.progressive(every="7%", block_rows=100)
        with monkeypatch.context() as patch:
            interrupt(patch, *method, after=after, before=before)
            try:
                ask(progress)
            except KeyboardInterrupt:
                assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert rows(progress.finish()) == exact
        assert progress.latest is not None
        assert progress.latest.final


def _read_on(progress: wb.ProgressiveQuery) -> None:
    for answer in progress:
        assert answer.table.num_rows


def _steer(progress: wb.ProgressiveQuery) -> None:
    next(progress)
    progress.prioritize(between=(ROWS // 2, ROWS))
    _read_on(progress)


def test_ctrl_c_waits_until_it_may_come() -> None:
    finished: list[str] = []

    def work(name: str, then: Callable[[], None] = lambda: None) -> None:
        with Interrupts():
            signal.raise_signal(signal.SIGINT)
            then()
            finished.append(name)

    with pytest.raises(KeyboardInterrupt):
        work("inner and outer", lambda: work("held by both"))
    assert finished == ["held by both", "inner and outer"]
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.let_through(lambda: 1)
        assert interrupts.let_through(lambda: 2) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_are_never_interrupted_and_hold_nothing_back() -> None:
    found: list[Any] = []

    def ask() -> None:
        with Interrupts() as interrupts:
            found.append((interrupts.let_through(lambda: 3), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [(3, signal.default_int_handler)]


def test_a_finish_that_was_interrupted_does_not_hurry_who_reads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = QUERIES["tumbling"].progressive(every="10%", block_rows=50)
    with monkeypatch.context() as patch:
        patch.setattr(progress.block_run.states, "read_rest", lambda _: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            progress.finish()
    assert len(list(progress)) >= 9
