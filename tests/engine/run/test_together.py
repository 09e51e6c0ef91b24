"""Several queries on one thread: they read once, compute once what they share, and end each in its time."""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.ended import ended
from tests.laws.test_laws import INPUTS, QUERIES
from whimbrel import col
from whimbrel.batch import Batch
from whimbrel.errors import CheckpointError, PlanError
from whimbrel.plan import Node, Source
from whimbrel.run import Execution
from whimbrel.testing import BatchedRows, Query, oracle
from whimbrel.testing.conformance.restart import Halting
from whimbrel.testing.rows import facts_from_table

LOG = pa.table({"at": range(2_000), "k": [f"{at % 3}" for at in range(2_000)], "x": [at % 7 for at in range(2_000)]})
DOZEN = ("where", "select", "with_columns", "hopping_window", "sliding_window", "aggregate", "extremes",
         "tumbling_by_key", "join", "join_itself", "join_aggregates", "detect")


class Counting(Source):
    """Counts how often it is read, and which of its columns."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name, self.schema, self.time, self.arrival = source.name, source.schema, source.time, source.arrival
        self.disorder, self.rows, self.live = source.disorder, source.rows, source.live
        self.reads: list[tuple[str, ...]] = []
        self.closed = 0

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        self.reads.append(tuple(columns))
        try:
            yield from self.source.read(columns, offset)
        finally:
            self.closed += 1


def counted(stream: wb.Stream) -> tuple[Counting, wb.Stream]:
    source = Counting(stream.sources[0])
    return source, wb.Stream(Node(source))


def log() -> wb.Stream:
    return wb.from_arrow(LOG, time="at", name="log")


def feed(speed: float = 500) -> wb.Stream:
    """Integer ticks, `speed` of them a second."""
    return wb.replay(log(), speed=speed)


def two(stream: wb.Stream) -> tuple[wb.Stream, wb.Stream]:
    """A count per window, and what becomes of it."""
    counts = stream.group_by("k").tumbling_window(100).aggregate(n=wb.count(), total=wb.sum(col.x))
    return counts, counts.where(col.total > 99).select("total")


def eventually(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def halted(stream: wb.Stream, rows: int) -> wb.Stream:
    """Waits for more after so many rows."""
    return wb.Stream(Node(Halting(stream.sources[0], rows)))


def settled(run: wb.Run) -> pa.Table:
    shot = run.snapshot(20)
    return shot.table.slice(0, shot.settled)


def facts(*tables: pa.Table) -> list[Any]:
    return sorted((list(row.values()) for table in tables for row in table.to_pylist()), key=str)


def test_a_source_is_read_once_with_the_columns_of_all() -> None:
    source, stream = counted(log())
    runs = wb.start(stream.where(col.x > 3).select("x"), stream.group_by("k").aggregate(n=wb.count()),
                    stream.tumbling_window(500).aggregate(n=wb.count()))
    assert [run.wait(30) for run in runs] == [True] * 3
    assert [run.state for run in runs] == ["finished"] * 3
    assert source.reads == [("k", "x")]
    assert [run.metrics.rows for run in runs] == [2_000] * 3


def test_what_is_shared_as_written_runs_once() -> None:
    with closing(Execution(*(query.node for query in two(log())))) as session:
        kinds = Counter(type(node.op).__name__ for node in session.pipeline.nodes)
        kernels = Counter(type(kernel).__name__ for kernel in session.pipeline.kernels)
    assert (kinds["GroupAggregate"], kernels["PaneKernel"], kernels["Ingress"]) == (1, 1, 1)
    with closing(Execution(*(query.node for stream in (log(), log()) for query in two(stream)))) as session:
        kernels = Counter(type(kernel).__name__ for kernel in session.pipeline.kernels)
    assert (kernels["PaneKernel"], kernels["Ingress"]) == (2, 2)


def test_a_query_may_be_started_twice_and_be_part_of_another() -> None:
    counts, chosen = two(log())
    runs = wb.start(chosen, counts, counts)
    assert all(run.wait(30) for run in runs)
    for run, query in zip(runs, (chosen, counts, counts), strict=True):
        assert facts(run.snapshot().table) == facts(query.collect())
        assert run.snapshot().final


@pytest.mark.parametrize("names", [DOZEN, DOZEN[::-1]], ids=["forth", "back"])
def test_each_answers_as_it_does_alone(names: Sequence[str]) -> None:
    s, t = (wb.Stream(Node(BatchedRows([facts[row:row + 3] for row in range(0, len(facts), 3)], name=name)))
            for name, facts in zip("st", INPUTS, strict=True))
    queries = [Query((QUERIES[name],)) for name in names]
    runs = wb.start(*(query.build(s, t) for query in queries))
    for run, query in zip(runs, queries, strict=True):
        assert run.wait(60)
        assert run.error is None
        missing, unexpected = oracle.differences(query.reference(*INPUTS[:query.arity]),
                                                 facts_from_table(run.snapshot().table))
        assert (missing, unexpected) == ([], []), str(query)


def test_one_stops_and_the_other_continues() -> None:
    first, second = wb.start(*two(feed()))
    eventually(lambda: first.snapshot().settled >= 3)
    first.stop()
    assert first.wait(20)
    assert (first.state, second.state) == ("stopped", "running")
    shown, rows = first.snapshot(), second.metrics.rows
    assert shown.settled >= 3
    assert not shown.final
    eventually(lambda: second.metrics.rows > rows + 100)
    assert first.snapshot().table.equals(shown.table)
    assert first.metrics.rows <= rows + 100
    second.stop(keep=False)
    assert second.wait(20)
    assert (second.state, second.snapshot().table.num_rows) == ("stopped", 0)


def test_what_only_a_stopped_query_reads_is_let_go_of() -> None:
    (mine, one), (theirs, other) = counted(halted(log(), 50)), counted(halted(log(), 70))
    first, second = wb.start(two(one)[0], two(other)[0])
    eventually(lambda: (first.metrics.rows, second.metrics.rows) == (50, 70))
    first.stop()
    assert first.wait(20)
    assert second.snapshot().metrics.rows == 70
    assert (mine.closed, theirs.closed) == (1, 0)
    second.stop()
    assert second.wait(20)
    assert theirs.closed == 1


def test_one_that_is_let_go_of_ends_alone() -> None:
    source, stream = counted(feed())
    runs = list(wb.start(*two(stream)))
    eventually(lambda: runs[0].metrics.rows > 10)
    del runs[0]
    gc.collect()
    rows = runs[0].metrics.rows
    eventually(lambda: runs[0].metrics.rows > rows + 50)
    assert source.closed == 0
    runs.clear()
    gc.collect()
    eventually(lambda: source.closed == 1)


def test_one_whose_sources_have_ended_is_finished() -> None:
    short, live = two(log())[0], two(halted(log(), 100))[0]
    first, second = wb.start(short, live)
    assert first.wait(30)
    assert first.state == "finished"
    assert first.snapshot().final
    assert facts(first.snapshot().table) == facts(short.collect())
    assert second.state == "running"
    second.stop()
    assert second.wait(20)
    assert second.state == "stopped"


def test_pausing_one_pauses_all() -> None:
    first, second = wb.start(*two(feed()))
    eventually(lambda: first.metrics.rows > 10)
    second.pause()
    assert (first.state, second.state) == ("paused", "paused")
    first.snapshot()  # a step that was under way is over
    rows = first.snapshot().metrics.rows
    time.sleep(0.2)
    assert first.snapshot().metrics.rows == second.snapshot().metrics.rows == rows
    second.stop()
    assert second.wait(20)
    assert first.state == "paused"
    second.resume()  # it has ended, so this is nobody's wish any more
    assert first.state == "paused"
    first.resume()
    eventually(lambda: first.metrics.rows > rows)


def test_a_source_that_fails_ends_the_queries_that_read_it() -> None:
    broken = wb.from_arrow({"at": [*range(1_000), 5], "k": ["a"] * 1_001, "x": [1] * 1_001}, time="at", name="log")
    runs = wb.start(*two(broken), two(log())[0])
    assert all(ended(run, 30) for run in runs)
    assert [run.state for run in runs] == ["failed", "failed", "finished"]
    assert runs[0].error is not None
    assert "Row 1,000 of log is late" in runs[0].error.what
    assert runs[0].error is runs[1].error
    assert not any(run.snapshot().final for run in runs[:2])
    assert runs[2].snapshot().table == two(log())[0].collect()


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_query_that_fails_leaves_its_neighbours_going(first: int) -> None:
    """One window of many leaves int64, after a filter that all share."""
    rows = 5_000
    x = np.where(np.arange(rows) == 2_345, 2**63 - 1, 1)
    kept = wb.from_arrow(pa.table({"at": np.arange(rows), "x": x}), time="at", name="log").where(col.x > 0)
    window = kept.tumbling_window(10)
    queries = [window.aggregate(s=wb.sum(col.x)), window.aggregate(n=wb.count()), kept.select(y=col.x % 7)]
    queries = queries[first:] + queries[:first]
    runs = wb.start(*queries)
    assert all(ended(run, 30) for run in runs)
    failing = -first % 3
    assert [run.state for run in runs] == ["failed" if at == failing else "finished" for at in range(3)]
    assert "int64" in str(runs[failing].error)
    assert not runs[failing].snapshot().final
    for at, (run, query) in enumerate(zip(runs, queries, strict=True)):
        if at != failing:
            assert run.error is None
            assert run.snapshot().table.equals(query.collect())


def test_a_snapshot_that_fails_for_one_query_shows_the_other() -> None:
    largest = {"at": [1, 2, 3], "x": [2**63 - 1, 1, 5]}
    stream = halted(wb.from_arrow(largest, time="at"), 3)
    window = stream.tumbling_window(10)
    with closing(Execution(window.aggregate(s=wb.sum(col.x)).node, window.aggregate(n=wb.count()).node)) as session:
        session.step()
        shots = session.snapshots([0, 1])
    assert [shot.table.num_rows for shot in shots] == [0, 1]
    assert shots[1].table["n"].to_pylist() == [3]


def test_one_fork_serves_the_snapshots_of_all_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Execution(*(query.node for query in two(halted(log(), 250))))) as session:
        session.step()
        forks: list[Any] = []
        fork = type(session.pipeline).fork
        monkeypatch.setattr(type(session.pipeline), "fork", lambda *given: forks.append(given) or fork(*given))
        shots = session.snapshots([0, 1])
        assert len(forks) == 1
        assert [shot.table.num_rows for shot in shots] == [session.snapshots([number])[0].table.num_rows
                                                           for number in (0, 1)]


def test_they_share_a_thread_and_leave_none() -> None:
    def threads() -> int:
        return sum(thread.name == "whimbrel-run" for thread in threading.enumerate())

    eventually(lambda: threads() == 0)
    runs = wb.start(*two(feed()), *two(feed()))
    assert threads() == 1
    for run in runs:
        run.stop()
    eventually(lambda: threads() == 0)


@pytest.mark.parametrize("rows", [0, 1, 150, 2_000])
def test_a_checkpoint_is_of_all(tmp_path: Path, rows: int) -> None:
    before = wb.start(*two(halted(log(), rows)))
    eventually(lambda: before[1].snapshot().metrics.rows == rows)
    before[0].checkpoint(tmp_path / "runs")
    after = wb.restore(tmp_path / "runs", *two(log()))
    for old, new, query in zip(before, after, two(log()), strict=True):
        assert new.wait(30)
        assert new.state == "finished"
        assert facts(settled(old), settled(new)) == facts(query.collect())
        assert new.metrics.rows == 2_000


def test_one_that_was_stopped_before_the_checkpoint_stays_so(tmp_path: Path) -> None:
    (_, one), (theirs, other) = counted(halted(log(), 50)), counted(halted(log(), 150))
    before = wb.start(two(one)[0], two(other)[0])
    eventually(lambda: before[1].snapshot().metrics.rows == 150)
    before[0].stop()
    assert before[0].wait(20)
    before[1].checkpoint(tmp_path / "runs")
    (mine, one), (theirs, other) = counted(log()), counted(log())
    after = wb.restore(tmp_path / "runs", two(one)[0], two(other)[0])
    assert after[1].wait(30)
    assert [run.state for run in after] == ["stopped", "finished"]
    assert len(theirs.reads) == 1
    assert mine.closed == 0  # not begun
    assert facts(settled(before[1]), settled(after[1])) == facts(two(log())[0].collect())


def test_other_queries_are_refused(tmp_path: Path) -> None:
    runs = wb.start(*two(halted(log(), 10)))
    runs[0].checkpoint(tmp_path / "runs")
    counts, chosen = two(log())
    with pytest.raises(CheckpointError, match="has 2 queries, got 1"):
        wb.restore(tmp_path / "runs", counts)
    with pytest.raises(CheckpointError, match="the same queries in another order"):
        wb.restore(tmp_path / "runs", chosen, counts)
    with pytest.raises(CheckpointError, match="another query"):
        wb.restore(tmp_path / "runs", counts, two(log())[1])  # alike, but nothing is shared
    assert all(run.state == "running" for run in runs)


def test_nothing_and_what_is_no_stream_cannot_be_started() -> None:
    with pytest.raises(PlanError, match="needs a stream"):
        wb.start()
    with pytest.raises(PlanError, match="needs streams, got int"):
        wb.start(log(), 3)  # type: ignore[arg-type]
