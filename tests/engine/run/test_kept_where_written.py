"""Whose rows are an answer, and go nowhere else, writes them where they stay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.operators.joins.join import Join
from whimbrel.operators.joins.join_kernel import JoinKernel
from whimbrel.optimize import optimize_together
from whimbrel.run import Pipeline

LOG = wb.from_arrow(pa.table({"at": [1, 2, 3], "k": [1, 1, 2], "x": [1, 2, 3]}), time="at", name="log")
JOINED = LOG.set_duration(5).select("k", a=col.x).join(LOG.select("k", b=col.x), on="k")


@pytest.mark.parametrize(("queries", "stays"), [
    ((JOINED,), True),
    ((JOINED.select("b"),), True),
    ((JOINED.where(col.b > 0),), False),
    ((JOINED.set_duration(2).aggregate(n=wb.count()),), False),
    ((JOINED, JOINED.where(col.b > 0)), False),
    ((JOINED.select("b"), JOINED.select("a")), False),
], ids=["the answer", "projected", "filtered", "aggregated", "also filtered", "projected twice"])
def test_a_join_keeps_its_rows_if_they_are_the_answer(queries: tuple[Stream, ...], stays: bool) -> None:
    pipeline = Pipeline(*optimize_together([query.node for query in queries]))
    index, = [index for index, node in enumerate(pipeline.nodes) if isinstance(node.op, Join)]
    kernel = pipeline.kernels[index]
    assert isinstance(kernel, JoinKernel)
    assert (kernel.storage is not None) == stays


def test_where_each_row_ends_when_the_next_begins_one_array_says_both() -> None:
    log = wb.from_arrow(pa.table({"at": range(20_000), "x": range(20_000)}), time="at").assume(periodic=1)
    answer = log.sliding_window(2).aggregate(total=wb.sum(col.x)).collect()
    assert answer["end"].to_pylist() == list(range(1, 20_002))
    start, end = (max(answer[name].chunks, key=len) for name in ("start", "end"))
    assert end.buffers()[1].address - start.buffers()[1].address == 8


@pytest.mark.parametrize("query", [
    lambda log: log.select(z=col.x + 1),
    lambda log: log.cross_join(log.select(before=col.x).shift(1)),
], ids=["selected", "joined"])
def test_times_that_the_source_has_are_not_written_again(query: Callable[[Stream], Stream]) -> None:
    times = pa.array(np.arange(1_200_000))  # of the last rows of a source nobody says when the next begins
    log = wb.from_arrow(pa.table({"at": times, "x": times}), time="at").assume(periodic=1)
    answer = query(log).collect()
    assert (answer["end"].to_numpy() == answer["start"].to_numpy() + 1).all()
    begin = times.buffers()[1].address
    for name in ("start", "end"):
        longest = max(answer[name].chunks, key=len)
        assert begin <= longest.buffers()[1].address < begin + 8 * len(times)
