"""Plans that are longer than Python's stack is deep: they are printed, optimized, run, saved and traced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.plan import Node, walk
from whimbrel.stream import Stream

STEPS = 1_200  # more than the 1,000 frames that Python allows
LOG = wb.from_arrow({"at": [1, 2, 3, 4], "x": [5, 6, 7, 8], "k": [1, 2, 1, 2]}, time="at", name="log")

FEW = LOG.where(col.x > 9)

Step = Callable[[Stream], Stream]
STEP: dict[str, Step] = {
    "select": lambda s: s.select("x", "k"),
    "where": lambda s: s.where(col.x >= 0),
    "shift": lambda s: s.shift(1),
    "sliding_window": lambda s: s.sliding_window(3),
    "hopping_window": lambda s: s.hopping_window(6, 2),
    "union": lambda s: s.union(FEW),
}


def chain(step: Step, log: Stream = LOG, steps: int = STEPS) -> Stream:
    for _ in range(steps):
        log = step(log)
    return log


@pytest.mark.share(3)
@pytest.mark.parametrize("step", STEP.values(), ids=STEP)
def test_a_long_chain_is_printed_and_runs(step: Step) -> None:
    query = chain(step)
    assert "log(" in repr(query)
    assert repr(query.node).startswith("Node(")
    assert "log(" in query.explain()
    assert query.collect().num_rows == 4


def test_what_an_aggregate_absorbs_is_not_too_deep_for_it() -> None:
    many = chain(lambda s: s.where(col.x > 5).select("k", x=col.x + 0), steps=STEPS // 2)
    assert many.aggregate(n=wb.count(), total=wb.sum(col.x)).collect()["total"].to_pylist() == [6, 7, 8]


def test_a_long_chain_of_one_event_at_a_time_runs() -> None:
    log = LOG.assume(non_overlapping=True)
    fused = chain(STEP["shift"], log).sliding_window(2).aggregate(m=wb.max(col.x))
    assert "periodic_loop" in fused.explain()
    assert fused.collect()["m"].to_pylist() == [5, 6, 7, 8, 8]


def test_a_long_chain_resumes_from_a_checkpoint(tmp_path: Path) -> None:
    query = chain(STEP["select"])
    run = query.start()
    assert run.wait(120)
    run.checkpoint(tmp_path / "run")
    later = wb.restore(tmp_path / "run", query)
    assert later.wait(120)


def test_a_row_of_a_long_chain_is_traced_to_its_events() -> None:
    found = chain(STEP["select"]).lineage(start=2)
    assert found.events["log"]["x"].to_pylist() == [6]


def test_a_long_chain_is_printed_in_trees_of_limited_width() -> None:
    shared = chain(STEP["shift"], steps=60)
    lines = repr(shared.union(shared)).splitlines()
    assert max(map(len, lines)) < 200
    names = [line[line.index("#"):] for line in lines if "#" in line]
    assert names == ["#1 = shift(1)   [intervals]", "#2, below", "#1, as above", "#2 = shift(1)   [intervals]"]


def test_a_walk_visits_every_node_once_and_inputs_first() -> None:
    shared = LOG.where(col.x > 5)
    node = shared.union(shared.shift(1)).join(LOG, on="k").node
    seen: list[Node] = []
    for each in walk((node, shared.node)):
        assert all(any(below is before for before in seen) for below in each.inputs)
        seen.append(each)
    assert len(set(map(id, seen))) == len(seen) == 5
    assert seen[-1] is node


@pytest.mark.long
def test_ten_thousand_operators() -> None:
    query = chain(STEP["where"], chain(STEP["select"], steps=5_000), steps=5_000)
    assert query.explain().count("\n") > 10_000
    assert query.collect().num_rows == 4
