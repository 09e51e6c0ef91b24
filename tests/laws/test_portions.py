"""Operators of which few rows make very many give them in portions: with portions of a few rows all laws hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whimbrel as wb
from tests.laws.test_laws import INPUTS
from whimbrel import col
from whimbrel.kernels import tier
from whimbrel.run import Execution, pipeline
from whimbrel.testing import Query, check_operator, laws, strategies
from whimbrel.testing.oracle import Event
from whimbrel.testing.trial import Trial

QUERIES = {
    "chop": ".clip_duration(40).chop(3, offset=1)",
    "chop_then": ".clip_duration(40).chop(4).where(col.x > 0).group_by('key').aggregate(n=wb.count())",
    "times": ".explode('m', [col.x, col.x + 1], times=col.x)",
    "times_then": ".explode('m', [col.x], times=9).tumbling_window(5).aggregate(n=wb.count(), s=wb.sum(col.m))",
    "both": ".clip_duration(30).chop(5).explode('m', [col.k2], times=col.x).chop(2)",
    "close": ".group_by('key').hopping_window(40, 2).aggregate(n=wb.count(), s=wb.sum(col.x), emit='close')",
    "close_uneven": ".hopping_window(31, 3).aggregate(n=wb.count(), m=wb.mean(col.y), emit='close')",
    "fill": ".group_by('key').tumbling_window(2).aggregate(n=wb.count(), fill=True)",
    "join": ".join(t, on='key')",
    "join_where": ".join(t, on='k2', where=col.x < col.x_right).aggregate(n=wb.count())",
    "cross_join": ".select('x', 'y').cross_join(t)",
    "cross_join_chop": ".select('x').cross_join(t.select('y')).clip_duration(20).chop(3)",
}
PORTIONED = ("lifetimes.chop", "aggregation.fill_windows", "aggregation.hopping_aggregate", "joins.join_kernel",
             "rows.explode")


@pytest.fixture(autouse=True, scope="module")
def small_portions() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in PORTIONED:
            patch.setattr(import_module(f"whimbrel.operators.{name}"), "PORTION_ROWS", 2)
        patch.setattr(import_module("whimbrel.operators.aggregation.fill_windows"), "CAPACITY_ROWS", 4)
        patch.setattr(import_module("whimbrel.operators.joins.pair_matcher"), "_CAPACITY", 8)
        patch.setattr(import_module("whimbrel.operators.aggregation.operation_log"), "CAPACITY", 32)
        patch.setattr(pipeline, "_MAX_SHOWN_PORTIONS", 1 << 40)
        yield


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])


@pytest.mark.long
@given(st.sampled_from(sorted(QUERIES)), strategies.facts(), strategies.facts(max_size=8), st.integers(0, 1000))
def test_random_streams_in_portions(name: str, s: list[Event], t: list[Event], seed: int) -> None:
    query = Query((QUERIES[name],))
    trial = Trial(query.build, (s, t)[:query.arity], query.reference, seed)
    with tier("interpreted"):
        for law in (laws.matches_the_reference, laws.disorder_changes_nothing, laws.snapshots_change_nothing,
                    laws.restored_runs_resume):
            laws.ask(law, trial)


def events(**columns: Any) -> wb.Stream:
    return wb.from_arrow(pa.table({"at": [0, 1], "until": [2000, 900], **columns}), time="at", end="until").drop("at")


FLOWS: dict[str, Callable[[], wb.Stream]] = {
    "chop": lambda: events().chop(1),
    "times": lambda: events(n=[1000, 2]).explode("m", [col.n], times=col.n),
    "close": lambda: events().hopping_window(1000, 1).aggregate(n=wb.count(), emit="close"),
    "fill": lambda: events(k=[1, 2]).point_at_end().group_by("k").tumbling_window(1).aggregate(n=wb.count(), fill=True),
    "cross join": lambda: events(x=[1, 2]).chop(40).select("x").set_duration(3000).cross_join(
        events(y=[1, 2]).chop(50).select("y").set_duration(3000)),
}


@pytest.mark.parametrize("name", FLOWS)
def test_few_rows_that_make_many_take_many_steps(name: str) -> None:
    """What follows sees rows early, a run can be stopped in between, and its state is never all of them."""
    query = FLOWS[name]()
    with closing(Execution(query.node)) as session:
        settled, pending = list[int](), 0
        while not session.finished:
            settled += [sum(map(len, out)) for out in session.step() or []]
            pending += session.pipeline.pending
    assert sum(settled) == query.collect().num_rows > 900
    assert max(settled) <= 100
    assert pending > 5


@pytest.mark.share(3)
@pytest.mark.parametrize("name", FLOWS)
def test_a_run_that_is_asked_in_between_shows_what_is_settled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_MAX_SHOWN_PORTIONS", 3)
    query = FLOWS[name]()
    whole = query.collect()
    with closing(Execution(query.node)) as session:
        while not session.finished:
            session.step()
            snapshot, = session.snapshots([0])
            assert snapshot.table.slice(0, snapshot.settled).equals(whole.slice(0, snapshot.settled))
        assert snapshot.settled == whole.num_rows


GROWING = {
    "chop": (lambda: wb.from_arrow(pa.table({
        "at": pa.array([3, 1_704_067_200], pa.timestamp("s")),
        "until": pa.array([9, 253_402_214_400], pa.timestamp("s")),
    }), time="at", end="until").chop("1m"), ["starts at 2024-01-01 00:00:00", "4,194,969,121 pieces", "chop('1m')"]),
    "times": (lambda: wb.from_arrow({"at": [0, 1], "n": [3, 10**18]}, time="at").explode(
        "y", [col.n], times=col.n), ["taken 1,000,000,000,000,000,000 times", "explode('y'"]),
    "close": (lambda: wb.from_arrow({"at": [0]}, time="at").hopping_window(10**12, 1).aggregate(
        n=wb.count(), emit="close"), ["in 1,000,000,000,000 windows", "aggregate(n=count())"]),
    "cross join": (lambda: wb.from_arrow({"at": [0] * 9000}, time="at").cross_join(
        wb.from_arrow({"at": [0] * 9000}, time="at")), ["9,000 events are true at one time", "cross_join()"]),
}


@pytest.mark.parametrize("name", GROWING)
def test_an_answer_that_does_not_fit_is_refused_in_words_that_name_the_event(
        name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, words = GROWING[name]
    left = import_module("whimbrel.batch.memory_budget")
    for module in (left, pipeline, import_module("whimbrel.run.execution")):
        monkeypatch.setattr(module, "SPACIOUS_BYTES", 5_000)
    assert left.free_bytes() > 0
    monkeypatch.setattr(left, "free_bytes", lambda: 5_000)
    with pytest.raises(wb.WhimbrelError) as caught:
        made().collect()
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert len(str(caught.value).splitlines()) <= 8


@pytest.mark.parametrize("name", GROWING)
def test_what_follows_needs_no_room(name: str) -> None:
    with closing(Execution(GROWING[name][0]().select(z=1).where(col.z > 1).node)) as session:
        for _ in range(50):
            session.step()
        assert not session.finished
        assert session.answers[0].settled_rows == 0


def test_a_step_that_runs_out_of_memory_says_so_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(import_module("whimbrel.operators.windows.quantize").QuantizeKernel, "apply", full)
    with pytest.raises(wb.WhimbrelError, match="needs more memory than is left") as caught:
        events().quantize(4, 2).collect()
    assert "quantize(4, 2)" in str(caught.value)
