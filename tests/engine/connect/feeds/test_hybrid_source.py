"""History, then a feed: nothing missing, nothing twice, wherever it is interrupted."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, until, values
from whimbrel import col
from whimbrel.connect.feeds import FeedReader
from whimbrel.connect.feeds.runtime.cutover import KeyCutover
from whimbrel.errors import CheckpointError, PlanError, SchemaError
from whimbrel.plan import SourceOffset

FIELDS = {"at": "int64", "n": "int64", "part": "int64"}


def numbers(first: int, stop: int) -> list[dict[str, int]]:
    return [{"at": n // 3, "n": n, "part": n % 2} for n in range(first, stop)]


def log(stop: int) -> wb.Stream:
    table = pa.Table.from_pylist(numbers(0, stop), pa.schema([(name, pa.int64()) for name in FIELDS]))
    return wb.from_arrow(table, time="at")


def feed(first: int, stop: int) -> wb.Stream:
    return wb.feeds.iterator(lambda: numbers(first, stop), time="at", schema=FIELDS)


WAYS: list[dict[str, Any]] = [
    {"offset": "n"}, {"offset": "n", "partition": "part"}, {"keys": ["n"], "dedup_window": 10}, {"cutover": 8}]


@pytest.mark.fault("history.then", "duplicate delivery")
@pytest.mark.parametrize("way", WAYS, ids=["offset", "partition", "keys", "cutover"])
@pytest.mark.parametrize("first", [0, 10, 20, 24])
def test_each_row_is_delivered_once(way: dict[str, Any], first: int) -> None:
    both = log(30).then(feed(first, 60), **way)
    assert both.collect()["n"].to_pylist() == list(range(60))


def test_a_duplicate_after_the_dedup_window_is_no_late_row() -> None:
    older = {"at": -1, "n": -1, "part": 0}  # than all of the history
    again = wb.feeds.iterator(lambda: [older, *numbers(0, 60)], time="at", schema=FIELDS, late="drop", name="again")
    run = log(30).then(again, keys=["n"], dedup_window=2).select("n").start()
    assert run.wait(PATIENCE_S)
    shown = run.snapshot()
    assert shown.table["n"].to_pylist() == list(range(60))
    assert (shown.metrics.feeds["again"].duplicates, shown.metrics.late_dropped) == (30, 1)


@given(cut=st.integers(0, 70), way=st.sampled_from(WAYS))
@pytest.mark.fault("history.then", "client gone meanwhile")
def test_it_resumes_from_any_offset(cut: int, way: dict[str, Any]) -> None:
    both = log(30).then(feed(15, 60), **way)
    with reading(both) as found:
        before: list[Any] = []
        for _ in range(cut):
            batch = next(found, None)
            before += [] if batch is None else batch.column("n").to_arrow().to_pylist()
        offset = json.loads(json.dumps(found.offset))
    with reading(both, offset) as found:
        assert before + values(found, 99, "n") == list(range(60))


def test_the_state_says_where_it_is(tmp_path: Path) -> None:
    source = log(30).then(feed(15, 60), offset="n").node.op
    assert isinstance(source, wb.feeds.HybridSource)
    found = source.read(["n"], SourceOffset(0, None))
    assert isinstance(found, FeedReader)
    next(found)
    assert (found.state.phase, str(found.state)) == ("history", "history")
    assert len(values(found, 30, "n")) == 30
    until(lambda: found.state.phase == "live")
    assert found.state.duplicates == 15
    found.close()


def test_it_is_not_live_before_the_query_has_worked_on_what_came() -> None:
    def slowly(total: int, n: int) -> int:
        time.sleep(0.0005)
        return total + n

    add = wb.aggregate(init=0, accumulate=slowly, result=lambda total: total, name="add")
    run = log(30).then(feed(15, 4_000), offset="n").tumbling_window(4).aggregate(n=add(col.n)).start()
    recorded = []
    while not run.wait(0.05):
        metrics = run.metrics
        recorded.append((metrics.feeds["iterator"], metrics.rows))
    assert all(rows > 2_900 for state, rows in recorded if state.phase == "live")
    known = [state.eta_s for state, _ in recorded if state.eta_s is not None]
    assert len(known) > len(recorded) / 3
    assert all(state.eta_s is None for state, _ in recorded if state.phase != "catching up")


def test_a_query_is_handed_over_and_its_checkpoint_resumes(tmp_path: Path) -> None:
    query = log(30).then(feed(15, 60), offset="n").tumbling_window(4).aggregate(n=wb.count())
    run = query.start()
    assert run.wait(PATIENCE_S)
    run.checkpoint(tmp_path / "point")
    assert run.snapshot().table["n"].to_pylist() == [12] * 5
    assert run.metrics.feeds["iterator"].duplicates == 15
    later = wb.restore(tmp_path / "point", query)
    assert later.wait(PATIENCE_S)
    assert later.metrics.rows == 60


@pytest.mark.parametrize("other", [
    None, {"keys": ["n"], "dedup_window": 100}, {"cutover": 20}, {"offset": "n", "partition": "part"}])
def test_a_checkpoint_of_another_hand_over_is_refused(tmp_path: Path, other: dict[str, Any] | None) -> None:
    def query(way: dict[str, Any] | None) -> wb.Stream:
        both = feed(15, 60) if way is None else log(30).then(feed(15, 60), **way)
        return both.tumbling_window(4).aggregate(n=wb.count())

    for first, then in (({"offset": "n"}, other), (other, {"offset": "n"})):
        run = query(first).start()
        assert run.wait(PATIENCE_S)
        run.checkpoint(tmp_path / "point")
        with pytest.raises(CheckpointError, match="The checkpoint belongs to another query"):
            wb.restore(tmp_path / "point", query(then))


@pytest.mark.parametrize("way", [{"offset": "n"}, {"offset": "n", "partition": "part"}], ids=["offset", "partition"])
def test_a_row_without_an_offset_is_no_duplicate(way: dict[str, Any]) -> None:
    rows = [{"at": 1, "n": None, "part": 0}, {"at": 2, "n": 5, "part": 0}, {"at": 3, "n": None, "part": 1}]
    history = wb.from_arrow(pa.Table.from_pylist(rows, pa.schema([(name, pa.int64()) for name in FIELDS])), time="at")
    more = wb.feeds.iterator(lambda: [*rows, {"at": 4, "n": 6, "part": 0}], time="at", schema=FIELDS)
    with reading(history.then(more, **way)) as found:
        assert values(found, 99, "n") == [None, 5, None, None, None, 6]


def test_keys_are_remembered_over_two_restarts_within_the_history() -> None:
    first, second = (next(log(stop).sources[0].read(["n"])) for stop in (4, 8))
    assert first is not None
    assert second is not None
    cutover = KeyCutover(("n",), 100)
    for rows in (first, second.take(np.arange(4, 8))):
        cutover.of_history(rows)
        cutover, before = cutover.begin(), json.loads(json.dumps(cutover.state()))
        cutover.restore(before)
    assert len(cutover.of_feed(second)) == 0


KEYS: list[Any] = [
    pa.array([b"\xff", None, b"b"]), pa.array([1, 2, None], pa.date32()), pa.array([0.5, None, 2.5]),
    pa.array([1, 2**60 + 1, None], pa.timestamp("ns", "UTC")), pa.array([1, 2, None], pa.time64("ns")),
    pa.array([Decimal("1.50"), None, Decimal("2.50")]), pa.array([True, None, False]), pa.array(["ü", None, ""])]


@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: str(keys.type))
@pytest.mark.parametrize("way", [{"offset": "n", "partition": "key"}, {"keys": ["key"], "dedup_window": 10}],
                         ids=["partition", "keys"])
def test_keys_of_any_type_are_in_a_checkpoint(keys: Any, way: dict[str, Any]) -> None:
    rows = pa.table({"at": [1, 2, 3], "n": [7, 8, 9], "key": keys})
    more = wb.feeds.iterator(lambda: rows.to_batches() * 2, time="at", schema=rows.schema, format="arrow")
    both = wb.from_arrow(rows, time="at").then(more, **way)
    with reading(both) as found:
        assert values(found, 3, "n") == [7, 8, 9]
        offset = json.loads(json.dumps(found.offset))
    for _ in range(2):
        with reading(both, offset) as found:
            offset = json.loads(json.dumps(found.offset))
    with reading(both, offset) as found:
        assert values(found, 99, "n") == []


@pytest.mark.parametrize("options", [{}, {"offset": "n", "cutover": 3}, {"keys": ["n"]}])
def test_one_way_must_be_said(options: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        log(3).then(feed(0, 3), **options)


@pytest.mark.parametrize(("span", "latency", "hint"), [(-5, 0, "0 or more"), (50, 200, "200 or more")])
def test_a_span_that_is_shorter_than_rows_may_be_late_is_refused(span: int, latency: int, hint: str) -> None:
    late = wb.feeds.iterator(lambda: numbers(0, 3), time="at", schema=FIELDS, reorder_latency=latency)
    with pytest.raises(PlanError, match=hint):
        log(3).then(late, keys=["n"], dedup_window=span)


def test_both_must_have_the_same_columns() -> None:
    other = wb.feeds.iterator(lambda: numbers(0, 3), time="at", schema=FIELDS | {"n": "double"})
    with pytest.raises(SchemaError, match="'n' is int64 in the history and double in the feed"):
        log(3).then(other, offset="n")
    with pytest.raises(PlanError, match="needs a history"):
        feed(0, 3).then(feed(0, 3), offset="n")
    with pytest.raises(PlanError, match="needs a feed"):
        log(3).then(log(3), offset="n")
