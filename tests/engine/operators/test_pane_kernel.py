from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch
from whimbrel.clock import INF
from whimbrel.kernels import Tier, tier
from whimbrel.operators.aggregation import operation_log, pane_kernel
from whimbrel.operators.aggregation.pane_kernel import PaneKernel
from whimbrel.optimize import optimize


@pytest.mark.parametrize("name", ("interpreted", "primitives", "fused"))
def test_rows_that_are_gathered_are_those_that_come_out(name: Tier, monkeypatch: Any) -> None:
    monkeypatch.setattr(operation_log, "CAPACITY", 8)  # less than most panes have groups, and than they have together
    chance = np.random.default_rng(2)
    table = pa.table({"at": np.sort(chance.integers(0, 90, 400)), "k": chance.integers(0, 30, 400),
                      "x": chance.integers(0, 9, 400)})
    log = wb.from_arrow(table, time="at")
    node = optimize(log.group_by("k").tumbling_window(9).aggregate(n=wb.count(), total=wb.sum(col.x)).node)
    source, = log.sources
    found = []
    with tier(name):
        for gathers, whole in ((False, False), (True, False), (True, True)):
            kernel = node.op.kernel(node.inputs[0].schema)
            assert isinstance(kernel, PaneKernel)
            kernel.gathers = gathers
            out: list[Batch] = []
            for first, stop in ((0, 300), (300, 400)):
                batch, = source.excerpt(first, stop).read(["k", "x"])
                assert batch is not None
                if whole:
                    kernel.push_whole([batch])
                else:
                    out += [*kernel.push(batch.slice(0, 100)), *kernel.push(batch.slice(100, stop - first))]
                    out += kernel.advance(INF)
            assert not (gathers and out)
            rows = Batch.concat([*out, *kernel.gathered()])
            assert kernel.waiting == 0
            found.append([rows.sync.tolist(), *(column.values.tolist() for column in rows.columns)])
    assert len(found[0][0]) > 200
    assert found[0] == found[1] == found[2]


def test_many_rows_are_gathered_where_they_were_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """To copy the states of 200 blocks took fresh memory, page by page."""
    monkeypatch.setattr(operation_log, "CAPACITY", 60)
    log = wb.from_arrow(pa.table({"at": np.arange(90), "k": np.arange(90) % 10}), time="at")
    node, (source,) = optimize(log.group_by("k").tumbling_window(10).aggregate(n=wb.count()).node), log.sources
    batch, = source.read(["k"])
    assert batch is not None
    with tier("fused"):
        kernel = node.op.kernel(node.inputs[0].schema)
        assert isinstance(kernel, PaneKernel)
        kernel.gathers = True
        written = kernel.schedule.rows
        kernel.push_whole([batch.slice(0, 40)])
        many, = kernel.gathered()
        kernel.push_whole([batch.slice(40, 60)])
        few, = kernel.gathered()
    assert np.shares_memory(many.column("n").values, written)
    assert not np.shares_memory(few.column("n").values, kernel.schedule.rows)
    assert many.column("n").values.tolist() == [1] * 40
    assert few.sync.tolist() == [40] * 10 + [50] * 10


@pytest.mark.parametrize("name", ("interpreted", "fused"))
def test_the_loop_for_many_groups_takes_over(name: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pane_kernel, "FAR", 2_000)  # there is room for 1,024 at first
    chance = np.random.default_rng(5)
    at, key, x = np.arange(6_000), chance.integers(0, 5_000, 6_000), chance.integers(-2, 9, 6_000)
    log = wb.from_arrow(pa.table({"at": at, "k": key, "x": x}), time="at")
    query = log.where(col.x > 0).group_by("k").tumbling_window(1_500).aggregate(n=wb.count(), total=wb.sum(col.x))
    node, (source,) = optimize(query.node), query.sources
    with tier(name):
        kernel = node.op.kernel(node.inputs[0].schema)
        out: list[Batch] = []
        for first in range(0, 6_000, 200):
            for batch in source.excerpt(first, first + 200).read(["k", "x"]):
                assert batch is not None
                out += kernel.push(batch)
        rows = Batch.concat([*out, *kernel.advance(INF)])
    assert len(kernel.sources) == 2
    found = sorted(zip(rows.sync.tolist(), *(column.values.tolist() for column in rows.columns), strict=True))
    expected: dict[tuple[int, int], list[int]] = {}
    for time, k, value in zip(at.tolist(), key.tolist(), x.tolist(), strict=True):
        if value > 0:
            expected.setdefault((time // 1_500 * 1_500, k), []).append(value)
    assert found == sorted((*group, len(values), sum(values)) for group, values in expected.items())


def test_a_query_that_runs_again_is_not_written_again() -> None:
    """Its loop was, each time: a fifth of a first answer's time. What one run has seen is nothing to another."""
    log = wb.from_arrow({"at": [1, 2, 3], "k": [5, 6, 5]}, time="at")
    node, (source,) = optimize(log.group_by("k").tumbling_window(10).aggregate(n=wb.count()).node), log.sources
    batch, = source.read(["k"])
    assert batch is not None
    with tier("fused"):
        first, second = (node.op.kernel(node.inputs[0].schema) for _ in range(2))
        assert isinstance(first, PaneKernel)
        assert isinstance(second, PaneKernel)
        first.push(batch)
        assert second.texts == first.texts != {}
        second.push(batch.slice(1, 3))
        found = [out.column("n").values.tolist() for kernel in (first, second) for out in kernel.advance(INF)]
    assert found == [[2, 1], [1, 1]]


def test_a_query_that_runs_again_reads_again_what_its_functions_read() -> None:
    added = 2
    total = wb.aggregate(init=0, accumulate=lambda state, x: state + x + added, result=lambda state: state,
                         merge=lambda left, right: left + right, name="total")
    query = wb.from_arrow({"at": [1, 2], "x": [10, 20]}, time="at").tumbling_window(9).aggregate(t=total(col.x))
    with tier("fused"):
        found = []
        for added in (2, 3):  # noqa: B007 - the function reads it
            found += [query.collect()["t"].to_pylist(), query.progressive(order="random").finish()["t"].to_pylist()]
    assert found == [[34], [34], [36], [36]]
