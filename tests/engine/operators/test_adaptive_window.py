"""Windows that hop wider under overload: what they answer is exact, and all they leave out is counted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel.batch import table_from_batches
from whimbrel.errors import PlanError
from whimbrel.optimize import optimize
from whimbrel.plan import Node, OverloadSignal
from whimbrel.run import Pipeline
from whimbrel.stream import Stream

SIZE, HOP, WIDE = 20, 2, 10
LABELS = st.sampled_from(["start", "end"])
ROWS = st.lists(st.tuples(st.integers(0, 120), st.sampled_from("ab"), st.booleans()), min_size=1, max_size=60)


def windows(log: Stream, label: str, offset: int) -> Stream:
    return log.group_by("key").hopping_window(SIZE, HOP, label=label, offset=offset).aggregate(
        n=wb.count(), most=wb.max(wb.col.number))


def log(rows: list[tuple[int, str, bool]]) -> Stream:
    return wb.from_arrow({"at": [at for at, _, _ in rows], "key": [key for _, key, _ in rows],
                          "number": list(range(len(rows)))}, time="at")


def each_hop(table: pa.Table) -> dict[tuple[str, int], tuple[int, int]]:
    """The answer at each point of the grid."""
    return {(row["key"], at): (row["n"], row["most"]) for row in table.to_pylist()
            for at in range(row["start"], row["end"], HOP)}


@given(rows=ROWS, label=LABELS, offset=st.sampled_from([0, 3]))
def test_what_is_answered_is_what_the_window_as_written_answers(rows: list[tuple[int, str, bool]], label: str,
                                                                 offset: int) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    exact = each_hop(windows(log(rows), label, offset).collect())
    stream = log(rows)
    source, = stream.sources
    source.relief = relief = OverloadSignal(WIDE)
    pipeline = Pipeline(optimize(windows(stream, label, offset).node))
    found = []
    batch = next(iter(source.read(source.schema.names)))
    assert batch is not None
    for number, (_, _, active) in enumerate(rows):
        relief.active = active
        found += pipeline.push(0, batch.slice(number, number + 1))[0]
    found += pipeline.finish(0)[0]
    results = [(row["key"], row["start"], row["end"], (row["n"], row["most"]))
               for row in table_from_batches(windows(stream, label, offset).schema, found).to_pylist()]
    for key, start, end, values in results:
        assert exact[key, start if label == "end" else end - HOP] == values
    if not relief.left_out:
        assert {(key, at): values for key, start, end, values in results for at in range(start, end, HOP)} == exact


@pytest.mark.parametrize(("wide", "size"), [(3, 20), (8, 20), (40, 20), (5, 15)])
def test_a_hop_that_is_not_among_the_windows_is_refused(wide: int, size: int) -> None:
    feed = wb.feeds.iterator(list, time="at", schema={"at": "int64"}, overload=wb.feeds.WidenHop(wide))
    with pytest.raises(PlanError, match=f"The hop of WidenHop must be a multiple.* got {wide}"):
        feed.hopping_window(size, HOP).aggregate(n=wb.count()).start()


@pytest.mark.parametrize("more", [{"emit": "close"}, {"fill": True}, {"begins": wb.window_start()}], ids=str)
def test_a_row_for_each_window_cannot_be_had_as_well(more: Any) -> None:
    feed = wb.feeds.iterator(list, time="at", schema={"at": "int64"}, overload=wb.feeds.WidenHop(10))
    with pytest.raises(PlanError, match="cannot give a row for each window"):
        feed.hopping_window(SIZE, HOP).aggregate(n=wb.count(), **more).start()


def test_windows_that_do_not_overlap_stay_as_they_are() -> None:
    feed = wb.feeds.iterator(list, time="at", schema={"at": "int64"}, overload=wb.feeds.WidenHop(10))
    plan = feed.tumbling_window(10).aggregate(n=wb.count())
    assert "or hop" not in str(optimize(plan.node))
    assert isinstance(plan.node, Node)
